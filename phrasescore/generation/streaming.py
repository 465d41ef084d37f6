"""Stream phrases or a table past a model, and write its targets; resumable like ``score``."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from phrasescore import __version__
from phrasescore.errors import InputError
from phrasescore.generation.phrase_output import PhraseCounts, PhraseWriter
from phrasescore.generation.reordering_output import ReorderingCounts, generate_reordering
from phrasescore.generation.table_output import TableCounts, TableWriter
from phrasescore.runs.file_kinds import can_be_read_again, refuse_same_file
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.table.block import TableBlock, read_source_runs
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.input_files import InputCheck
from phrasescore.table.text_blocks import Texts

# of an output's block: some seconds of work, which is what a kill can lose
PHRASES_PER_BLOCK = 2048
TABLE_LINES_PER_BLOCK = 4096

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
    texts = Texts((path,), columns=1, lines_per_block=PHRASES_PER_BLOCK)

    check = InputCheck(texts.blocks) if can_be_read_again(path) else None
    stream = BlockStream(
        lambda _, done: texts.blocks(skip=done),
        writer.write,
        PhraseCounts(),
        check=check,
        **_words_for(path),
    )
    return _written(stream, path, output, asked)


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

    check = InputCheck(lambda: read_source_runs(path)) if can_be_read_again(path) else None
    stream = BlockStream(
        pairs_after,
        writer.write,
        TableCounts(),
        check=check,
        **_words_for(path),
    )
    made: list[ReorderingCounts] = []

    def write_reordering(outputs: JournaledOutputs) -> None:
        # before the table has its name: whoever is killed here has not to generate it again
        if reordering:
            made.append(generate_reordering(*reordering, outputs.part_path))

    report = _written(stream, path, output, asked, write_reordering)
    return dataclasses.replace(report, reordering=made[0] if made else None)


def _words_for(path: str | Path) -> dict[str, Any]:
    """Return what the user sees of a stream."""
    changed = InputError(
        "the file changed while it was being read", path=path, remedy="run the command again"
    )
    unlike = "other options, model or input"
    return {"changed": changed, "unlike": unlike, "what": "generating", "unit": "lines"}


def _written(
    stream: BlockStream[Any, Counts],
    path: str | Path,
    output: str | Path,
    asked: dict[str, Any],
    before_name: Callable[[JournaledOutputs], None] = lambda outputs: None,
) -> GenerationReport[Counts]:
    refuse_same_file(path, output, "the input")
    start = time.monotonic()
    sha256 = sha256_of(path) if can_be_read_again(path) else None
    signature = None
    if sha256 is not None:
        given = {"phrasescore": __version__, "input": sha256, "gzip": is_gzip_name(output)}
        signature = {**given, **asked}
    counts, resumed = stream.write(output, signature, before_name)
    return GenerationReport(counts, resumed, time.monotonic() - start, sha256)
