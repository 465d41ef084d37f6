"""Blocks of lines through a scorer to an output: reading, scoring and writing overlap.

What a block is and what is written for it is the caller's affair.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from phrasescore.files import STANDARD_STREAM, is_new_or_file
from phrasescore.progress import Progress
from phrasescore.resuming.journaled_output import JournaledOutput, StreamOutput
from phrasescore.scoring.table_check import InputCheck

Block = TypeVar("Block", bound=Sized)
Sink: TypeAlias = JournaledOutput | StreamOutput


def open_sink(path: str | Path, signature: dict[str, Any] | None) -> Sink:
    """Return what writes to ``path``: with a journal to a file, without one to anything else.

    Args:
        path: The final name, or ``-``.
        signature: See :class:`JournaledOutput`.
    """
    if str(path) != STANDARD_STREAM and is_new_or_file(path):
        return JournaledOutput(path, signature)
    return StreamOutput(path)


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


def stream_blocks(
    blocks: Iterator[Block],
    score: Callable[[Block], tuple[bytes, dict[str, Any]]],
    sink: Sink,
    check: InputCheck | None,
    *,
    already: int,
    what: str = "scoring",
    unit: str = "pairs",
) -> int | None:
    """Score blocks one after the other, and write each while the next is scored.

    Args:
        blocks: Of pairs, from where an earlier run stopped.
        score: Returns what to write for a block, and what a run that continues after it wants.
        sink: Open.
        check: Reads the whole input beside the scoring; ``None`` for a pipe.
        already: How many lines an earlier run has scored.
        what: What is done, for the progress.
        unit: What a line is, in the plural.

    Returns:
        How many lines the check counted; ``None`` without one.

    Raises:
        InputError: What is wrong with the input.
    """
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(what, unit=unit))
        if check is not None:
            stack.enter_context(check)
        # one thread reads and one writes, so blocks stay in order
        reader = stack.enter_context(ThreadPoolExecutor(1, "reader"))
        writer = stack.enter_context(ThreadPoolExecutor(1, "writer"))
        written: Future[None] | None = None
        for block in _ahead(blocks, reader):
            text, state = score(block)
            if written is not None:
                written.result()
            written = writer.submit(sink.append, text, state)
            if check is not None and (lines := check.lines()) is not None:
                progress.expect(lines - already)
            progress.advance(len(block))
        if written is not None:
            written.result()
        return check.wait() if check is not None else None


def _ahead(blocks: Iterator[Block], reader: ThreadPoolExecutor) -> Iterator[Block]:
    """Yield blocks while the next one is being read."""
    coming = reader.submit(next, blocks, None)
    while (block := coming.result()) is not None:
        coming = reader.submit(next, blocks, None)
        yield block
