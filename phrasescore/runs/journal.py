"""Outputs that are written block by block and can be continued even after kill -9.

The blocks written so far are in ``.OUT.part`` beside each output ``OUT``. Beside the last output
there is also ``.OUT.journal``, which is replaced after each block. The journal records the
signature (everything that determines the bytes of the outputs), the number of blocks that are
complete in all outputs, and the sizes of the parts up to these blocks. The parts get their final
names when they are complete and on disk. Standard output, pipes and devices are written directly,
so work with such an output cannot be continued.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM, is_stream
from phrasescore.runs.final_names import as_written, hidden, open_output, own_file, remove_parts
from phrasescore.runs.json_files import JsonError, read_object, write_json
from phrasescore.runs.lock import held
from phrasescore.runs.system_errors import unwritable

State = TypeVar("State")


def keeps_work(path: str | Path) -> bool:
    """Return whether work on an output can be continued: only if it is a file, not a stream."""
    return str(path) != STANDARD_STREAM and not is_stream(path)


@dataclass(frozen=True)
class _Journal:
    """The content of a journal.

    Args:
        signature: Everything that determines the bytes of the outputs.
        blocks: The number of blocks that are complete in all parts.
        sizes: The sizes of the parts up to the end of these blocks, in bytes.
        state: The caller's state after the last block.
    """

    signature: dict[str, Any]
    blocks: int
    sizes: tuple[int, ...]
    state: dict[str, Any]

    def fits(self, sizes: Sequence[int]) -> bool:
        """Tell whether parts of these sizes are long enough to hold all the blocks."""
        return len(sizes) == len(self.sizes) and all(
            0 <= size <= found for size, found in zip(self.sizes, sizes, strict=True)
        )


def _read_journal(output: Path) -> _Journal | None:
    """Return the journal that an interrupted run left beside an output, if there is one."""
    path = hidden(output, "journal")
    try:
        return from_mapping(_Journal, read_object(path), where=path.name)
    except (OSError, JsonError, SettingsError):
        return None


def earlier_signature(path: str | Path) -> dict[str, Any] | None:
    """Return the signature that an interrupted run left beside an output, if there is one."""
    journal = _read_journal(Path(path))
    return None if journal is None else journal.signature


class JournaledOutputs:
    """Outputs of the same blocks, and their journal; open for writing in a ``with`` block.

    On entry, ``blocks`` is the number of blocks that an earlier run left (`append` adds to it), and
    ``state`` is the state that the earlier run recorded with the last of these blocks. If the
    earlier run had another signature, its work is deleted, and ``discarded`` is true.
    If the body of the ``with`` statement raises an error other than `InputError`, the written
    blocks are kept for the next run. A gzip output has one member for each block, so its bytes do
    not depend on interruptions.

    Args:
        paths: The outputs; they get their final names in this order.
        signature: Everything that determines the bytes of the outputs, as JSON values. Only a
            journal with the same signature is continued. ``None`` if the work cannot be continued,
            e.g. because the input is a pipe; in this case, a failure leaves no files.

    Raises:
        SettingsError: A folder cannot be written.
        StorageError: The disk is full, on entry or in a later call; the written blocks stay.
        ResumeError: Another process is writing one of the outputs.
    """

    def __init__(self, paths: Sequence[str | Path], signature: dict[str, Any] | None) -> None:
        self._paths = paths
        self._files = [Path(path) for path in paths if keeps_work(path)]
        kept = signature if len(self._files) == len(paths) else None
        self._signature: dict[str, Any] | None = json.loads(json.dumps(kept))
        self._streams: list[BinaryIO] = []  # one stream for each path
        self.blocks = 0
        self.state: dict[str, Any] | None = None
        self.discarded = False

    def __enter__(self) -> JournaledOutputs:
        with contextlib.ExitStack() as opened:
            for file in self._files:
                opened.enter_context(held(file))
            if self._files and os.path.lexists(self._journal_path):
                with _refusals_named(self._files[-1]):
                    # raises an error for a link or a pipe
                    own_file(self._journal_path, os.O_APPEND).close()
            self._streams = [opened.enter_context(_opened(path)) for path in self._paths]
            if self._files:
                with _refusals_named(self._files[-1]):
                    self._continue_or_start()
            self._opened = opened.pop_all()
        return self

    @property
    def part_path(self) -> Path:
        """The file that holds the blocks of the last output until `finish` is called."""
        return hidden(self._files[-1], "part")

    @property
    def _journal_path(self) -> Path:
        return hidden(self._files[-1], "journal")

    def _continue_or_start(self) -> None:
        """Truncate the parts after the last complete block of an earlier run, or empty them."""
        parts = [
            stream
            for path, stream in zip(self._paths, self._streams, strict=True)
            if keeps_work(path)
        ]
        sizes = [_size(part) for part in parts]
        remove_parts(self._journal_path)
        found = _read_journal(self._files[-1])
        if found is not None and self._signature == found.signature and found.fits(sizes):
            self.blocks, self.state = found.blocks, found.state
            sizes = list(found.sizes)
        else:
            self.discarded = any(sizes)
            sizes = [0] * len(parts)
            self._journal_path.unlink(missing_ok=True)
        for part, size in zip(parts, sizes, strict=True):
            part.truncate(size)

    def restored(self, nothing: State) -> State:
        """Return the state that an earlier run recorded with its last block, or ``nothing``.

        Args:
            nothing: The state of a new run, a dataclass that ``from_mapping`` can create. The
                recorded state must have the same type.

        Raises:
            ResumeError: The recorded state does not have this type.
        """
        if self.state is None:
            return nothing
        try:
            return from_mapping(type(nothing), self.state, where="its last record")
        except SettingsError as error:
            raise ResumeError(
                f"the journal of an earlier run is damaged: {error.problem}",
                path=self._journal_path,
                remedy="delete the file",
            ) from None

    def announce(self, lines: int) -> None:
        """Print on standard error whether an interrupted run is continued or discarded.

        Args:
            lines: The number of input lines that the interrupted run had processed.
        """
        text = ""
        if lines:
            text = f"continuing after line {lines:,}, where an earlier run stopped"
        elif self.discarded:
            text = "the work of an interrupted run with other inputs or options is discarded"
        if text:
            print(f"{self._paths[-1]}: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note

    def append(self, texts: Sequence[bytes], state: dict[str, Any]) -> None:
        """Write one more block, and record it in the journal after it is on disk.

        Args:
            texts: The bytes for each output, plain or as a gzip member; they are compressed or
                unpacked as the name of the output requires.
            state: JSON values that a run needs to continue after this block.
        """
        sizes = []
        for path, stream, text in zip(self._paths, self._streams, texts, strict=True):
            if not keeps_work(path):
                _write_all(stream, as_written(text, path))
                stream.flush()
                continue
            with _refusals_named(path):
                _write_all(stream, as_written(text, path))
                os.fsync(stream.fileno())
            sizes.append(_size(stream))
        self.blocks += 1
        if self._signature is not None:
            journal = _Journal(self._signature, self.blocks, tuple(sizes), state)
            write_json(self._journal_path, dataclasses.asdict(journal))

    def finish(self) -> None:
        """Give the outputs their final names, and wait until the names are on disk."""
        for file in self._files:
            hidden(file, "part").replace(file)
            folder = os.open(file.absolute().parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        if self._files:
            self._journal_path.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # after an input error the user must correct the input, which changes the signature, so the
        # work could not be continued
        is_over = isinstance(error, InputError) or not (self._signature and self.blocks)
        if error is not None and is_over:
            for file in self._files:
                for ending in ("part", "journal"):
                    with contextlib.suppress(OSError):
                        hidden(file, ending).unlink()
        self._opened.__exit__(kind, error, trace)


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open the part of an output, or the output itself if it is a pipe or a device."""
    if not keeps_work(path):
        with open_output(path) as stream:
            yield stream
        return
    with _refusals_named(path):
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = own_file(hidden(path, "part"), os.O_APPEND, 0)
    with part:
        yield part


@contextlib.contextmanager
def _refusals_named(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system into errors that name the output."""
    try:
        yield
    except OSError as error:
        raise unwritable(error, path) from None


def _size(stream: BinaryIO) -> int:
    return os.fstat(stream.fileno()).st_size


def _write_all(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[stream.write(view) :]
