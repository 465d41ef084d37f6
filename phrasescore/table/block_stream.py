"""Reads blocks of an input, works on them and writes an output; the three steps overlap.

The caller defines the blocks, the bytes to write for a block, and the counts. If a run was
killed, the next run of the same work continues the output file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from phrasescore.errors import InputError
from phrasescore.runs.identity import identity_of
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress


class LineCounts(Protocol):
    """Counts of finished work: a dataclass of JSON values that ``from_mapping`` reads back."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def lines(self) -> int:
        """Lines of the input so far."""
        ...


Block = TypeVar("Block")
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
            ``BlockStream.asked`` is ``None``.
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
        asked: Everything else that determines the output's bytes, as JSON values. ``None`` for fast
            work, which is not continued after an interruption.
        read: Yields the remaining blocks, given the counts and the number of finished blocks.
        work: Returns the text to write and the new counts, given a block and the counts before it.
            With several outputs, it returns a text for each, beginning with the main output.
        nothing: The counts before the first block.
        check: Reads the whole input during the work, so that errors in the input are found within
            seconds; ``None`` for fast work.
        what: The name of the work, for the progress bar.
        unit: The name of a line, in the plural.
        note: Returns the state of the work, for the progress bar.
    """

    inputs: Sequence[str | Path]
    asked: Mapping[str, object] | None
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
        before_name: Callable[[JournaledOutputs, Counts], None] = lambda outputs, counts: None,
        beside: Sequence[str | Path] = (),
    ) -> StreamReport[Counts]:
        """Write the output, or continue where an earlier run of the same work was killed.

        Args:
            output: The output file; gzip if the name ends in ``.gz``; ``-`` is standard output.
            before_name: Called when everything is written, before the output gets its final name.
            beside: Further outputs, which get their final names before the main output.

        Raises:
            InputError: The input is faulty.
            SettingsError: The output cannot be written.
        """
        start = time.monotonic()
        identity = None
        if self.asked is not None:
            identity = identity_of(self.inputs, [output, *beside], self.asked)
        check = self.check if identity else None
        with JournaledOutputs([*beside, output], identity) as outputs:
            counts = outputs.restored(self.nothing)
            resumed = counts.lines
            if self.asked is not None:
                outputs.announce(resumed)
            counts = self._stream(outputs, counts, check)
            before_name(outputs, counts)
            outputs.finish()
        sha256 = () if identity is None else tuple(identity["inputs"])
        return StreamReport(counts, resumed, time.monotonic() - start, sha256)

    def _stream(
        self, outputs: JournaledOutputs, counts: Counts, check: Callable[[], Iterator[Sized]] | None
    ) -> Counts:
        """Work on one block after the other; write a block while working on the next block."""
        resumed = counts.lines
        with ExitStack() as stack:
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
