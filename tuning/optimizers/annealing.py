"""Annealing: the expected score is climbed at rising sharpness, from optimum to optimum.

Weights are measured by the spread of their features, so that sharpness means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.climbing import Region
from tuning.optimizers.expected_score import ExpectedScore
from tuning.optimizers.workers import Workers

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
