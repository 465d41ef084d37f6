"""The expected corpus score: smooth in the weights, so that a gradient leads to a good region.

Every sentence chooses its candidates at random with probability proportional to exp(sharpness
times model score); the objective of the expected statistics is the expected score (Smith and
Eisner 2006; Rosti et al. 2010). At low sharpness it has few local optima, at high sharpness it
becomes the score of the single best candidates. Annealing climbs it at rising sharpness.

Weights are measured by the spread of their features, so that sharpness means the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import leaf
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.climbing import Region
from tuning.optimizers.line_search import Point, point_at

# deviations of the model score within a sentence: from nearly uniform to nearly decided
SHARPNESSES = (3.0, 6.0, 12.0, 25.0, 50.0)
_STEPS = 15
# ln of how much less likely than the best a candidate may be: the rest says nothing
LEAST_LN = -12.0
_RELATIVE_DIFFERENCE = 1e-4
_CONVERGED = 1e-3
_LONGEST_STEP = 0.5
_SHORTEST_STEP = 1e-8


class _Likely(NamedTuple):
    """The candidates that are likely at all; room for as many as there are candidates.

    Attributes:
        rows: Which candidates, sentence by sentence.
        probabilities: Of each.
        begins: (S + 1,) where each sentence's begin.
        sums: (K,) the expected statistics.
    """

    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    begins: NDArray[np.int64]
    sums: NDArray[np.float64]


@leaf
def _expect(pool: PoolArrays, point: Point, sharpness: float, likely: _Likely) -> None:
    """Find the likely candidates and the expected statistics."""
    count = 0
    likely.sums[:] = 0.0
    likely.begins[0] = 0
    for sentence in range(point.winners.size):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        least = point.scores[point.winners[sentence]] + LEAST_LN / sharpness
        first = count
        total = 0.0
        for row in range(begin, end):
            if point.scores[row] > least:
                likely.rows[count] = row
                chance = math.exp(sharpness * (point.scores[row] - least) + LEAST_LN)
                likely.probabilities[count] = chance
                total += chance
                count += 1
        for i in range(first, count):
            likely.probabilities[i] /= total
            for column in range(likely.sums.size):
                statistic = pool.statistics[likely.rows[i], column]
                likely.sums[column] += likely.probabilities[i] * statistic
        likely.begins[sentence + 1] = count


@leaf
def _differentiate(
    pool: PoolArrays,
    likely: _Likely,
    slopes: NDArray[np.float64],
    sharpness: float,
    worth: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> None:
    """Fill (F,) with sharpness times the covariance of a candidate's value and its features."""
    for sentence in range(likely.begins.size - 1):
        begin, end = likely.begins[sentence], likely.begins[sentence + 1]
        mean = 0.0
        for i in range(begin, end):
            worth[i] = 0.0
            for column in range(slopes.size):
                worth[i] += slopes[column] * pool.statistics[likely.rows[i], column]
            mean += likely.probabilities[i] * worth[i]
        for i in range(begin, end):
            worth[i] = sharpness * likely.probabilities[i] * (worth[i] - mean)
    for feature in range(gradient.size):
        total = 0.0
        for i in range(likely.begins[-1]):
            total += worth[i] * pool.features[feature, likely.rows[i]]
        gradient[feature] = total


def _slopes(objective: Objective, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The derivative of the objective by each summed statistic, by central differences."""
    slopes = np.zeros(len(sums))
    for column, size in enumerate((_RELATIVE_DIFFERENCE * sums).tolist()):
        if size > 0.0:
            moved = sums.copy()
            moved[column] += size
            above = objective_score(objective, moved)
            moved[column] -= 2 * size
            slopes[column] = (above - objective_score(objective, moved)) / (2 * size)
    return slopes


def expected_score(
    pool: PoolArrays, weights: NDArray[np.float64], sharpness: float, objective: Objective
) -> tuple[float, NDArray[np.float64]]:
    """Return the expected score, and its gradient by the weights.

    Args:
        pool: The candidates.
        weights: (F,).
        sharpness: What model scores are multiplied with.
        objective: What is expected.
    """
    candidates, columns = pool.statistics.shape
    likely = _Likely(
        np.empty(candidates, np.int64), np.empty(candidates),
        np.empty(len(pool.starts), np.int64), np.empty(columns),
    )  # fmt: skip
    _expect(pool, point_at(pool, weights), sharpness, likely)
    gradient = np.empty(len(weights))
    worth = np.empty(int(likely.begins[-1]))
    slopes = _slopes(objective, likely.sums)
    _differentiate(pool, likely, slopes, sharpness, worth, gradient)
    return objective_score(objective, likely.sums), gradient


class _Ascent:
    """Gradient ascent with Barzilai-Borwein steps, in weights measured by their spread."""

    def __init__(
        self, pool: PoolArrays, region: Region, objective: Objective, sharpness: float
    ) -> None:
        self._pool, self._region, self._objective = pool, region, objective
        self._sharpness = sharpness
        self._free = np.zeros(len(region.spread), bool)
        self._free[region.free] = True

    def value(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the score and its gradient by free weights measured by their spread."""
        score, gradient = expected_score(self._pool, weights, self._sharpness, self._objective)
        gradient = np.where(self._free, gradient * self._region.spread, 0.0)
        if self._region.scalable:
            # a change that only scales the weights is not a direction
            scaled = weights / self._region.spread
            gradient -= (gradient @ scaled) / (scaled @ scaled) * scaled
        return score, gradient

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
        score, gradient = self.value(weights)
        length = 0.1
        for _ in range(_STEPS):
            size, steepness = np.linalg.norm(weights / spread), np.linalg.norm(gradient)
            if steepness == 0.0:
                break
            factor = min(length, _LONGEST_STEP * size) / steepness
            while factor * steepness > _SHORTEST_STEP * size:
                moved = self.allowed(weights / spread + factor * gradient)
                new_score, new_gradient = self.value(moved)
                if new_score > score:
                    break
                factor *= 0.3
            else:
                break
            change = (moved - weights) / spread
            bend = float(change @ (gradient - new_gradient))
            weights, score, gradient = moved, new_score, new_gradient
            if np.linalg.norm(change) < _CONVERGED * size:
                break
            steepness = np.linalg.norm(gradient)
            straight = float(change @ change)
            length = steepness * straight / bend if bend > 0.0 else 2 * np.sqrt(straight)
        return weights


def anneal(
    pool: PoolArrays,
    weights: NDArray[np.float64],
    region: Region,
    objective: Objective,
    sharpnesses: Sequence[float] = SHARPNESSES,
) -> NDArray[np.float64]:
    """Return weights of high expected score, found by climbing at rising sharpness.

    Args:
        pool: The candidates.
        weights: (F,) where to begin.
        region: Where weights may be.
        objective: What is expected.
        sharpnesses: One climb for each.
    """
    for sharpness in sharpnesses:
        if not region.scalable:
            size = float(np.linalg.norm((weights / region.spread)[region.free]))
            sharpness /= size or 1.0
        weights = _Ascent(pool, region, objective, sharpness).climb(weights)
    return weights
