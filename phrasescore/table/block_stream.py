"""Blocks of an input through some work to an output: reading, working and writing overlap.

What a block is, what is written for it and what is counted is the caller's affair. An output that
is a file is continued where an earlier run of the same work was killed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from phrasescore.errors import PhrasescoreError
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import InputCheck


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
class BlockStream(Generic[Block, Counts]):
    """Work on an input, block by block.

    Args:
        read: Yields the blocks after those that some counts are of and that are so many.
        work: Returns what to write for a block, given the counts before it, and those after it; for
            several outputs a text for each, the first for the output itself.
        nothing: The counts before the first block.
        unlike: What must be the same for an interrupted run to be continued.
        check: Reads the whole input beside the work; ``None`` for a pipe, or work that is fast.
        changed: Raised if the check counted other lines.
        what: What is done, for the progress.
        unit: What a line is, in the plural.
        note: Says how the work stands, for the progress.
    """

    read: Callable[[Counts, int], Iterator[Block]]
    work: Callable[[Block, Counts], tuple[Written, Counts]]
    nothing: Counts
    unlike: str
    check: InputCheck | None = None
    changed: PhrasescoreError | None = None
    what: str = "scoring"
    unit: str = "pairs"
    note: Callable[[], str] = str

    def write(
        self,
        output: str | Path,
        signature: dict[str, Any] | None,
        before_name: Callable[[JournaledOutputs], None] = lambda outputs: None,
        beside: Sequence[str | Path] = (),
    ) -> tuple[Counts, int]:
        """Write the output; return the counts, and how many lines an earlier run had done.

        Args:
            output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
            signature: See :class:`JournaledOutputs`.
            before_name: What to do when all is written, before the output gets its name.
            beside: Where to write what the work returns beside the output; named before it.

        Raises:
            InputError: What is wrong with the input.
            SettingsError: The output cannot be written.
        """
        with JournaledOutputs([*beside, output], signature) as outputs:
            counts = outputs.restored(self.nothing)
            resumed = counts.lines
            outputs.announce(resumed, self.unlike)
            counts = self._stream(outputs, counts)
            before_name(outputs)
            outputs.finish()
        return counts, resumed

    def _stream(self, outputs: JournaledOutputs, counts: Counts) -> Counts:
        """Work on the blocks one after the other, and write each while the next is worked on."""
        resumed, check = counts.lines, self.check
        with ExitStack() as stack:
            progress = stack.enter_context(Progress(self.what, unit=self.unit))
            if check is not None:
                stack.enter_context(check)
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
                if check is not None and (lines := check.lines()) is not None:
                    progress.expect(lines - resumed)
                progress.advance(len(block), self.note())
            if written is not None:
                written.result()
            if check is not None and check.wait() != counts.lines and self.changed is not None:
                raise self.changed
        return counts


def _ahead(blocks: Iterator[Block], reader: ThreadPoolExecutor) -> Iterator[Block]:
    """Yield blocks while the next one is being read."""
    coming = reader.submit(next, blocks, None)
    while (block := coming.result()) is not None:
        coming = reader.submit(next, blocks, None)
        yield block
