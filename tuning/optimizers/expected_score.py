"""The expected corpus score: smooth in the weights, so that a gradient leads to a good region.

Every sentence chooses its candidates at random with probability proportional to exp(sharpness
times model score); the objective of the expected statistics is the expected score (Smith and
Eisner 2006; Rosti et al. 2010). At low sharpness it has few local optima, at high sharpness it
becomes the score of the single best candidates. Annealing climbs it at rising sharpness.

Weights are measured by the spread of their features, so that sharpness means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.climbing import Region
from tuning.optimizers.line_search import combine

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
    """The candidates that are likely at all.

    Attributes:
        rows: Which candidates, sentence by sentence.
        probabilities: Of each.
        begins: (S + 1,) where each sentence's begin.
    """

    rows: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    begins: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _expectation(pool: PoolArrays, weights: Any, sharpness: float, sums: Any) -> _Likely:
    """Find the likely candidates, and fill (K,) the expected statistics."""
    count = 0
    candidates = pool.features.shape[1]
    rows, probabilities = np.empty(candidates, np.int64), np.empty(candidates)
    begins = np.zeros(len(pool.starts), np.int64)
    scores = np.empty(candidates)
    sums[:] = 0.0
    for sentence in range(len(pool.starts) - 1):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        values = scores[begin:end]
        combine(pool.features, begin, end, weights, values)
        least = values.max() + LEAST_LN / sharpness if begin < end else 0.0
        first = count
        total = 0.0
        for i in range(len(values)):
            if values[i] > least:
                rows[count] = begin + i
                probabilities[count] = np.exp(sharpness * (values[i] - least) + LEAST_LN)
                total += probabilities[count]
                count += 1
        for i in range(first, count):
            probabilities[i] /= total
            for column in range(len(sums)):
                sums[column] += probabilities[i] * pool.statistics[rows[i], column]
        begins[sentence + 1] = count
    return _Likely(rows, probabilities, begins)


@njit(cache=True, nogil=True)
def _slopes(sums: Any, shares: Any) -> Any:
    """The derivative of the objective by each summed statistic, by central differences."""
    slopes = np.zeros(len(sums))
    for column in range(len(sums)):
        size = _RELATIVE_DIFFERENCE * sums[column]
        if size > 0.0:
            moved = sums.copy()
            moved[column] += size
            above = score_of_sums(moved, shares)
            moved[column] -= 2 * size
            slopes[column] = (above - score_of_sums(moved, shares)) / (2 * size)
    return slopes


@njit(cache=True, nogil=True)
def _gradient(
    pool: PoolArrays, likely: _Likely, slopes: Any, sharpness: float, gradient: Any
) -> None:
    """Fill (F,) with sharpness times the covariance of a candidate's value and its features."""
    gradient[:] = 0.0
    worth = np.empty(len(likely.rows))
    for sentence in range(len(likely.begins) - 1):
        begin, end = likely.begins[sentence], likely.begins[sentence + 1]
        mean = 0.0
        for i in range(begin, end):
            worth[i] = 0.0
            for column in range(len(slopes)):
                worth[i] += slopes[column] * pool.statistics[likely.rows[i], column]
            mean += likely.probabilities[i] * worth[i]
        for i in range(begin, end):
            worth[i] = sharpness * likely.probabilities[i] * (worth[i] - mean)
    for feature in range(len(gradient)):
        total = 0.0
        for i in range(likely.begins[-1]):
            total += worth[i] * pool.features[feature, likely.rows[i]]
        gradient[feature] = total


@njit(cache=True, nogil=True)
def expected_score(
    pool: PoolArrays, weights: Any, sharpness: float, shares: Any, gradient: Any
) -> float:
    """Return the expected score, and fill its gradient by the weights.

    Args:
        pool: The candidates.
        weights: (F,).
        sharpness: What model scores are multiplied with.
        shares: (3,) of the objective's metrics.
        gradient: (F,) filled.
    """
    sums = np.empty(pool.statistics.shape[1])
    likely = _expectation(pool, weights, sharpness, sums)
    _gradient(pool, likely, _slopes(sums, shares), sharpness, gradient)
    return score_of_sums(sums, shares)


class _Ascent:
    """Gradient ascent with Barzilai-Borwein steps, in weights measured by their spread."""

    def __init__(
        self, pool: PoolArrays, region: Region, shares: tuple[float, float, float], sharpness: float
    ) -> None:
        self._pool, self._region, self._shares = pool, region, shares
        self._sharpness = sharpness
        self._scalable = bool(region.scalable[0])
        self._free = np.zeros(len(region.spread), bool)
        self._free[region.free] = True

    def value(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the score and its gradient by free weights measured by their spread."""
        gradient = np.zeros(len(weights))
        score = expected_score(self._pool, weights, self._sharpness, self._shares, gradient)
        gradient = np.where(self._free, gradient * self._region.spread, 0.0)
        if self._scalable:
            # a change that only scales the weights is not a direction
            scaled = weights / self._region.spread
            gradient -= (gradient @ scaled) / (scaled @ scaled) * scaled
        return score, gradient

    def allowed(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights within their bounds, of size 1 if they are scalable."""
        weights = np.clip(scaled * self._region.spread, self._region.lower, self._region.upper)
        if self._scalable:
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
    shares: tuple[float, float, float],
    sharpnesses: Sequence[float] = SHARPNESSES,
) -> NDArray[np.float64]:
    """Return weights of high expected score, found by climbing at rising sharpness.

    Args:
        pool: The candidates.
        weights: (F,) where to begin.
        region: Where weights may be.
        shares: (3,) of the objective's metrics.
        sharpnesses: One climb for each.
    """
    for sharpness in sharpnesses:
        if not region.scalable[0]:
            size = float(np.linalg.norm((weights / region.spread)[region.free]))
            sharpness /= size or 1.0
        weights = _Ascent(pool, region, shares, sharpness).climb(weights)
    return weights
