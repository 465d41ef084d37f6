"""Stream phrases or a table past a model, and write its targets; resumable like ``score``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from phrasescore.generation.phrase_output import PhraseCounts, PhraseWriter
from phrasescore.generation.reordering_output import ReorderingCounts, generate_reordering
from phrasescore.generation.table_output import TableCounts, TableWriter
from phrasescore.runs.file_kinds import refuse_same_file
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.table.block import TableBlock, read_source_runs
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.text_blocks import Texts

# of an output's block: some seconds of work, which is what a kill can lose
PHRASES_PER_BLOCK = 2048
TABLE_LINES_PER_BLOCK = 4096

# what the user sees of a stream
_WORDS: dict[str, Any] = {
    "changed": "the file changed while it was being read",
    "unlike": "other options, model or input",
    "what": "generating",
    "unit": "lines",
}

Counts = TypeVar("Counts", PhraseCounts, TableCounts)


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
    refuse_same_file(path, output, "the input")
    texts = Texts((path,), columns=1, lines_per_block=PHRASES_PER_BLOCK)
    stream = BlockStream(
        [path],
        asked,
        lambda _, done: texts.blocks(skip=done),
        writer.write,
        PhraseCounts(),
        check=texts.blocks,
        **_WORDS,
    )
    return _report(stream.write(output))


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

    def pairs_after(counts: TableCounts, _: int) -> Iterator[TableBlock]:
        return read_source_runs(path, TABLE_LINES_PER_BLOCK, skip_lines=counts.lines)

    refuse_same_file(path, output, "the input")
    stream = BlockStream(
        [path],
        asked,
        pairs_after,
        writer.write,
        TableCounts(),
        check=lambda: read_source_runs(path),
        **_WORDS,
    )
    made: list[ReorderingCounts] = []

    def write_reordering(outputs: JournaledOutputs, _: TableCounts) -> None:
        # before the table has its name: whoever is killed here has not to generate it again
        if reordering:
            made.append(generate_reordering(*reordering, outputs.part_path))

    report = _report(stream.write(output, write_reordering))
    return dataclasses.replace(report, reordering=made[0] if made else None)


def _report(made: StreamReport[Counts]) -> GenerationReport[Counts]:
    sha256 = made.sha256[0] if made.sha256 else None
    return GenerationReport(made.counts, made.resumed, made.seconds, sha256)
