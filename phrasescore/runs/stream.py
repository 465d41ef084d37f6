"""Outputs that grow block by block, and continue after a kill with the same bytes.

The blocks written so far are in ``.OUT.part`` beside each output ``OUT``. ``.OUT.journal`` beside
the last output is replaced after each block. The journal is the entry of the work (see
`phrasescore.runs.ledger`), with the number of blocks that are complete in all outputs, and the
sizes of the parts up to these blocks. The parts get their final names when they are complete and on
disk. Standard output, pipes and devices are written directly, so such work is not continued.

`BlockStream` reads, works and writes at the same time. Its caller defines the blocks, the bytes to
write for a block, and the counts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import operator
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError, writing
from phrasescore.runs import final_names
from phrasescore.runs.file_kinds import STANDARD_STREAM, can_be_read_again, is_stream
from phrasescore.runs.final_names import hidden, is_gzip_name, own_file
from phrasescore.runs.json_files import JsonError, read_object, write_json
from phrasescore.runs.ledger import Entry, begun_otherwise, differences, entry_of
from phrasescore.runs.lock import held
from phrasescore.runs.progress import Progress


def keeps_work(path: str | Path) -> bool:
    """Return whether work on an output can be continued: only if it is a file, not a stream."""
    return str(path) != STANDARD_STREAM and not is_stream(path)


@dataclass(frozen=True)
class _Journal(Entry):
    """The entry of unfinished work, whose ``counts`` are those after the last block.

    Args:
        blocks: The number of blocks that are complete in all parts.
        sizes: The sizes of the parts up to the end of these blocks, in bytes.
    """

    blocks: int = 0
    sizes: tuple[int, ...] = ()

    def fits(self, sizes: Sequence[int]) -> bool:
        """Tell whether parts of these sizes are long enough to hold all the blocks."""
        return len(sizes) == len(self.sizes) and all(
            0 <= size <= found for size, found in zip(self.sizes, sizes, strict=True)
        )


def begun_work(output: str | Path) -> _Journal | None:
    """Return the journal that an interrupted run left beside an output, if there is one."""
    path = hidden(output, "journal")
    try:
        return from_mapping(_Journal, read_object(path), where=path.name)
    except (OSError, JsonError, SettingsError):
        return None


class JournaledOutputs:
    """Outputs of the same blocks, and their journal; open for writing in a block ``with opened()``.

    On entry, ``blocks`` is the number of blocks that an earlier run left (`append` adds to it), and
    ``counts`` are those that the earlier run recorded with the last of these blocks. If the earlier
    run did other work, its blocks are deleted, and ``discarded`` says why.
    If the body of the ``with`` statement raises an error other than `InputError`, the written
    blocks are kept for the next run. A gzip output has one member for each block, so its bytes do
    not depend on interruptions.

    Args:
        paths: The outputs; they get their final names in this order.
        work: The entry of the work; only a journal of the same work is continued. ``None`` if the
            work cannot be continued, e.g. because the input is a pipe; in this case, a failure
            leaves no files.
        inputs: The names of the inputs, for messages.

    Raises:
        SettingsError: A folder cannot be written.
        StorageError: The disk is full, on entry or in a later call; the written blocks stay.
        ResumeError: Another process is writing one of the outputs.
    """

    def __init__(
        self, paths: Sequence[str | Path], work: Entry | None, inputs: Sequence[object] = ()
    ) -> None:
        self._paths, self._inputs = paths, inputs
        self._files = [Path(path) for path in paths if keeps_work(path)]
        self._work = work if len(self._files) == len(paths) else None
        self._streams: list[BinaryIO] = []  # one stream for each path
        self.blocks = 0
        self.counts: dict[str, Any] | None = None
        self.discarded = ""

    @contextlib.contextmanager
    def opened(self) -> Iterator[JournaledOutputs]:
        """Open the outputs, after the blocks that an earlier run has left."""
        with contextlib.ExitStack() as stack:
            for file in self._files:
                stack.enter_context(held(file))
            if self._files and os.path.lexists(self._journal_path):
                with writing(self._files[-1]):
                    # raises an error for a link or a pipe
                    own_file(self._journal_path, os.O_APPEND).close()
            self._streams = [stack.enter_context(_opened(path)) for path in self._paths]
            if self._files:
                with writing(self._files[-1]):
                    self._continue_or_start()
            try:
                yield self
            except BaseException as error:
                # after an input error the user must correct the input, which makes it other work
                if isinstance(error, InputError) or not (self._work and self.blocks):
                    self._remove()
                raise

    @property
    def _journal_path(self) -> Path:
        return hidden(self._files[-1], "journal")

    def _continue_or_start(self) -> None:
        """Truncate the parts after the last complete block of an earlier run, or empty them."""
        files = zip(self._paths, self._streams, strict=True)
        parts = [stream for path, stream in files if keeps_work(path)]
        sizes = [_size(part) for part in parts]
        final_names.remove_parts(self._journal_path)
        found = begun_work(self._files[-1])
        changes = differences(found, self._work, self._inputs) if found and self._work else []
        if found and self._work and not changes and found.fits(sizes):
            self.blocks, self.counts = found.blocks, found.counts
            sizes = list(found.sizes)
        else:
            if any(sizes):
                known = begun_otherwise(changes) if changes else "the work has no usable journal"
                self.discarded = f"{known}; it is discarded"
            sizes = [0] * len(parts)
            self._journal_path.unlink(missing_ok=True)
        for part, size in zip(parts, sizes, strict=True):
            part.truncate(size)

    def append(self, texts: Sequence[bytes], counts: Mapping[str, Any]) -> None:
        """Write one more block, and record it in the journal after it is on disk.

        Args:
            texts: The bytes for each output, plain or as a gzip member; they are compressed or
                unpacked as the name of the output requires.
            counts: JSON values that a run needs to continue after this block.
        """
        sizes = []
        for path, stream, text in zip(self._paths, self._streams, texts, strict=True):
            if not keeps_work(path):
                _write_all(stream, final_names.as_written(text, path))
                stream.flush()
                continue
            with writing(path):
                _write_all(stream, final_names.as_written(text, path))
                os.fsync(stream.fileno())
            sizes.append(_size(stream))
        self.blocks += 1
        if self._work is not None:
            done = {"counts": counts, "blocks": self.blocks, "sizes": sizes}
            write_json(self._journal_path, dataclasses.asdict(self._work) | done)

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

    def _remove(self) -> None:
        """Remove the parts and the journal."""
        for file in self._files:
            for ending in ("part", "journal"):
                with contextlib.suppress(OSError):
                    hidden(file, ending).unlink()


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open the part of an output, or the output itself if it is a pipe or a device."""
    if not keeps_work(path):
        with final_names.open_output(path) as stream:
            yield stream
        return
    with writing(path):
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = own_file(hidden(path, "part"), os.O_APPEND, 0)
    with part:
        try:
            yield part
        except BaseException:
            if not _size(part):  # an empty part holds no work, e.g. if another output was refused
                hidden(path, "part").unlink(missing_ok=True)
            raise


def _size(stream: BinaryIO) -> int:
    return os.fstat(stream.fileno()).st_size


def _write_all(stream: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[stream.write(view) :]


@dataclass(frozen=True)
class LineCounts:
    """Counts of finished work; subclasses add JSON values, which ``from_mapping`` reads back.

    Args:
        lines: Lines of the input.
    """

    lines: int = 0

    def __add__(self: Counts, more: Counts) -> Counts:
        """Return the counts of both; a subclass with counts that are no numbers overrides this."""
        mine, others = dataclasses.astuple(self), dataclasses.astuple(more)
        return type(self)(*map(operator.add, mine, others))


Block = TypeVar("Block")
Made = TypeVar("Made")
Counts = TypeVar("Counts", bound=LineCounts)
# the bytes for one output, or for each of several outputs
Written: TypeAlias = bytes | tuple[bytes, ...]


@dataclass(frozen=True)
class StreamReport(Generic[Counts]):
    """The result of a run.

    Args:
        counts: The counts over the whole input, including lines that an interrupted run had done.
        resumed: Number of lines that an interrupted run had done.
        seconds: The duration of this run.
        sha256: The digest of each input; empty if an input is a pipe, or if
            ``BlockStream.settings`` is ``None``.
    """

    counts: Counts
    resumed: int
    seconds: float
    sha256: tuple[str, ...]

    @property
    def per_second(self) -> float:
        """Lines per second of this run."""
        return (self.counts.lines - self.resumed) / max(self.seconds, 1e-9)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            **dataclasses.asdict(self.counts),
            "resumed_lines": self.resumed,
            "seconds": round(self.seconds, 3),
            "input_sha256": self.sha256[0] if self.sha256 else None,
        }


@dataclass(frozen=True)
class BlockStream(Generic[Block, Counts]):
    """Work on an input, block by block.

    Args:
        inputs: The files to read; if a file is a pipe, the run cannot be continued.
        settings: Everything else that determines the output's bytes, as JSON values. ``None`` for
            fast work, which is not continued after an interruption.
        read: Yields the remaining blocks, given the counts and the number of finished blocks.
        work: Returns the text to write and the new counts, given a block and the counts before it.
            With several outputs, it returns a text for each, beginning with the main output.
        nothing: The counts before the first block.
        check: Reads the whole input during the work, so that errors in the input are found within
            seconds; ``None`` for fast work.
        what: The name of the work, for the progress bar; work of another name is other work.
        unit: The name of a line, in the plural.
        note: Returns the state of the work, for the progress bar.
    """

    inputs: Sequence[str | Path]
    settings: Mapping[str, object] | None
    read: Callable[[Counts, int], Iterator[Block]]
    work: Callable[[Block, Counts], tuple[Written, Counts]]
    nothing: Counts
    check: Callable[[], Iterator[Sized]] | None = None
    what: str = "scoring"
    unit: str = "pairs"
    note: Callable[[], str] = str

    def write(
        self,
        output: str | Path,
        before_name: Callable[[Path, Counts], None] = lambda part, counts: None,
        beside: Sequence[str | Path] = (),
    ) -> StreamReport[Counts]:
        """Write the output, or continue where an earlier run of the same work was killed.

        Args:
            output: The output file; gzip if the name ends in ``.gz``; ``-`` is standard output.
            before_name: Called when everything is written, before the output gets its final name,
                with the file that holds the output until then.
            beside: Further outputs, which get their final names before the main output.

        Raises:
            InputError: The input is faulty.
            SettingsError: The output cannot be written.
        """
        start = time.monotonic()
        paths, entry = [*beside, output], None
        if self.settings is not None and all(map(can_be_read_again, self.inputs)):
            packed = {"gzip": list(map(is_gzip_name, paths))}
            entry = entry_of({"work": self.what, **self.settings, **packed}, self.inputs)
        with JournaledOutputs(paths, entry, self.inputs).opened() as outputs:
            counts = self._counts_of(outputs.counts, output)
            resumed = counts.lines
            said = outputs.discarded if self.settings is not None else ""
            if resumed:
                said = f"continuing after line {resumed:,}, where an earlier run stopped"
            if said:
                print(f"{output}: {said}", file=sys.stderr, flush=True)  # noqa: T201 - a note
            counts = self._stream(outputs, counts, self.check if entry else None)
            before_name(hidden(output, "part"), counts)
            outputs.finish()
        sha256 = tuple(entry.inputs) if entry else ()
        return StreamReport(counts, resumed, time.monotonic() - start, sha256)

    def _counts_of(self, recorded: dict[str, Any] | None, output: str | Path) -> Counts:
        """Return the counts that an earlier run recorded with its last block, or no counts."""
        if recorded is None:
            return self.nothing
        try:
            return from_mapping(type(self.nothing), recorded, where="its last record")
        except SettingsError as error:
            raise ResumeError(
                f"the journal of an earlier run is damaged: {error.problem}",
                path=hidden(output, "journal"),
                remedy="delete the file",
            ) from None

    def _stream(
        self, outputs: JournaledOutputs, counts: Counts, check: Callable[[], Iterator[Sized]] | None
    ) -> Counts:
        """Work on one block after the other; write a block while working on the next block."""
        resumed = counts.lines
        with contextlib.ExitStack() as stack:
            progress = stack.enter_context(Progress(self.what, unit=self.unit))
            lines = None if check is None else stack.enter_context(_counted(check))
            # each step has a single thread, which keeps the blocks in order
            reader = ThreadPoolExecutor(1, "reader")
            # do not wait for the reader, because a pipe may stay silent for ever
            stack.callback(reader.shutdown, wait=False, cancel_futures=True)
            writer = stack.enter_context(ThreadPoolExecutor(1, "writer"))
            written: Future[None] | None = None
            for block in _ahead(self.read(counts, outputs.blocks), reader):
                done = counts.lines
                made, counts = self.work(block, counts)
                # in the journal, the main output is the last one
                texts = (made,) if isinstance(made, bytes) else (*made[1:], made[0])
                if written is not None:
                    written.result()
                written = writer.submit(outputs.append, texts, dataclasses.asdict(counts))
                if lines is not None and lines.done():
                    progress.expect(lines.result() - resumed)
                progress.advance(counts.lines - done, self.note())
            if written is not None:
                written.result()
            if lines is not None and lines.result() != counts.lines:
                raise InputError(
                    "the file changed while it was being read",
                    path=self.inputs[0],
                    remedy="run the command again",
                )
        return counts


@contextlib.contextmanager
def _counted(read: Callable[[], Iterator[Sized]]) -> Iterator[Future[int]]:
    """Check an input and count its lines in a separate thread while the ``with`` block runs.

    Compiled loops and decompression release Python's lock, so this hardly slows the work down.

    Args:
        read: Starts to read the input; the length of a block is its number of lines.
    """
    stop = threading.Event()

    def count() -> int:
        lines = 0
        for block in read():
            lines += len(block)
            if stop.is_set():
                break
        return lines

    with ThreadPoolExecutor(1, "input check") as checker:
        try:
            yield checker.submit(count)
        finally:
            stop.set()


def _ahead(blocks: Iterator[Block], reader: ThreadPoolExecutor) -> Iterator[Block]:
    """Yield each block while the next one is being read."""
    coming = reader.submit(next, blocks, None)
    while (block := coming.result()) is not None:
        coming = reader.submit(next, blocks, None)
        yield block


def in_order(submitted: Iterator[Future[Made]], limit: int) -> Iterator[Made]:
    """Yield results in the order of submission, with at most ``limit`` pending."""
    pending: deque[Future[Made]] = deque()
    for future in submitted:
        pending.append(future)
        if len(pending) >= limit:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
