"""Long source phrases of a table, drawn at random: frequent ones and rare ones; or given ones.

The table streams past once, in blocks of whole sources, and only what is drawn stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.counts import Counts, source_counts
from phrasescore.analysis.drawing import Least, random_numbers
from phrasescore.analysis.probabilities import probabilities
from phrasescore.errors import CorpusError, PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_source_runs
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import phrase_tokens, scored_tokens

# why a source was taken; "long" where the table has no counts
Group: TypeAlias = Literal["frequent", "rare", "long", "given"]
DRAWN: tuple[Group, ...] = ("frequent", "rare", "long")


@dataclass(frozen=True)
class DrawSettings:
    """Which sources to draw.

    Args:
        phrases: How many of each group.
        min_words: The least words of a source.
        min_targets: The least targets that the table has for it: one leaves nothing to choose.
        frequent: How often a frequent source was extracted at least.
        rare: How often a rare one was at most.
        seed: For the random numbers.
    """

    phrases: int = 10
    min_words: int = 4
    min_targets: int = 2
    frequent: int = 10
    rare: int = 3
    seed: int = 1


@dataclass(frozen=True)
class TableTarget:
    """One target of a source in the table.

    Args:
        target: Its tokens, a blank between them.
        words: What a model sees of them.
        p: p(target | source) by the table.
    """

    target: bytes
    words: tuple[bytes, ...]
    p: float


@dataclass(frozen=True)
class DrawnSource:
    """A source phrase with all targets of the table.

    Args:
        group: Why it was taken.
        source: Its tokens, a blank between them.
        words: What a model sees of them.
        count: How often it was extracted, where the table says so.
        candidates: Its targets in the order of the table; none where the table lacks it.
    """

    group: Group
    source: bytes
    words: tuple[bytes, ...]
    count: float | None
    candidates: tuple[TableTarget, ...]


@dataclass(frozen=True)
class Draw:
    """What was drawn.

    Args:
        sources: Of each group together, in the order of their bytes; given ones as given.
        among: How many sources each group was drawn from.
    """

    sources: tuple[DrawnSource, ...]
    among: dict[Group, int]


def draw_sources(
    table: str | Path,
    column: int,
    factor: int,
    settings: DrawSettings,
    lines_per_block: int = LINES_PER_BLOCK,
) -> Draw:
    """Draw long sources of a table that have several targets: frequent ones and rare ones.

    A source without counts is drawn from the group of those, which have only length in common.

    Args:
        table: A plain or gzip phrase table in the order of its sources' bytes, or ``-``.
        column: The score that is p(target | source), counted from 1.
        factor: Which factor of a token a model sees.
        settings: Which to draw.
        lines_per_block: How many lines to hold at a time.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: It has no such score.
    """
    kept: dict[Group, Least[DrawnSource]] = {name: Least(settings.phrases) for name in DRAWN}
    among: dict[Group, int] = dict.fromkeys(DRAWN, 0)
    for block in _blocks(table, lines_per_block):
        probabilities(block, column)
        begins = block.run_offsets[:-1]
        words = np.diff(block.token_spans("source", factor).offsets)[begins]
        targets = np.diff(block.run_offsets)
        long = np.flatnonzero((words >= settings.min_words) & (targets >= settings.min_targets))
        numbers = random_numbers(block.first_line + begins[long], settings.seed)
        for group, members in _groups(source_counts(block, begins[long]), settings).items():
            among[group] += int(members.sum())
            for row in kept[group].below(np.where(members, numbers, np.inf)).tolist():
                drawn = _drawn(block, int(long[row]), group, column, factor)
                place = block.first_line + int(begins[long[row]])
                kept[group].offer(float(numbers[row]), place, drawn)
    sources = [sorted(kept[name].items(), key=lambda each: each.source) for name in DRAWN]
    return Draw(tuple(source for group in sources for source in group), among)


def find_sources(
    table: str | Path,
    column: int,
    factor: int,
    wanted: list[bytes],
    lines_per_block: int = LINES_PER_BLOCK,
) -> Draw:
    """Look for given sources in a table; one that it lacks has no candidates.

    Args:
        table: See `draw_sources`.
        column: See `draw_sources`.
        factor: See `draw_sources`.
        wanted: Phrases, a blank between their words.
        lines_per_block: See `draw_sources`.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted.
        SettingsError: It has no such score.
    """
    lacking = set(wanted)
    found: dict[bytes, DrawnSource] = {}
    for block in _blocks(table, lines_per_block):
        probabilities(block, column)
        for run, begin in enumerate(block.run_offsets[:-1].tolist()):
            phrase = block.source(begin)
            if phrase in lacking:
                found[phrase] = _drawn(block, run, "given", column, factor)
    among: dict[Group, int] = {"given": len(found)}
    sources = (found.get(phrase) or _absent(phrase, factor) for phrase in wanted)
    return Draw(tuple(sources), among)


def _blocks(table: str | Path, lines: int) -> Iterator[TableBlock]:
    with Progress("reading the table", unit="lines") as progress:
        for block in read_source_runs(table, lines):
            yield block
            progress.advance(len(block))


def _groups(counts: NDArray[np.float64], settings: DrawSettings) -> dict[Group, NDArray[np.bool_]]:
    """Tell which sources belong to each group, by how often they were extracted."""
    return {
        "frequent": counts >= settings.frequent,
        "rare": counts <= settings.rare,
        "long": np.isnan(counts),
    }


def _drawn(block: TableBlock, run: int, group: Group, column: int, factor: int) -> DrawnSource:
    """Return a source of a block with its targets."""
    begin, end = block.run_offsets[run : run + 2].tolist()
    p: NDArray[np.float64] = block.score_column(column)[begin:end]
    entries = [block.entry(row) for row in range(begin, end)]
    hierarchical = block.format.hierarchical

    def seen(phrase: bytes, row: int, side: Literal["source", "target"]) -> tuple[bytes, ...]:
        try:
            return tuple(scored_tokens(phrase, side, factor, hierarchical=hierarchical))
        except PhraseTableError as error:
            raise error.at(block.path, block.first_line + row) from None

    candidates = tuple(
        TableTarget(_joined(entry.target), seen(entry.target, row, "target"), float(value))
        for row, (entry, value) in enumerate(zip(entries, p, strict=True), begin)
    )
    first = entries[0]
    counts = Counts.parse(first.counts)
    return DrawnSource(
        group,
        _joined(first.source),
        seen(first.source, begin, "source"),
        None if counts is None else counts.source,
        candidates,
    )


def _absent(phrase: bytes, factor: int) -> DrawnSource:
    return DrawnSource("given", phrase, tuple(scored_tokens(phrase, "source", factor)), None, ())


def _joined(phrase: bytes) -> bytes:
    return b" ".join(phrase_tokens(phrase))


def read_phrases(path: str | Path) -> list[bytes]:
    """Read source phrases, one a line, a blank between their words; one that stands twice is one.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line has no phrase.
    """
    phrases: dict[bytes, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        phrase = _joined(line.rstrip(b"\r"))
        if not phrase:
            raise CorpusError(
                "the source phrase is empty", path=path, line=number, remedy="delete the line"
            )
        phrases[phrase] = None
    return list(phrases)
