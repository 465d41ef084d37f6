"""Pruning of a phrase table: drop the pairs that fail a condition, keep the other lines unchanged.

The conditions apply in this order, each to the pairs that the previous ones left: a list of pairs,
the significance test, a threshold, the best of each source. Memory does not depend on the table's
length. The same command continues after ``kill -9`` and arrives at the same bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.tables.filtering import LineCounts
from moses_integration.tables.reordering_pruning import (
    check_reordering,
    chosen_lines,
    prune_reordering,
)
from moses_integration.tables.score_survey import refuse_infinite
from moses_integration.tables.significance import SignificanceLevel
from phrasescore.errors import (
    IniError,
    InputError,
    PhraseTableError,
    SettingsError,
    counted,
    visible,
)
from phrasescore.runs.journal import JournaledOutputs
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_source_runs
from phrasescore.table.block_stream import BlockStream, StreamReport
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import phrase_tokens
from phrasescore.table.scanning import TARGET, TARGET_END

_LOWEST_LN = np.float32(-100.0)  # Moses's floor


@dataclass(frozen=True)
class DropList:
    """Phrase pairs to drop, held in memory: a line is source, tab, target.

    Further columns are ignored, so they may hold comments. Phrases are compared as sequences of
    tokens, whatever blanks separate them.

    Args:
        targets: The targets of each source, as tokens separated by single blanks.
        digest: SHA-256 of the list's lines.
    """

    targets: Mapping[bytes, set[bytes]]
    digest: str

    def __len__(self) -> int:
        return sum(map(len, self.targets.values()))

    @classmethod
    def read(cls, path: str | Path) -> DropList:
        """Read a plain or gzip file, or ``-``; a repeated pair counts once.

        Raises:
            InputError: The file cannot be read, or a line has no tab or no source.
        """
        targets: dict[bytes, set[bytes]] = {}
        digest = hashlib.sha256()
        for number, line in enumerate(read_lines(path), 1):
            digest.update(line + b"\n")
            source, tab, rest = line.rstrip(b"\r").partition(b"\t")
            if not tab or not source.strip(b" "):
                raise InputError(
                    f"no phrase pair: {visible(line, 60)!r}",
                    path=path,
                    line=number,
                    remedy="write source, tab, target",
                )
            targets.setdefault(_joined(source), set()).add(_joined(rest.partition(b"\t")[0]))
        return cls(targets, digest.hexdigest())

    def find(self, block: TableBlock) -> tuple[NDArray[np.bool_], int]:
        """Find the listed pairs among all lines of some sources.

        Returns:
            (lines,) bool: the listed lines; and the number of distinct listed pairs found.
        """
        listed = np.zeros(len(block), np.bool_)
        found = 0
        text, starts = block.text, block.run_offsets
        # the spans have no blanks around the phrases; nearly all tables have single ones inside
        odd = b"  " in text or b"\t" in text
        for run, (begin, end) in enumerate(block.spans[starts[:-1], :TARGET].tolist()):
            source = text[begin:end]
            targets = self.targets.get(_joined(source) if odd else source)
            if targets is None:
                continue
            here = set()
            for line in range(starts[run], starts[run + 1]):
                begin, end = block.spans[line, TARGET : TARGET_END + 1].tolist()
                target = _joined(text[begin:end])
                if target in targets:
                    listed[line] = True
                    here.add(target)
            found += len(here)
        return listed, found


def _joined(phrase: bytes) -> bytes:
    """Return the tokens of a phrase with single blanks between them."""
    return b" ".join(phrase_tokens(phrase.strip(b" \t\r")))


@dataclass(frozen=True)
class ColumnRanking:
    """Ranks pairs by one score.

    Args:
        number: The column of the score, counted from 1.
    """

    number: int

    def values(self, block: TableBlock) -> NDArray[np.float64]:
        """Return (lines,) float64: the score as it is in the table.

        Raises:
            SettingsError: The table has no such score.
        """
        return block.score_column(self.number)


@dataclass(frozen=True)
class WeightedRanking:
    """Ranks pairs by the weighted sum of all scores, as Moses computes it for this one feature.

    Args:
        weights: One for each score.
        feature: The feature that has these weights.
        ini: The file of the feature, for errors.
    """

    weights: tuple[float, ...]
    feature: str
    ini: str

    def values(self, block: TableBlock) -> NDArray[np.float64]:
        """Return (lines,) float64: the sum of weight * max(ln(score as float32), -100).

        Raises:
            IniError: The table has more or fewer scores.
            PhraseTableError: A score is infinite as float32.
        """
        if len(self.weights) != block.format.scores:
            raise IniError(
                f"{counted(len(self.weights), 'weight')} for {self.feature}, but {block.path} has "
                f"{counted(block.format.scores, 'score')}",
                path=self.ini,
                remedy="name the ini of this table, or with --feature another phrase table in it",
            )
        refuse_infinite(block)
        # Moses keeps both the probability and its logarithm in single precision
        with np.errstate(divide="ignore"):
            probabilities = block.score_values.astype(np.float32).astype(np.float64)
            ln = np.maximum(np.log(probabilities).astype(np.float32), _LOWEST_LN)
        sums = np.zeros(len(block))
        for weight, column in zip(self.weights, ln.T, strict=True):  # in Moses's order
            sums += weight * column.astype(np.float64)
        return sums


Ranking: TypeAlias = ColumnRanking | WeightedRanking


@dataclass(frozen=True)
class PruningConditions:
    """The conditions for keeping a pair; ``None`` for a condition that does not apply.

    Args:
        drop: Pairs to drop.
        significance: The minimum significance of a pair.
        ranking: The value that threshold and top compare.
        threshold: The minimum value of the ranking.
        top: The number of best targets to keep of each source.
    """

    drop: DropList | None = None
    significance: SignificanceLevel | None = None
    ranking: Ranking | None = None
    threshold: float | None = None
    top: int | None = None

    def check(self) -> None:
        """Raise a SettingsError unless there is a condition and each condition is complete."""
        compares = self.threshold is not None or self.top is not None
        if self.ranking is not None and not compares:
            raise SettingsError(
                "--column and --weights say what to go by, but not how many to keep",
                remedy="give --top or --threshold, or leave them out",
            )
        if not compares and self.drop is None and self.significance is None:
            raise SettingsError(
                "there is no condition, so every pair would be kept",
                remedy="give --top, --threshold, --significance or --drop",
            )
        if compares and self.ranking is None:
            raise SettingsError(
                "nothing says what --top and --threshold go by",
                remedy="name a score with --column, or a moses.ini with --weights",
            )

    def to_json(self) -> dict[str, object]:
        """Return everything that decides which pairs are kept, as JSON values."""
        level, ranking = self.significance, self.ranking
        return {
            "drop_list_sha256": None if self.drop is None else self.drop.digest,
            "significance": None if level is None else dataclasses.asdict(level),
            "ranking": None if ranking is None else dataclasses.asdict(ranking),
            "threshold": self.threshold,
            "top": self.top,
        }


@dataclass(frozen=True)
class PruningCounts:
    """Numbers of pairs so far.

    Args:
        lines: Pairs read.
        kept: Pairs kept.
        sources: Distinct sources read.
        sources_kept: Distinct sources that keep at least one pair.
        listed: Pairs dropped because they are in the list of pairs to drop.
        insignificant: Pairs dropped by the significance test.
        below: Pairs dropped below the threshold.
        beyond: Pairs dropped because they are not among the best of their source.
        listed_found: Pairs of the list that the table has.
        cramped: Pairs whose counts were too large for the given number of sentences.
    """

    lines: int = 0
    kept: int = 0
    sources: int = 0
    sources_kept: int = 0
    listed: int = 0
    insignificant: int = 0
    below: int = 0
    beyond: int = 0
    listed_found: int = 0
    cramped: int = 0

    def __add__(self, other: PruningCounts) -> PruningCounts:
        mine, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return PruningCounts(*(a + b for a, b in zip(mine, others, strict=True)))


@dataclass(frozen=True)
class PruningReport:
    """The result of pruning a table.

    Args:
        conditions: The conditions.
        made: The counts over the whole table, and the course of the run.
        reordering: The counts of the reordering table, if there is one.
    """

    conditions: PruningConditions
    made: StreamReport[PruningCounts]
    reordering: LineCounts | None = None

    @property
    def counts(self) -> PruningCounts:
        """The numbers of pairs, including those of an earlier, interrupted run."""
        return self.made.counts

    @property
    def listed_missing(self) -> int:
        """The number of listed pairs that the table lacks."""
        listed = len(self.conditions.drop) if self.conditions.drop is not None else 0
        return max(0, listed - self.counts.listed_found)

    def to_json(self) -> dict[str, object]:
        """Return the report as JSON values."""
        counts, made = self.counts, self.made
        result: dict[str, object] = {
            "pairs": counts.lines,
            "kept": counts.kept,
            "sources": counts.sources,
            "sources_kept": counts.sources_kept,
            "dropped": {
                "drop": counts.listed,
                "significance": counts.insignificant,
                "threshold": counts.below,
                "top": counts.beyond,
            },
            "listed_missing": self.listed_missing,
            "more_counted_than_sentences": counts.cramped,
            "resumed_pairs": made.resumed,
            "seconds": round(made.seconds, 3),
            "table_sha256": made.sha256[0] if made.sha256 else None,
        }
        if self.reordering is not None:
            result["reordering"] = vars(self.reordering)
        return result

    def __str__(self) -> str:
        counts = self.counts
        lines = [
            f"{counts.kept:,} of {counted(counts.lines, 'pair')} kept "
            f"({counts.kept / counts.lines:.1%}), of {counts.sources_kept:,} of "
            f"{counted(counts.sources, 'source')}",
            f"dropped: {counts.listed:,} listed, {counts.insignificant:,} insignificant, "
            f"{counts.below:,} below the threshold, {counts.beyond:,} beyond the best",
        ]
        if self.listed_missing:
            lines.append(f"{counted(self.listed_missing, 'listed pair')} not in the table")
        if counts.cramped:
            lines.append(f"{counted(counts.cramped, 'pair')} extracted too often for --sentences")
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
    lines_per_block: int = LINES_PER_BLOCK,
) -> PruningReport:
    """Write the lines of a table that meet all conditions, byte for byte and in order.

    Args:
        table: A plain or gzip phrase table, sorted as Moses sorts it, or ``-``.
        output: The pruned table; gzip if the name ends in ``.gz``; ``-`` is standard output.
        conditions: The conditions for keeping a pair.
        reordering: A reordering table to cut to the same pairs, and the file to write it to.
        lines_per_block: The number of lines to hold at a time.

    Raises:
        InputError: The table cannot be read, breaks its format or is not sorted, or nothing is
            left of it.
        SettingsError: The conditions do not fit together or to the table.
    """
    conditions.check()
    if reordering is not None:
        check_reordering(reordering[0])
    cut: LineCounts | None = None

    def work(block: TableBlock, counts: PruningCounts) -> tuple[bytes, PruningCounts]:
        kept, judged = judge(block, conditions)
        return chosen_lines(block, kept), counts + judged

    def finish(outputs: JournaledOutputs, counts: PruningCounts) -> None:
        """Cut the reordering table before the phrase table gets its name: both appear, or none."""
        nonlocal cut
        if not counts.kept:
            raise PhraseTableError(
                "no pair meets the conditions, so nothing would be left",
                path=table,
                remedy="check --threshold, --significance and the column",
            )
        if reordering is not None:
            cut = prune_reordering(*reordering, outputs.part_path)

    made = BlockStream(
        [table],
        {"conditions": conditions.to_json(), "lines_per_block": lines_per_block},
        lambda counts, _: read_source_runs(table, lines_per_block, skip_lines=counts.lines),
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
        (lines,) bool, and the numbers of pairs.
    """
    left = [np.ones(len(block), np.bool_)]  # the pairs left before and after each condition
    found = cramped = 0
    listed = np.zeros(len(block), np.bool_)
    if conditions.drop is not None:
        listed, found = conditions.drop.find(block)
    left.append(left[-1] & ~listed)
    significant = left[0]
    if conditions.significance is not None:
        significant, cramped = conditions.significance.find(block)
    left.append(left[-1] & significant)
    values = np.zeros(len(block))
    if conditions.ranking is not None:
        values = conditions.ranking.values(block)
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
        listed_found=found,
        cramped=cramped,
    )


def best_of_runs(
    values: NDArray[np.float64],
    candidates: NDArray[np.bool_],
    run_offsets: NDArray[np.int64],
    limit: int,
) -> NDArray[np.bool_]:
    """Choose the best lines of each run; of equally good ones those that come first.

    Args:
        values: (lines,) The values to compare.
        candidates: (lines,) The lines that may be chosen.
        run_offsets: (runs + 1,) The first line of each run, then the number of lines.
        limit: The maximum number of lines of a run.

    Returns:
        (lines,) bool.
    """
    lines = np.flatnonzero(candidates)
    runs = np.repeat(np.arange(run_offsets.size - 1), np.diff(run_offsets))[lines]
    order = np.lexsort((-values[lines], runs))  # stable
    rank = np.arange(lines.size) - np.searchsorted(runs, runs)
    chosen = np.zeros(candidates.size, np.bool_)
    # runs stay in their order when sorted, so rank k of a run belongs to its k-th best line
    chosen[lines[order[rank < limit]]] = True
    return chosen
