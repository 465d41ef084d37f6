"""Where outputs go: files with a journal, streams without one, and several of them in step."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import ResumeError, SettingsError
from phrasescore.runs.byte_streams import STANDARD_STREAM, is_stream
from phrasescore.runs.journaled_output import JournaledOutput, StreamOutput

Sink: TypeAlias = JournaledOutput | StreamOutput
State = TypeVar("State")


def keeps_work(path: str | Path) -> bool:
    """Tell whether what is written there can be gone on with: a file, no stream and no device."""
    return str(path) != STANDARD_STREAM and not is_stream(path)


def open_sink(path: str | Path, signature: dict[str, Any] | None) -> Sink:
    """Return what writes to ``path``: with a journal to a file, without one to anything else.

    Args:
        path: The final name, or ``-``.
        signature: See :class:`JournaledOutput`.
    """
    return JournaledOutput(path, signature) if keeps_work(path) else StreamOutput(path)


class SinksInStep:
    """Outputs of the same blocks; all of them go on after the last block that each has whole.

    Use it in a ``with`` block, as a single sink; ``blocks``, ``state`` and ``discarded`` are a
    sink's.

    Args:
        paths: One or more; the last of them gets its name last.
        signature: See :class:`JournaledOutput`; nothing can be gone on with if one is a stream.
    """

    def __init__(self, paths: Sequence[str | Path], signature: dict[str, Any] | None) -> None:
        kept = signature if all(keeps_work(path) for path in paths) else None
        self.sinks = [open_sink(path, kept) for path in paths]
        self._opened = ExitStack()
        self.blocks = 0
        self.state: dict[str, Any] | None = None
        self.discarded = False

    def __enter__(self) -> SinksInStep:
        with ExitStack() as opened:
            for sink in self.sinks:
                opened.enter_context(sink)
            self.blocks = min(sink.blocks for sink in self.sinks)
            had_some = any(sink.discarded or sink.blocks for sink in self.sinks)
            self.discarded = had_some and not self.blocks
            for sink in self.sinks:
                if isinstance(sink, JournaledOutput):
                    sink.go_back(self.blocks)
            self.state = self.sinks[0].state
            self._opened = opened.pop_all()
        return self

    def restored(self, nothing: State) -> State:
        """Return what an earlier run recorded with its last block, or ``nothing``.

        Args:
            nothing: A dataclass as ``from_mapping`` takes it; its type is that of the record.

        Raises:
            ResumeError: The record is none of this type.
        """
        if self.state is None:
            return nothing
        try:
            return from_mapping(type(nothing), self.state, where="its last record")
        except SettingsError as error:
            journaled = self.sinks[0]
            assert isinstance(journaled, JournaledOutput)
            raise ResumeError(
                f"the journal of an earlier run is damaged: {error.problem}",
                path=journaled.journal_path,
                remedy="delete it",
            ) from None

    def append(self, texts: Sequence[bytes], state: dict[str, Any]) -> None:
        """Write one more block, a text to each output."""
        for sink, text in zip(self.sinks, texts, strict=True):
            sink.append(text, state)

    def finish(self) -> None:
        """Give the outputs their names; a run that is killed between two finishes again."""
        for sink in self.sinks:
            sink.take_name()
        for sink in self.sinks:
            sink.forget()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.__exit__(kind, error, trace)


def announce(output: str | Path, lines: int, discarded: bool, unlike: str) -> None:
    """Say on standard error what an interrupted run left.

    Args:
        output: Its output.
        lines: How many lines of it are gone on with.
        discarded: Whether its work is thrown away.
        unlike: Why it would be.
    """
    if lines:
        _say(f"{output}: going on after line {lines:,}, where an earlier run stopped")
    elif discarded:
        _say(f"{output}: an interrupted run with {unlike} is thrown away")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a note to the user, not a result
