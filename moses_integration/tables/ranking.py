"""What makes one target phrase better than another: a column of the table, or Moses's weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.tables.score_survey import refuse_infinite
from phrasescore.compiled import compiled
from phrasescore.errors import IniError, counted
from phrasescore.table.block import TableBlock

_LOWEST_LN = np.float32(-100.0)  # Moses's floor


@dataclass(frozen=True)
class ColumnRanking:
    """One score decides.

    Args:
        number: Which, counted from 1.
    """

    number: int

    def values(self, block: TableBlock) -> NDArray[np.float64]:
        """Return (lines,) float64: the score as the table has it.

        Raises:
            SettingsError: The table has no such score.
        """
        return block.score_column(self.number)


@dataclass(frozen=True)
class WeightedRanking:
    """The weighted sum of all scores decides, as Moses adds them up for this one feature.

    Args:
        weights: One for each score.
        feature: Whose they are.
        ini: Where they stand.
    """

    weights: tuple[float, ...]
    feature: str
    ini: str

    def values(self, block: TableBlock) -> NDArray[np.float64]:
        """Return (lines,) float64: sum of weight * max(ln(score as float32), -100).

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
        scores = block.score_values
        refuse_infinite(block)
        sums = np.empty(len(block))
        _weighted_sums(scores, np.array(self.weights), sums)
        return sums


Ranking: TypeAlias = ColumnRanking | WeightedRanking


@compiled
def _weighted_sums(scores: Any, weights: Any, sums: Any) -> None:
    for line in range(len(scores)):
        total = 0.0
        for i in range(len(weights)):
            probability = np.float64(np.float32(scores[line, i]))
            ln = _LOWEST_LN
            if probability > 0:
                ln = max(np.float32(math.log(probability)), _LOWEST_LN)
            total += weights[i] * np.float64(ln)
        sums[line] = total


def best_of_runs(
    values: NDArray[np.float64],
    candidates: NDArray[np.bool_],
    run_offsets: NDArray[np.int64],
    most: int,
) -> NDArray[np.bool_]:
    """Choose the best lines of each run; of equally good ones those that come first.

    Args:
        values: (lines,) What is compared.
        candidates: (lines,) Which lines may be chosen.
        run_offsets: (runs + 1,) Where the runs begin, then the number of lines.
        most: How many to choose of a run.

    Returns:
        (lines,) bool.
    """
    lines = np.flatnonzero(candidates)
    runs = np.repeat(np.arange(run_offsets.size - 1), np.diff(run_offsets))[lines]
    order = np.lexsort((-values[lines], runs))  # stable
    rank = np.arange(lines.size) - np.searchsorted(runs, runs)
    chosen = np.zeros(candidates.size, np.bool_)
    # sorted by runs as the lines are, so the ranks are those of the sorted lines
    chosen[lines[order[rank < most]]] = True
    return chosen
