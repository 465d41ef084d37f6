"""Blocks of an input through some work to an output: reading, working and writing overlap.

What a block is, what is written for it and what is counted is the caller's affair. An output that
is a file is continued where an earlier run of the same work was killed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import refuse_same_file
from phrasescore.runs.identity import identity_of
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress


class LineCounts(Protocol):
    """What was counted, a dataclass of JSON values as ``from_mapping`` takes them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def lines(self) -> int:
        """Lines of the input so far."""
        ...


Block = TypeVar("Block", bound=Sized)
Counts = TypeVar("Counts", bound=LineCounts)
# for one output, or for each of several
Written: TypeAlias = bytes | tuple[bytes, ...]


@dataclass(frozen=True)
class StreamReport(Generic[Counts]):
    """What a run did.

    Args:
        counts: Over the whole input, that of an earlier, interrupted run included.
        resumed: Lines that an earlier run had done.
        seconds: How long this run took.
        sha256: The digest of each input; empty if one is a pipe.
    """

    counts: Counts
    resumed: int
    seconds: float
    sha256: tuple[str, ...]

    @property
    def per_second(self) -> float:
        """Lines that this run did in a second."""
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
        inputs: What is read; a run over pipes cannot be continued.
        asked: All else that decides the output's bytes, as JSON values; ``None`` for work that is
            quickly done again, so that nothing is kept of an interrupted run.
        read: Yields the blocks after those that some counts are of and that are so many.
        work: Returns what to write for a block, given the counts before it, and those after it; for
            several outputs a text for each, the first for the output itself.
        nothing: The counts before the first block.
        unlike: What must be the same for an interrupted run to be continued.
        check: Reads the whole input beside the work, so that its errors show in seconds; ``None``
            for work that is fast.
        role: What an input is called where an output is the same file.
        changed: What is wrong if the check counted other lines.
        what: What is done, for the progress.
        unit: What a line is, in the plural.
        note: Says how the work stands, for the progress.
    """

    inputs: Sequence[str | Path]
    asked: Mapping[str, Any] | None
    read: Callable[[Counts, int], Iterator[Block]]
    work: Callable[[Block, Counts], tuple[Written, Counts]]
    nothing: Counts
    unlike: str
    check: Callable[[], Iterator[Sized]] | None = None
    role: str = "the input"
    changed: str = "the text changed while it was being scored"
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
            output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
            before_name: What to do when all is written, before the output gets its name.
            beside: Where to write what the work returns beside the output; named before it.

        Raises:
            InputError: What is wrong with the input.
            SettingsError: The output cannot be written.
        """
        for path, name in itertools.product(self.inputs, [output, *beside]):
            refuse_same_file(path, name, self.role)
        start = time.monotonic()
        identity = None
        if self.asked is not None:
            identity = identity_of(self.inputs, [output, *beside], self.asked)
        check = self.check if identity else None
        with JournaledOutputs([*beside, output], identity) as outputs:
            counts = outputs.restored(self.nothing)
            resumed = counts.lines
            if self.asked is not None:
                outputs.announce(resumed, self.unlike)
            counts = self._stream(outputs, counts, check)
            before_name(outputs, counts)
            outputs.finish()
        sha256 = () if identity is None else tuple(identity["inputs"])
        return StreamReport(counts, resumed, time.monotonic() - start, sha256)

    def _stream(
        self, outputs: JournaledOutputs, counts: Counts, check: Callable[[], Iterator[Sized]] | None
    ) -> Counts:
        """Work on the blocks one after the other, and write each while the next is worked on."""
        resumed = counts.lines
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(self.what, unit=self.unit))
            lines = None if check is None else stack.enter_context(_counted(check))
            # one thread reads and one writes, so blocks stay in order
            reader = ThreadPoolExecutor(1, "reader")
            # what it reads may never come
            stack.callback(reader.shutdown, wait=False, cancel_futures=True)
            writer = stack.enter_context(ThreadPoolExecutor(1, "writer"))
            written: Future[None] | None = None
            for block in _ahead(self.read(counts, outputs.blocks), reader):
                made, counts = self.work(block, counts)
                # the output itself stands last
                texts = (made,) if isinstance(made, bytes) else (*made[1:], made[0])
                if written is not None:
                    written.result()
                written = writer.submit(outputs.append, texts, dataclasses.asdict(counts))
                if lines is not None and lines.done():
                    progress.expect(lines.result() - resumed)
                progress.advance(len(block), self.note())
            if written is not None:
                written.result()
            if lines is not None and lines.result() != counts.lines:
                raise InputError(self.changed, path=self.inputs[0], remedy="run the command again")
        return counts


@contextlib.contextmanager
def _counted(read: Callable[[], Iterator[Sized]]) -> Iterator[Future[int]]:
    """Check an input and count its lines in a thread of its own, which ends with the block.

    The compiled loops and the decompression run without Python's lock, so this costs the work next
    to nothing.

    Args:
        read: Begins to read the input, which can be read again; the blocks count their lines.
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
    """Yield blocks while the next one is being read."""
    coming = reader.submit(next, blocks, None)
    while (block := coming.result()) is not None:
        coming = reader.submit(next, blocks, None)
        yield block
