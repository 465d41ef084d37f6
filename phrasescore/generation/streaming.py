"""Stream phrases or a table past a model, and write its targets; resumable like ``score``."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from phrasescore import __version__
from phrasescore.errors import InputError
from phrasescore.files import is_gzip_name, refuse_same_file, sha256_of
from phrasescore.generation.phrase_output import PhraseCounts, PhraseWriter
from phrasescore.generation.reordering_output import ReorderingCounts, generate_reordering
from phrasescore.generation.table_output import TableCounts, TableWriter
from phrasescore.resuming.journaled_output import JournaledOutput
from phrasescore.scoring.block_stream import announce, open_sink, stream_blocks
from phrasescore.scoring.table_check import InputCheck
from phrasescore.scoring.text_blocks import Texts
from phrasescore.table.block import TableBlock, can_be_read_again
from phrasescore.table.source_runs import read_source_runs

# of an output's block: some seconds of work, which is what a kill can lose
PHRASES_PER_BLOCK = 2048
TABLE_LINES_PER_BLOCK = 4096

Counts = TypeVar("Counts", PhraseCounts, TableCounts)
Block = TypeVar("Block", bound=Sized)


@dataclass(frozen=True)
class GenerationReport(Generic[Counts]):
    """What a run did.

    Args:
        counts: Over the whole input, that of an earlier, interrupted run included.
        resumed: Lines that an earlier run had done.
        reordering: What was done to a reordering table.
        seconds: How long this run took.
        sha256: The digest of the input; ``None`` for a pipe.
    """

    counts: Counts
    resumed: int
    seconds: float
    sha256: str | None
    reordering: ReorderingCounts | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            **dataclasses.asdict(self.counts),
            "resumed_lines": self.resumed,
            "seconds": round(self.seconds, 3),
            "input_sha256": self.sha256,
            **({"reordering": vars(self.reordering)} if self.reordering else {}),
        }

    def __str__(self) -> str:
        reordering = f"{self.reordering}\n" if self.reordering else ""
        return f"{self.counts}\n{reordering}{self.seconds:,.1f} s"


def generate_for_phrases(
    path: str | Path, output: str | Path, writer: PhraseWriter, asked: dict[str, Any]
) -> GenerationReport[PhraseCounts]:
    """Write a model's targets of the phrases in a file, a phrase in the first column of each line.

    Args:
        path: Plain, gzip or ``-``.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        writer: What writes a block.
        asked: All else that decides the output's bytes, as JSON values.

    Raises:
        InputError: The file cannot be read, or a line has no phrase.
        SettingsError: The output is the input, or cannot be written.
        ModelError: The model gives no numbers.
    """
    texts = Texts((path,), columns=1, lines_per_block=PHRASES_PER_BLOCK)

    def blocks(counts: PhraseCounts, done: int) -> Iterator[Any]:
        return texts.blocks(skip=done)

    return _streamed(path, output, asked, PhraseCounts(), blocks, writer.write)


def generate_table(
    path: str | Path,
    output: str | Path,
    writer: TableWriter,
    asked: dict[str, Any],
    reordering: tuple[str | Path, str | Path] | None = None,
) -> GenerationReport[TableCounts]:
    """Write a phrase table of a model's targets for the sources of another one.

    Args:
        path: A plain or gzip phrase table in the order of its sources' bytes, or ``-``.
        output: Where to; gzip if the name ends in ``.gz``; ``-`` is standard output.
        writer: What writes a block.
        asked: All else that decides the output's bytes, as JSON values.
        reordering: The reordering table of the system, and where to write one for the output,
            which must be a file then.

    Raises:
        InputError: A table cannot be read, breaks its format or is not sorted.
        SettingsError: The output is the table, or cannot be written.
        ModelError: The model gives no numbers.
    """

    def blocks(counts: TableCounts, done: int) -> Iterator[TableBlock]:
        return read_source_runs(path, TABLE_LINES_PER_BLOCK, skip_lines=counts.lines)

    def write_reordering(pairs: Path) -> ReorderingCounts | None:
        return generate_reordering(*reordering, pairs) if reordering else None

    return _streamed(path, output, asked, TableCounts(), blocks, writer.write, write_reordering)


def _streamed(
    path: str | Path,
    output: str | Path,
    asked: dict[str, Any],
    counts: Counts,
    blocks: Callable[[Counts, int], Iterator[Block]],
    write: Callable[[Block, Counts], tuple[bytes, Counts]],
    after: Callable[[Path], ReorderingCounts | None] = lambda _: None,
) -> GenerationReport[Counts]:
    """Write block after block from where an earlier run stopped."""
    refuse_same_file(path, output, "the input")
    start = time.monotonic()
    sha256 = sha256_of(path) if can_be_read_again(path) else None
    signature = None
    if sha256 is not None:
        given = {"phrasescore": __version__, "input": sha256, "gzip": is_gzip_name(output)}
        signature = {**given, **asked}

    def work(block: Block) -> tuple[bytes, dict[str, Any]]:
        nonlocal counts
        text, counts = write(block, counts)
        return text, dataclasses.asdict(counts)

    with open_sink(output, signature) as sink:
        nothing = counts
        if sink.state is not None:
            counts = type(counts)(**sink.state)
        resumed = counts.lines
        announce(output, resumed, sink.discarded, "other options, model or input")
        check = InputCheck(lambda: blocks(nothing, 0)) if sha256 is not None else None
        coming = blocks(counts, sink.blocks)
        lines = stream_blocks(
            coming, work, sink, check, already=resumed, what="generating", unit="lines"
        )
        if lines is not None and lines != counts.lines:
            raise InputError(
                "the file changed while it was being read", path=path, remedy="run it again"
            )
        # before the table has its name: whoever is killed here has not to generate it again
        reordering = after(sink.part_path) if isinstance(sink, JournaledOutput) else None
        sink.finish()
    return GenerationReport(counts, resumed, time.monotonic() - start, sha256, reordering)
