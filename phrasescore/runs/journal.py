"""Outputs that are written block by block, survive kill -9, and can be continued.

Beside each output ``OUT`` stands ``.OUT.part``, its blocks so far, and beside the last output also
``.OUT.journal``: a line of JSON that says what is being written, then a line for each block that is
whole in all outputs, with the sizes of the parts after it. The parts get their final names when
they are complete and on the disk. Standard output, pipes and devices are written directly; work
with such an output cannot be continued.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.file_kinds import STANDARD_STREAM, is_stream, open_regular
from phrasescore.runs.final_names import as_written, hidden, own_file
from phrasescore.runs.json_files import JsonError, parse_object
from phrasescore.runs.lock import held
from phrasescore.runs.system_errors import STANDARD_OUTPUT, is_full, unwritable

State = TypeVar("State")


def keeps_work(path: str | Path) -> bool:
    """Tell whether work on an output can be continued: if it is a file and not a stream."""
    return str(path) != STANDARD_STREAM and not is_stream(path)


def earlier_signature(path: str | Path) -> dict[str, Any] | None:
    """Return the signature that an interrupted run left beside an output, if there is one."""
    try:
        with open_regular(hidden(Path(path), "journal")) as journal:
            records = _whole_records(journal.readline())
    except (OSError, InputError):
        return None
    signature = records[0].get("signature") if records else None
    return signature if isinstance(signature, dict) else None


class _File:
    """An output under its hidden name, until it is complete."""

    def __init__(self, path: Path) -> None:
        self.path, self.part_path = path, hidden(path, "part")
        self.size = 0
        self._part: BinaryIO

    def take_back(self, named: Any) -> None:
        """Hide an output again whose run was killed before all outputs had their names."""
        with contextlib.suppress(OSError):
            if not os.path.lexists(self.part_path) and _identity(self.path.lstat()) == named:
                self.path.replace(self.part_path)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the part and note its size."""
        with self.refusals_named():
            part = own_file(self.part_path, os.O_APPEND, 0)
        with part as self._part:
            self.size = os.fstat(part.fileno()).st_size
            yield

    def cut(self, size: int) -> None:
        """Keep only the first ``size`` bytes."""
        self._part.truncate(size)
        self.size = size

    def write(self, text: bytes) -> None:
        """Write one more block, and wait until it is on the disk."""
        data = as_written(text, self.path)
        with self.refusals_named():
            _write_all(self._part, data)
            os.fsync(self._part.fileno())
        self.size += len(data)

    def take_name(self) -> None:
        """Give the output its final name, and wait until the name is on the disk."""
        self.part_path.replace(self.path)
        folder = os.open(self.path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def refusals_named(self) -> Iterator[None]:
        """Name this output in the errors of the system."""
        try:
            yield
        except OSError as error:
            raise unwritable(error, self.path) from None


class _Stream:
    """Standard output, a named pipe or a device: a rename would destroy ``/dev/null``."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._stream: BinaryIO = sys.stdout.buffer

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open a pipe or a device; standard output is open."""
        with contextlib.ExitStack() as opened:
            if str(self._path) != STANDARD_STREAM:
                try:
                    self._stream = opened.enter_context(Path(self._path).open("wb", buffering=0))
                except OSError as error:
                    raise unwritable(error, self._path) from None
            yield

    def write(self, text: bytes) -> None:
        """Write one more block, and hand it to the reader at once."""
        try:
            _write_all(self._stream, as_written(text, self._path))
            self._stream.flush()
        except OSError as error:
            name = STANDARD_OUTPUT if str(self._path) == STANDARD_STREAM else self._path
            raise unwritable(error, name) if is_full(error) else error from None


class JournaledOutputs:
    """Outputs of the same blocks and their journal, open for writing in a ``with`` block.

    In the block, ``blocks`` is the number of blocks that an earlier run has left and ``state`` its
    record of the last one; ``discarded`` tells whether another run's work was thrown away instead.
    If the ``with`` block raises, the written blocks stay for the next run. A gzip output has one
    member for each block, so its bytes do not depend on interruptions.

    Args:
        paths: The outputs; they get their names in this order.
        signature: Everything that decides the bytes of the outputs, as JSON values; only a journal
            with the same signature is continued. ``None`` if the work cannot be continued, because
            the input is a pipe: then a failure leaves nothing behind.

    Raises:
        SettingsError: A folder cannot be written.
        StorageError: The disk is full, now or later; the written blocks stay.
        ResumeError: Another process is writing one of the outputs.
    """

    def __init__(self, paths: Sequence[str | Path], signature: dict[str, Any] | None) -> None:
        self._files = [_File(Path(path)) for path in paths if keeps_work(path)]
        files = iter(self._files)
        self._outputs = [next(files) if keeps_work(path) else _Stream(path) for path in paths]
        kept = signature if len(self._files) == len(paths) else None
        self._signature = json.loads(json.dumps(kept))
        self._journal: BinaryIO | None = None
        self._main = paths[-1]
        self.blocks = 0
        self.state: dict[str, Any] | None = None
        self.discarded = False

    def __enter__(self) -> JournaledOutputs:
        with contextlib.ExitStack() as opened:
            for file in self._files:
                opened.enter_context(held(file.path))
            if self._files:
                with self._files[-1].refusals_named():
                    self._open_journal(opened)
            for output in self._outputs:
                opened.enter_context(output.opened())
            if self._journal is not None:
                with self._files[-1].refusals_named():
                    self._continue_or_start(self._journal)
            self._opened = opened.pop_all()
        return self

    @property
    def part_path(self) -> Path:
        """The file that holds the blocks of the last output until `finish`."""
        return self._files[-1].part_path

    @property
    def _journal_path(self) -> Path:
        return hidden(self._files[-1].path, "journal")

    def _open_journal(self, opened: contextlib.ExitStack) -> None:
        for file in self._files:
            if file.path.is_dir():
                raise unwritable(OSError(errno.EISDIR, os.strerror(errno.EISDIR)), file.path)
        opened.callback(self._remove_empty_journal)
        self._journal = opened.enter_context(own_file(self._journal_path, os.O_APPEND, 0))
        records = self._records(self._journal)
        if records and "named" in records[-1]:
            for file, named in zip(self._files, records[-1]["named"], strict=False):
                file.take_back(named)

    def _remove_empty_journal(self) -> None:
        """Leave no empty journal if a part cannot be opened."""
        with contextlib.suppress(OSError):
            if not self._journal_path.is_symlink() and not self._journal_path.stat().st_size:
                self._journal_path.unlink()

    def _records(self, journal: BinaryIO) -> list[dict[str, Any]]:
        """Return the records of an earlier run of the same work."""
        journal.seek(0)
        records = _whole_records(journal.read())
        same = self._signature and records and records[0].get("signature") == self._signature
        return records[1:] if same else []

    def _continue_or_start(self, journal: BinaryIO) -> None:
        """Find the last whole block of an earlier run, or begin empty parts."""
        blocks = [record for record in self._records(journal) if "named" not in record]
        whole = list(itertools.takewhile(lambda record: self._has(record["sizes"]), blocks))
        if whole:
            self.blocks, self.state = len(whole), whole[-1]["state"]
        else:
            self.discarded = any(file.size for file in self._files)
        sizes = whole[-1]["sizes"] if whole else [0] * len(self._files)
        for file, size in zip(self._files, sizes, strict=True):
            file.cut(size)
        # cut off the records of blocks that will be made again
        lines = [_line({"signature": self._signature}), *map(_line, whole)]
        if whole:
            journal.truncate(sum(map(len, lines)))
        else:
            journal.truncate(0)
            _write_all(journal, lines[0])
        os.fsync(journal.fileno())

    def _has(self, sizes: Sequence[int]) -> bool:
        """Tell whether the parts are at least as large as they were after a block."""
        return len(sizes) == len(self._files) and all(
            type(size) is int and 0 <= size <= file.size
            for size, file in zip(sizes, self._files, strict=True)
        )

    def restored(self, nothing: State) -> State:
        """Return the state that an earlier run recorded with its last block, or ``nothing``.

        Args:
            nothing: A dataclass that ``from_mapping`` can make, of the type of the record.

        Raises:
            ResumeError: The record does not have this type.
        """
        if self.state is None:
            return nothing
        try:
            return from_mapping(type(nothing), self.state, where="its last record")
        except SettingsError as error:
            raise ResumeError(
                f"the journal of an earlier run is damaged: {error.problem}",
                path=self._journal_path,
                remedy="delete it",
            ) from None

    def announce(self, lines: int, unlike: str) -> None:
        """Say on standard error whether an interrupted run is continued or thrown away.

        Args:
            lines: The number of input lines that it had done.
            unlike: What differs if its work is thrown away.
        """
        text = ""
        if lines:
            text = f"going on after line {lines:,}, where an earlier run stopped"
        elif self.discarded:
            text = f"an interrupted run with {unlike} is thrown away"
        if text:
            print(f"{self._main}: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a note

    def append(self, texts: Sequence[bytes], state: dict[str, Any]) -> None:
        """Write one more block, and record it once it is on the disk.

        Args:
            texts: The bytes for each output, plain or as a gzip member.
            state: JSON values for a run that continues after this block.
        """
        for output, text in zip(self._outputs, texts, strict=True):
            output.write(text)
        self.blocks += 1
        self._record({"sizes": [file.size for file in self._files], "state": state})

    def _record(self, record: dict[str, Any]) -> None:
        if self._journal is not None:
            with self._files[-1].refusals_named():
                _write_all(self._journal, _line(record))
                os.fsync(self._journal.fileno())

    def finish(self) -> None:
        """Give the outputs their names; after a kill in between, the next run does so again."""
        self._record({"named": [_identity(file.part_path.stat()) for file in self._files]})
        for file in self._files:
            file.take_name()
        if self._files:
            self._journal_path.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._opened:
            # an input that has to be repaired will be another input: nothing can be continued
            is_over = isinstance(error, InputError) or not (self._signature and self.blocks)
            if error is not None and is_over:
                for file in self._files:
                    with contextlib.suppress(OSError):
                        file.part_path.unlink()
                with contextlib.suppress(OSError, IndexError):
                    self._journal_path.unlink()


def _identity(found: os.stat_result) -> list[int]:
    """Return values that identify a file under any name."""
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode("ascii") + b"\n"


def _whole_records(text: bytes) -> list[dict[str, Any]]:
    """Return the signature and the records before the first incomplete or foreign line."""
    records: list[dict[str, Any]] = []
    for line in text.split(b"\n")[:-1]:
        try:
            record = parse_object(line)
        except JsonError:
            break
        is_block = isinstance(record.get("sizes"), list) and "state" in record
        if records and not is_block and not isinstance(record.get("named"), list):
            break
        records.append(record)
    return records


def _write_all(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[stream.write(view) :]
