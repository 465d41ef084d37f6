"""An output file written block by block that survives kill -9 and can be continued.

Beside ``OUT`` are ``.OUT.part``, the blocks so far, and ``.OUT.journal``: one line of JSON saying
what is being written, then one for each whole block with the size of the part after it. The part
gets its final name when it is whole and on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from phrasescore.errors import InputError
from phrasescore.runs.byte_streams import STANDARD_STREAM, as_written, own_file
from phrasescore.runs.json_files import JsonError, parse_object
from phrasescore.runs.lock import held
from phrasescore.runs.parts import hidden
from phrasescore.runs.regular_files import open_regular
from phrasescore.runs.system_errors import STANDARD_OUTPUT, is_full, unwritable


def earlier_signature(path: str | Path) -> dict[str, Any] | None:
    """Return the signature of an output that an interrupted run has left, if there is one."""
    try:
        with open_regular(hidden(Path(path), "journal")) as journal:
            records = _whole_records(journal.readline())
    except (OSError, InputError):
        return None
    signature = records[0].get("signature") if records else None
    return signature if isinstance(signature, dict) else None


class JournaledOutput:
    """One output file and its journal, open for writing; use it in a ``with`` block.

    Inside it, ``blocks`` is how many blocks an earlier run has left and ``state`` what it recorded
    with the last; ``discarded`` tells whether another run's work was thrown away instead. If the
    ``with`` block raises, what has been written stays for the next run. A gzip output is a sequence
    of members, one for each block, so its bytes do not depend on interruptions.

    Args:
        path: The final name.
        signature: Everything that decides the output's bytes, as JSON values. Only a journal with
            the same signature is continued. ``None`` if the work cannot be continued at all,
            because the input is a pipe: then nothing is left over.

    Raises:
        SettingsError: The folder cannot be written.
        StorageError: The disk is full, now or later; what has been written stays.
        ResumeError: Another process is writing this output.
    """

    def __init__(self, path: str | Path, signature: dict[str, Any] | None) -> None:
        self._path = Path(path)
        self._signature = json.loads(json.dumps(signature))
        self._part_path = hidden(self._path, "part")
        self._journal_path = hidden(self._path, "journal")
        self._part: BinaryIO
        self._journal: BinaryIO
        self._size = 0
        self._whole: list[dict[str, Any]] = []
        self.blocks = 0
        self.state: dict[str, Any] | None = None
        self.discarded = False

    def __enter__(self) -> JournaledOutput:
        with contextlib.ExitStack() as opened:
            opened.enter_context(held(self._path))
            opened.callback(self._remove_empty_journal)
            with self._refusals_named():
                if self._path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                self._journal = opened.enter_context(own_file(self._journal_path, os.O_APPEND, 0))
                self._take_back()
                self._part = opened.enter_context(own_file(self._part_path, os.O_APPEND, 0))
                self._continue_or_start()
            self._opened = opened.pop_all()
        return self

    def _remove_empty_journal(self) -> None:
        """Leave no journal of nothing, if the part cannot be opened."""
        with contextlib.suppress(OSError):
            if not self._journal_path.is_symlink() and not self._journal_path.stat().st_size:
                self._journal_path.unlink()

    def _records(self) -> list[dict[str, Any]]:
        """What an earlier run of the same work has recorded."""
        self._journal.seek(0)
        records = _whole_records(self._journal.read())
        same = self._signature and records and records[0].get("signature") == self._signature
        return records[1:] if same else []

    def _take_back(self) -> None:
        """Take the name from an output whose run was killed when others had no name yet."""
        records = self._records()
        if not records or "named" not in records[-1] or os.path.lexists(self._part_path):
            return
        with contextlib.suppress(OSError):
            if _identity(self._path.lstat()) == records[-1]["named"]:
                self._path.replace(self._part_path)

    def _continue_or_start(self) -> None:
        """Find the last whole block of an earlier run, or begin an empty part."""
        here = self._part_path.stat().st_size
        blocks = [record for record in self._records() if "named" not in record]
        whole = [record for record in blocks if 0 <= record["size"] <= here]
        if not whole:
            self.discarded = bool(here)
            self._journal.truncate(0)
            _write_all(self._journal, _line({"signature": self._signature}))
        self._whole = whole
        self.go_back(len(whole))

    def go_back(self, blocks: int) -> None:
        """Keep only so many of the blocks that an earlier run has left."""
        kept = self._whole[:blocks]
        self.blocks, self.state, self._size = blocks, None, 0
        if kept:
            self.state, self._size = kept[-1]["state"], kept[-1]["size"]
        # what follows belongs to blocks that are made again
        lines = [_line({"signature": self._signature}), *map(_line, kept)]
        self._journal.truncate(sum(map(len, lines)))
        self._part.truncate(self._size)
        os.fsync(self._journal.fileno())

    @property
    def journal_path(self) -> Path:
        """The file that says which blocks are whole."""
        return self._journal_path

    @property
    def part_path(self) -> Path:
        """The file that the blocks are in until `finish`."""
        return self._part_path

    def append(self, data: bytes, state: dict[str, Any]) -> None:
        """Write one more block, and record it once it is on the disk.

        Args:
            data: Its bytes, or a gzip member of them.
            state: JSON values for a run that continues after it.
        """
        data = as_written(data, self._path)
        with self._refusals_named():
            _write_all(self._part, data)
            os.fsync(self._part.fileno())
            self._size += len(data)
            self.blocks += 1
            _write_all(self._journal, _line({"size": self._size, "state": state}))
            os.fsync(self._journal.fileno())

    @contextlib.contextmanager
    def _refusals_named(self) -> Iterator[None]:
        """Say of what the system refuses that it is this output."""
        try:
            yield
        except OSError as error:
            raise unwritable(error, self._path) from None

    def finish(self) -> None:
        """Give the output its final name and remove the journal."""
        self.take_name()
        self.forget()

    def take_name(self) -> None:
        """Give the output its final name; who is killed before `forget` finishes again."""
        _write_all(self._journal, _line({"named": _identity(self._part_path.stat())}))
        os.fsync(self._journal.fileno())
        self._part_path.replace(self._path)
        folder = os.open(self._path.absolute().parent, os.O_RDONLY)
        try:
            # the new name itself must reach the disk before the journal goes
            os.fsync(folder)
        finally:
            os.close(folder)

    def forget(self) -> None:
        """Remove the journal."""
        self._journal_path.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._opened:
            to_be_mended = isinstance(error, InputError)
            if error is not None and (to_be_mended or not (self._signature and self.blocks)):
                # nothing to continue: a table that must be repaired will be another one
                for path in (self._part_path, self._journal_path):
                    with contextlib.suppress(OSError):
                        path.unlink()


def _identity(found: os.stat_result) -> list[int]:
    """What a file keeps under another name, and no other file has."""
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode("ascii") + b"\n"


def _whole_records(text: bytes) -> list[dict[str, Any]]:
    """The signature and the records up to the first line that is not whole, or foreign."""
    records: list[dict[str, Any]] = []
    for line in text.split(b"\n")[:-1]:
        try:
            record = parse_object(line)
        except JsonError:
            break
        is_block = type(record.get("size")) is int and "state" in record
        if records and not is_block and "named" not in record:
            break
        records.append(record)
    return records


def _write_all(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[stream.write(view) :]


class StreamOutput:
    """Standard output, a named pipe or a device instead of a file: nothing can be continued.

    Args:
        path: ``-``, or what is written to directly (a rename would destroy ``/dev/null``).
    """

    blocks = 0
    state: dict[str, Any] | None = None
    discarded = False

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._opened = contextlib.ExitStack()
        self._stream: BinaryIO = sys.stdout.buffer

    def append(self, data: bytes, state: dict[str, Any]) -> None:
        """Write one more block, and hand it to whoever reads."""
        with self._refusals_named():
            _write_all(self._stream, as_written(data, self._path))
            self._stream.flush()

    def finish(self) -> None:
        """Hand over what is still buffered."""
        self.take_name()

    def forget(self) -> None:
        """There is no journal."""

    def take_name(self) -> None:
        """Hand over what is still buffered."""
        with self._refusals_named():
            self._stream.flush()

    @contextlib.contextmanager
    def _refusals_named(self) -> Iterator[None]:
        """Say of a full disk which output does not fit."""
        try:
            yield
        except OSError as error:
            name = STANDARD_OUTPUT if str(self._path) == STANDARD_STREAM else self._path
            raise unwritable(error, name) if is_full(error) else error from None

    def __enter__(self) -> StreamOutput:
        if str(self._path) != STANDARD_STREAM:
            try:
                self._stream = self._opened.enter_context(Path(self._path).open("wb", buffering=0))
            except OSError as error:
                raise unwritable(error, self._path) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()
