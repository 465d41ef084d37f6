"""Pruning of a phrase table: drop the pairs that fail a condition, keep the other lines unchanged.

The conditions apply in this order, each to the pairs that the previous ones left: a list of pairs,
the significance test, a threshold, the best targets of each source. Memory does not depend on the
table's length. After ``kill -9``, the same command continues and writes the same bytes.

A reordering table is cut to the pairs that are left. Both tables are sorted by ``source |||``, so
both are read once, in parallel. A line is kept if its pair, byte for byte, is in the phrase table;
Moses never looks up other lines. For pairs that the reordering table lacks, Moses uses defaults.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.tables.pair_significance import SignificanceLevel
from phrasescore.errors import InputError, PhraseTableError, SettingsError, counted, visible
from phrasescore.runs.stream import BlockStream, LineCounts, StreamReport
from phrasescore.table.block import (
    LINES_PER_BLOCK,
    TableBlock,
    check_reordering,
    read_reordering_runs,
    read_source_runs,
)
from phrasescore.table.byte_scanning import Bytes
from phrasescore.table.phrase_table import SEPARATOR, words_of
from phrasescore.table.scanning import SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.word_table import WordTable

Positions: TypeAlias = NDArray[np.int64]


class DropList:
    """Phrase pairs to drop, held in memory.

    Args:
        lines: The lines, each with one pair: source, tab, target. Further columns are ignored, so
            they may contain comments. A repeated pair counts once.
        path: The file of the lines, for errors.

    Attributes:
        digest: SHA-256 of the lines.

    Raises:
        InputError: A line has no tab or no source.
    """

    def __init__(self, lines: Iterable[bytes], path: str | Path) -> None:
        digest = hashlib.sha256()
        pairs = []
        for number, line in enumerate(lines, 1):
            digest.update(line + b"\n")
            source, tab, rest = line.rstrip(b"\r").partition(b"\t")
            phrases = [b" ".join(words_of(each)) for each in (source, rest.partition(b"\t")[0])]
            if not tab or not phrases[0]:
                problem = f"no phrase pair: {visible(line, 60)!r}"
                remedy = "write the source, a tab and the target"
                raise InputError(problem, path=path, line=number, remedy=remedy)
            pairs.append(SEPARATOR.join(phrases))
        self._pairs = WordTable(pairs)
        self.digest = digest.hexdigest()

    def __len__(self) -> int:
        return len(self._pairs)

    def find(self, block: TableBlock) -> NDArray[np.int32]:
        """Return (lines,) the index of each line's pair in the list; -1 if it is not listed."""
        return self._pairs.find_spans(*_pair_spans(block))


@dataclass(frozen=True)
class PruningConditions:
    """The conditions for keeping a pair; ``None`` for a condition that does not apply.

    Args:
        drop: Pairs to drop.
        significance: The minimum significance of a pair.
        column: The 1-based index of the score that ``threshold`` and ``top`` compare.
        threshold: The minimum of this score.
        top: How many targets to keep for each source, the best by this score.
    """

    drop: DropList | None = None
    significance: SignificanceLevel | None = None
    column: int | None = None
    threshold: float | None = None
    top: int | None = None

    def check(self) -> None:
        """Raise a SettingsError unless there is a condition and each condition is complete."""
        compares = self.threshold is not None or self.top is not None
        others = self.drop is not None or self.significance is not None
        if not (compares or others):
            remedy = "give --top or --threshold, with --column, or --significance or --drop"
            raise SettingsError("no condition was given", remedy=remedy)
        if compares != (self.column is not None):
            problem = "--column and --top or --threshold need each other"
            raise SettingsError(problem, remedy="give both, or neither")

    def to_json(self) -> dict[str, object]:
        """Return everything that decides which pairs are kept, as JSON values."""
        level = self.significance
        return {
            "drop_list_sha256": None if self.drop is None else self.drop.digest,
            "significance": None if level is None else dataclasses.asdict(level),
            "ranking": None if self.column is None else {"number": self.column},
            "threshold": self.threshold,
            "top": self.top,
        }


@dataclass(frozen=True)
class PruningCounts(LineCounts):
    """Counts of the pairs read so far, by what happened to them.

    Args:
        lines: Pairs read.
        kept: Pairs kept.
        sources: Distinct sources read.
        sources_kept: Distinct sources that keep at least one pair.
        listed: Pairs dropped because they are in the list of pairs to drop.
        insignificant: Pairs dropped by the significance test.
        below: Pairs dropped because they are below the threshold.
        beyond: Pairs dropped because they are not among the best of their source.
        listed_found: Pairs of the list that the table has.
        cramped: Pairs whose counts were too large for the given number of sentences.
    """

    kept: int = 0
    sources: int = 0
    sources_kept: int = 0
    listed: int = 0
    insignificant: int = 0
    below: int = 0
    beyond: int = 0
    listed_found: int = 0
    cramped: int = 0


@dataclass(frozen=True)
class PruningReport:
    """The result of pruning a table.

    Args:
        conditions: The conditions.
        made: The counts over the whole table, and a record of the run.
        reordering: The counts of the reordering table, if there is one.
    """

    conditions: PruningConditions
    made: StreamReport[PruningCounts]
    reordering: KeptLines | None = None

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values."""
        result = {**self.made.to_json(), "listed_missing": self._missing()}
        if self.reordering is not None:
            result["reordering"] = vars(self.reordering)
        return result

    def _missing(self) -> int:
        """Return how many listed pairs the table lacks."""
        listed = self.conditions.drop
        return 0 if listed is None else max(0, len(listed) - self.made.counts.listed_found)

    def __str__(self) -> str:
        counts = self.made.counts
        lines = [
            f"{counts.kept:,} of {counted(counts.lines, 'pair')} kept "
            f"({counts.kept / counts.lines:.1%}), from {counts.sources_kept:,} of "
            f"{counted(counts.sources, 'source')}",
            f"dropped: {counts.listed:,} listed, {counts.insignificant:,} insignificant, "
            f"{counts.below:,} below the threshold, {counts.beyond:,} beyond the best",
        ]
        if missing := self._missing():
            lines.append(f"{counted(missing, 'listed pair')} not in the table")
        if counts.cramped:
            what = "extracted too often for --sentences, perhaps because several aligners count"
            lines.append(f"{counted(counts.cramped, 'pair')} {what}")
        if self.reordering is not None:
            kept, read = self.reordering.kept, self.reordering.lines
            lines.append(f"reordering table: {kept:,} of {counted(read, 'line')} kept")
        return "\n".join(lines)


def prune_table(
    table: str | Path,
    output: str | Path,
    conditions: PruningConditions,
    *,
    reordering: tuple[str, str] | None = None,
) -> PruningReport:
    """Write the lines of a table that meet all conditions, byte for byte and in order.

    Args:
        table: A plain or gzip phrase table, sorted as Moses sorts it, or ``-``.
        output: The pruned table; gzip if the name ends in ``.gz``; ``-`` is standard output.
        conditions: The conditions for keeping a pair.
        reordering: A reordering table to cut to the same pairs, and the file to write it to.

    Raises:
        InputError: The table cannot be read, violates its format or is not sorted, or nothing is
            left of it.
        SettingsError: The conditions do not fit together, or do not fit the table.
    """
    conditions.check()
    if reordering is not None:
        check_reordering(reordering[0])
    cut: KeptLines | None = None

    def work(block: TableBlock, counts: PruningCounts) -> tuple[bytes, PruningCounts]:
        kept, judged = judge(block, conditions)
        return chosen_lines(block, kept), counts + judged

    def finish(part: Path, counts: PruningCounts) -> None:
        """Cut the reordering table before the phrase table appears: both appear or neither."""
        nonlocal cut
        if not counts.kept:
            problem = "no pair meets the conditions, so nothing would be left"
            remedy = "check --threshold, --significance and the column"
            raise PhraseTableError(problem, path=table, remedy=remedy)
        if reordering is not None:
            cut = prune_reordering(*reordering, part)

    made = BlockStream(
        [table],
        {"conditions": conditions.to_json(), "lines_per_block": LINES_PER_BLOCK},
        lambda counts, _: read_source_runs(table, LINES_PER_BLOCK, skip_lines=counts.lines),
        work,
        PruningCounts(),
        what="pruning",
    ).write(output, finish)
    return PruningReport(conditions, made, cut)


def judge(
    block: TableBlock, conditions: PruningConditions
) -> tuple[NDArray[np.bool_], PruningCounts]:
    """Decide which pairs are kept.

    Args:
        block: All lines of some sources.
        conditions: The conditions for keeping a pair.

    Returns:
        (lines,) bool: whether the pair is kept; and the counts of the block.
    """
    left = [np.ones(len(block), np.bool_)]  # the pairs left before and after each condition
    cramped = 0
    listed = np.full(len(block), -1, np.int32)
    if conditions.drop is not None:
        listed = conditions.drop.find(block)
    left.append(left[-1] & (listed < 0))
    significant = left[0]
    if conditions.significance is not None:
        significant, cramped = conditions.significance.find(block)
    left.append(left[-1] & significant)
    values = np.zeros(len(block))
    if conditions.column is not None:
        values = block.score_column(conditions.column)
    enough = left[0] if conditions.threshold is None else values >= conditions.threshold
    left.append(left[-1] & enough)
    kept = left[-1]
    if conditions.top is not None:
        kept = best_of_runs(values, kept, block.run_offsets, conditions.top)
    left.append(kept)
    sizes = [int(np.count_nonzero(lines)) for lines in left]
    per_source = np.add.reduceat(kept.astype(np.int64), block.run_offsets[:-1])
    return kept, PruningCounts(
        lines=len(block),
        kept=sizes[-1],
        sources=len(per_source),
        sources_kept=int(np.count_nonzero(per_source)),
        listed=sizes[0] - sizes[1],
        insignificant=sizes[1] - sizes[2],
        below=sizes[2] - sizes[3],
        beyond=sizes[3] - sizes[4],
        listed_found=len(np.unique(listed[listed >= 0])),
        cramped=cramped,
    )


def best_of_runs(
    values: NDArray[np.float64],
    candidates: NDArray[np.bool_],
    run_offsets: NDArray[np.int64],
    limit: int,
) -> NDArray[np.bool_]:
    """Choose the lines with the highest values in each run, that is, for each source.

    Of lines with equal values, the earlier lines are chosen.

    Args:
        values: (lines,) The values to compare.
        candidates: (lines,) The lines that may be chosen.
        run_offsets: (runs + 1,) The first line of each run, then the number of lines.
        limit: The maximum number of lines to choose from a run.

    Returns:
        (lines,) bool.
    """
    lines = np.flatnonzero(candidates)
    runs = np.repeat(np.arange(run_offsets.size - 1), np.diff(run_offsets))[lines]
    order = np.lexsort((-values[lines], runs))  # a stable sort: equal lines keep their order
    rank = np.arange(lines.size) - np.searchsorted(runs, runs)
    chosen = np.zeros(candidates.size, np.bool_)
    # sorting keeps the order of the runs, so rank k in a run belongs to its k-th best line
    chosen[lines[order[rank < limit]]] = True
    return chosen


@dataclass(frozen=True)
class KeptLines(LineCounts):
    """How many lines a table has, and how many are kept."""

    kept: int = 0


def prune_reordering(
    reordering: str | Path, output: str | Path, phrase_table: str | Path
) -> KeptLines:
    """Copy the lines of a reordering table whose pairs are in a phrase table.

    Args:
        reordering: A plain or gzip reordering table with source and target, sorted.
        output: The cut table; gzip if the name ends in ``.gz``.
        phrase_table: A plain or gzip phrase table, sorted.

    Raises:
        InputError: A table cannot be read, violates its format or is not sorted.
        SettingsError: The output cannot be written.
    """
    pairs = SortedPairs(read_source_runs(phrase_table))

    def work(block: TableBlock, counts: KeptLines) -> tuple[bytes, KeptLines]:
        kept = pairs.find(block)
        here = KeptLines(len(block), int(np.count_nonzero(kept)))
        return chosen_lines(block, kept), counts + here

    stream = BlockStream(
        [reordering],
        None,
        lambda _, done: read_reordering_runs(reordering),
        work,
        KeptLines(),
        what="cutting the reordering table",
        unit="lines",
    )
    return stream.write(output).counts


def chosen_lines(block: TableBlock, chosen: NDArray[np.bool_]) -> bytes:
    """Return the bytes of the chosen lines."""
    return b"".join(itertools.compress(io.BytesIO(block.text), chosen.tolist()))


class SortedPairs:
    """The pairs of a sorted table, which is read forward as pairs are looked up.

    Args:
        blocks: The lines of the table, from `read_source_runs`.
    """

    def __init__(self, blocks: Iterator[TableBlock]) -> None:
        self._blocks = blocks
        self._held: list[TableBlock] = []

    def find(self, wanted: TableBlock) -> NDArray[np.bool_]:
        """Return (lines,) bool: whether the pair of each line is in the table.

        Each call must look up later sources than the previous one.
        """
        last = _last_source(wanted)
        while not self._held or _last_source(self._held[-1]) < last:
            if (block := next(self._blocks, None)) is None:
                break
            self._held.append(block)
        pairs = WordTable()
        for block in self._held:
            pairs.add_spans(*_pair_spans(block))
        self._held = [block for block in self._held if _last_source(block) > last]
        return pairs.find_spans(*_pair_spans(wanted)) >= 0


def _last_source(block: TableBlock) -> bytes:
    """Return the last source phrase of a block and the bars after it, which sorting compares."""
    return block.source(len(block) - 1) + SEPARATOR


def _pair_spans(block: TableBlock) -> tuple[Bytes, Positions, Positions]:
    """Return the bytes of a block, and where the phrase pair of each line begins and ends.

    Words and columns must have single spaces between them, as in the tables of all tools of Moses.
    """
    target, target_end = block.spans[:, TARGET], block.spans[:, TARGET_END]
    # an empty target may lie after the blanks of its column
    ends = np.where(target < target_end, target_end, block.spans[:, SOURCE_END] + len(SEPARATOR))
    return block.data, block.spans[:, SOURCE].copy(), ends
