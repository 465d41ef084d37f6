"""Annealing: the expected score is climbed at rising sharpness, from optimum to optimum.

Every sentence chooses its candidates at random with probability proportional to exp(sharpness
times model score); the objective of the expected statistics is the expected score (Smith and
Eisner 2006; Rosti et al. 2010). It is smooth in the weights, so that a gradient leads to a good
region. At low sharpness it has few local optima, at high sharpness it becomes the score of the
single best candidates.

Weights are measured by the spread of their features, so that sharpness means the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import Point, PoolArrays, score_candidates
from tuning.optimizers.optimizer import Region
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


# deviations of the model score within a sentence: from nearly uniform to nearly decided
SHARPNESSES = (3.0, 6.0, 12.0, 25.0, 50.0)
_STEPS = 15
_CONVERGED = 1e-3
_LONGEST_STEP = 0.5
_SHORTEST_STEP = 1e-8


class _Ascent:
    """Gradient ascent with Barzilai-Borwein steps, in weights measured by their spread."""

    def __init__(
        self,
        pool: PoolArrays,
        region: Region,
        objective: Objective,
        sharpness: float,
        workers: Workers,
    ) -> None:
        self._region = region
        self._expected = partial(
            ExpectedScore, pool=pool, sharpness=sharpness, objective=objective, workers=workers
        )
        self._free = np.zeros(len(region.spread), bool)
        self._free[region.free] = True

    def gradient(
        self, weights: NDArray[np.float64], expected: ExpectedScore
    ) -> NDArray[np.float64]:
        """Return the gradient at some weights by free weights measured by their spread."""
        gradient = np.where(self._free, expected.gradient() * self._region.spread, 0.0)
        if self._region.scalable:
            # a change that only scales the weights is not a direction
            scaled = weights / self._region.spread
            gradient -= (gradient @ scaled) / (scaled @ scaled) * scaled
        return gradient

    def allowed(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights within their bounds, of size 1 if they are scalable."""
        weights = np.clip(scaled * self._region.spread, self._region.lower, self._region.upper)
        if self._region.scalable:
            weights = weights / np.linalg.norm(weights / self._region.spread)
        return weights

    def climb(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Climb from a point for a few steps."""
        spread = self._region.spread
        weights = self.allowed(weights / spread)
        expected = self._expected(weights=weights)
        gradient = self.gradient(weights, expected)
        length = 0.1
        for _ in range(_STEPS):
            size, steepness = np.linalg.norm(weights / spread), np.linalg.norm(gradient)
            if steepness == 0.0:
                break
            factor = min(length, _LONGEST_STEP * size) / steepness
            while factor * steepness > _SHORTEST_STEP * size:
                moved = self.allowed(weights / spread + factor * gradient)
                reached = self._expected(weights=moved)
                if reached.score > expected.score:
                    break
                factor *= 0.3
            else:
                break
            change = (moved - weights) / spread
            weights, expected = moved, reached
            if np.linalg.norm(change) < _CONVERGED * size:
                break
            old_gradient, gradient = gradient, self.gradient(weights, expected)
            bend = float(change @ (old_gradient - gradient))
            steepness = np.linalg.norm(gradient)
            straight = float(change @ change)
            length = steepness * straight / bend if bend > 0.0 else 2 * np.sqrt(straight)
        return weights


def anneal(
    pool: PoolArrays,
    weights: NDArray[np.float64],
    region: Region,
    objective: Objective,
    workers: Workers,
    sharpnesses: Sequence[float] = SHARPNESSES,
) -> NDArray[np.float64]:
    """Return weights of high expected score, found by climbing at rising sharpness.

    Args:
        pool: The candidates.
        weights: (F,) where to begin.
        region: Where weights may be.
        objective: What is expected.
        workers: Threads that share the work.
        sharpnesses: One climb for each.
    """
    for sharpness in sharpnesses:
        if not region.scalable:
            size = float(np.linalg.norm((weights / region.spread)[region.free]))
            sharpness /= size or 1.0
        weights = _Ascent(pool, region, objective, sharpness, workers).climb(weights)
    return weights
