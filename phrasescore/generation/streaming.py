"""Stream phrases or a table past a model, and write its targets; resumable like ``score``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from phrasescore.errors import InputError
from phrasescore.generation.phrase_output import PhraseCounts, PhraseWriter
from phrasescore.generation.table_output import (
    ReorderingCounts,
    TableCounts,
    TableWriter,
    generate_reordering,
)
from phrasescore.runs.journaled_output import JournaledOutput
from phrasescore.runs.pipes import can_be_read_again
from phrasescore.table.block_stream import BlockStream, StreamReport, write_stream
from phrasescore.table.input_check import InputCheck
from phrasescore.table.sinks import Sink
from phrasescore.table.source_runs import read_source_runs
from phrasescore.table.text_blocks import Texts

# of an output's block: some seconds of work, which is what a kill can lose
PHRASES_PER_BLOCK = 2048
TABLE_LINES_PER_BLOCK = 4096

Counts = TypeVar("Counts", PhraseCounts, TableCounts)


@dataclass(frozen=True)
class GenerationReport(StreamReport[Counts]):
    """The result of a run.

    Args:
        reordering: What was done to a reordering table.
    """

    reordering: ReorderingCounts | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            **dataclasses.asdict(self.counts),
            "resumed_lines": self.resumed,
            "seconds": round(self.seconds, 3),
            "input_sha256": self.sha256[0] if self.sha256 else None,
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
    stream = BlockStream(
        lambda _, done: texts.blocks(skip=done),
        writer.write,
        PhraseCounts(),
        **_stream_settings(path, texts.blocks),
    )
    done = write_stream(stream, [path], [output], asked)
    return GenerationReport(done.counts, done.resumed, done.seconds, done.sha256)


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
    stream = BlockStream(
        lambda counts, _: read_source_runs(path, TABLE_LINES_PER_BLOCK, skip_lines=counts.lines),
        writer.write,
        TableCounts(),
        **_stream_settings(path, lambda: read_source_runs(path)),
    )
    made: list[ReorderingCounts] = []

    def write_reordering(sink: Sink) -> None:
        # before the table has its name: whoever is killed here has not to generate it again
        if reordering and isinstance(sink, JournaledOutput):
            made.append(generate_reordering(*reordering, sink.part_path))

    done = write_stream(stream, [path], [output], asked, write_reordering)
    return GenerationReport(
        done.counts, done.resumed, done.seconds, done.sha256, made[0] if made else None
    )


def _stream_settings(path: str | Path, whole: Callable[[], Iterator[Any]]) -> dict[str, Any]:
    """Return how to check the input, which ``whole`` reads, and what the user sees of a stream."""
    return {
        "check": InputCheck(whole) if can_be_read_again(path) else None,
        "changed": InputError(
            "the file changed while it was being read", path=path, remedy="run the command again"
        ),
        "unlike": "other options, model or input",
        "what": "generating",
        "unit": "lines",
    }
