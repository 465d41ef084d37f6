"""The expected corpus score: smooth in the weights, so that a gradient leads to a good region.

Every sentence chooses its candidates at random with probability proportional to exp(sharpness
times model score); the objective of the expected statistics is the expected score (Smith and
Eisner 2006; Rosti et al. 2010). At low sharpness it has few local optima, at high sharpness it
becomes the score of the single best candidates.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.points import Point, score_candidates
from tuning.optimizers.workers import Workers

# ln of how much less likely than the best a candidate may be: the rest says nothing
LEAST_LN = -12.0
_RELATIVE_DIFFERENCE = 1e-4
# likely candidates of all sentences together: with fewer, sharing takes longer than it saves
_FEW = 10_000


# what Python calls takes arrays, not named tuples: numba takes long to look at those
@compiled
def _expect(
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    winners: NDArray[np.int64],
    sharpness: float,
    rows: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    ends: NDArray[np.int64],
) -> None:
    """Find the likely candidates of some sentences; the fields of ``_Likely`` are filled."""
    for sentence in range(winners.size):
        begin, end = starts[sentence], starts[sentence + 1]
        ends[sentence] = begin
        if begin == end:
            continue  # a sentence without candidates has no winner
        least = scores[winners[sentence]] + LEAST_LN / sharpness
        count = begin
        total = 0.0
        for row in range(begin, end):
            if scores[row] > least:
                rows[count] = row
                chance = math.exp(sharpness * (scores[row] - least) + LEAST_LN)
                probabilities[count] = chance
                total += chance
                count += 1
        for i in range(begin, count):
            probabilities[i] /= total
        ends[sentence] = count


@compiled
def _value(
    slopes: NDArray[np.float64],
    sharpness: float,
    statistics: NDArray[np.int16],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    ends: NDArray[np.int64],
    worth: NDArray[np.float64],
) -> None:
    """Find what the likely candidates of some sentences are worth: their part of the gradient."""
    for sentence in range(ends.size):
        begin, end = starts[sentence], ends[sentence]
        mean = 0.0
        for i in range(begin, end):
            value = 0.0
            for column in range(slopes.size):
                value += slopes[column] * statistics[rows[i], column]
            worth[i] = value
            mean += probabilities[i] * value
        for i in range(begin, end):
            worth[i] = sharpness * probabilities[i] * (worth[i] - mean)


@compiled
def _add_statistics(
    statistics: NDArray[np.int16],
    probabilities: NDArray[np.float64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> int:
    """Fill ``sums`` with the expected statistics; return how many candidates are likely."""
    sums[:] = 0.0
    count = 0
    for sentence in range(ends.size):
        count += ends[sentence] - starts[sentence]
        for i in range(starts[sentence], ends[sentence]):
            row, probability = rows[i], probabilities[i]
            for column in range(sums.size):
                sums[column] += probability * statistics[row, column]
    return count


@compiled
def _add_up(
    values: NDArray[np.float32],
    first: int,
    factors: NDArray[np.float64],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    ends: NDArray[np.int64],
    sums: NDArray[np.float64],
) -> None:
    """Fill ``sums`` with those of (F, C) values from ``first`` on, each times its factor.

    An addition waits for the one before, so four sums are formed abreast.
    """
    for place in range(0, sums.size, 4):
        last = sums.size - 1
        p, q, r = min(place + 1, last), min(place + 2, last), min(place + 3, last)
        a = b = c = d = 0.0
        for sentence in range(ends.size):
            for i in range(starts[sentence], ends[sentence]):
                row, factor = rows[i], factors[i]
                a += factor * values[first + place, row]
                b += factor * values[first + p, row]
                c += factor * values[first + q, row]
                d += factor * values[first + r, row]
        sums[place], sums[p], sums[q], sums[r] = a, b, c, d


def _slopes(objective: Objective, sums: list[float]) -> NDArray[np.float64]:
    """The derivative of the objective by each summed statistic, by central differences."""
    slopes = np.zeros(len(sums))
    for column, value in enumerate(sums):
        size = _RELATIVE_DIFFERENCE * value
        if size > 0.0:
            moved = sums.copy()
            moved[column] += size
            above = objective_score(objective, moved)
            moved[column] -= 2 * size
            slopes[column] = (above - objective_score(objective, moved)) / (2 * size)
    return slopes


class ExpectedScore:
    """The expected score of a point, and on demand its gradient.

    Args:
        pool: The candidates.
        weights: (F,).
        sharpness: What model scores are multiplied with.
        objective: What is expected.
        workers: Threads that share the work. Each sum is formed by one of them in one order, so
            their number changes nothing.

    Attributes:
        score: The expected score.
    """

    def __init__(
        self,
        pool: PoolArrays,
        weights: NDArray[np.float64],
        sharpness: float,
        objective: Objective,
        workers: Workers,
    ) -> None:
        self._pool, self._sharpness, self._objective = pool, sharpness, objective
        self._workers = workers
        candidates, sentences = len(pool.statistics), len(pool.starts) - 1
        # the likely candidates of a sentence, and the probability of each, stand where its
        # candidates begin; there they end
        self._rows = np.empty(candidates, np.int64)
        self._probabilities = np.empty(candidates)
        self._ends = np.empty(sentences, np.int64)
        point = Point(np.empty(candidates), np.empty(sentences, np.int64))

        def expect(part: slice) -> None:
            starts, winners = pool.starts[part.start : part.stop + 1], point.winners[part]
            score_candidates(pool.features, starts, weights, point.scores, winners)
            ends = self._ends[part]
            _expect(starts, point.scores, winners, sharpness, self._rows, self._probabilities, ends)

        workers.share_range(expect, sentences)
        sums = np.empty(pool.statistics.shape[1])
        likely = pool.starts, self._rows, self._ends
        self._likely = _add_statistics(pool.statistics, self._probabilities, *likely, sums)
        # in Python's own numbers, whose arithmetic is quicker
        self._sums: list[float] = sums.tolist()
        self.score = objective_score(objective, self._sums)

    def gradient(self) -> NDArray[np.float64]:
        """Return (F,) sharpness times the covariance of a candidate's value and its features."""
        pool, slopes = self._pool, _slopes(self._objective, self._sums)
        worth, gradient = np.empty(len(self._rows)), np.empty(len(pool.features))

        def value(part: slice) -> None:
            _value(
                slopes, self._sharpness, pool.statistics, pool.starts[part], self._rows,
                self._probabilities, self._ends[part], worth,
            )  # fmt: skip

        def add_up(part: slice) -> None:
            likely = pool.starts, self._rows, self._ends
            _add_up(pool.features, part.start, worth, *likely, gradient[part])

        for work, count in ((value, len(self._ends)), (add_up, len(gradient))):
            if self._likely < _FEW:
                work(slice(0, count))
            else:
                self._workers.share_range(work, count)
        return gradient
