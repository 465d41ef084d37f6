"""Annealing: climbs the expected score at rising sharpness, from one optimum to the next.

Suppose that every sentence chooses its candidate at random, with probability proportional to
exp(sharpness times model score). The objective of the expected statistics is then called the
expected score (Smith and Eisner 2006; Rosti et al. 2010). The expected score is smooth in the
weights, so its gradient can lead to a good region. At low sharpness there are few local optima; at
high sharpness the expected score approaches the objective of the candidates with the highest model
scores.

Each weight is measured in units of its ``Region.spread``, so that a sharpness has the same effect
on every pool. On average over seeds 1 to 5, MERT reaches BLEU 59.68 with annealing and 59.46
without on the golden lists of the tests, and 37.50 and 37.25 on the bundled lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import Floats, Indices, Point, PoolArrays, score_candidates
from tuning.optimizers.optimizer import Region, Weights
from tuning.optimizers.workers import Workers

# a probability counts as 0 if ln of its ratio to the best candidate's probability is below this
LEAST_LN = -12.0
_RELATIVE_DIFFERENCE = 1e-4  # step of the central differences
# for weights of size 1: from nearly uniform to nearly deterministic choices
SHARPNESSES = (3.0, 6.0, 12.0, 25.0, 50.0)
_STEPS = 15
_CONVERGED = 1e-3
_FIRST_STEP, _LONGEST_STEP, _SHORTEST_STEP = 0.1, 0.5, 1e-8


# arguments are arrays, not named tuples, which numba unpacks slowly at each call from Python
@compiled
def _fill_probabilities(
    starts: Indices, scores: Floats, winners: Indices, sharpness: float, probabilities: Floats
) -> None:
    """Fill each candidate's probability: exp(sharpness * score), divided by the sentence's sum.

    Scores are taken relative to the sentence's highest score, so that exp cannot overflow.
    """
    for sentence in range(winners.size):
        begin, end = starts[sentence], starts[sentence + 1]
        if begin == end:
            continue  # a sentence without candidates has no winner
        lowest = scores[winners[sentence]] + LEAST_LN / sharpness
        total = 0.0
        for row in range(begin, end):
            chance = 0.0
            if scores[row] > lowest:
                chance = math.exp(sharpness * (scores[row] - lowest) + LEAST_LN)
                total += chance
            probabilities[row] = chance
        for row in range(begin, end):
            probabilities[row] /= total


@compiled
def _fill_factors(
    slopes: Floats,
    sharpness: float,
    statistics: NDArray[np.int16],
    starts: Indices,
    probabilities: Floats,
    factors: Floats,
) -> None:
    """Fill the derivative of the expected score with respect to each candidate's model score.

    The derivative is ``sharpness`` · p · (v - E[v]). Here p is the candidate's probability,
    v = slopes · statistics is its linearised value, and E[v] is the mean of v over the sentence,
    weighted by p.
    """
    for sentence in range(starts.size - 1):
        begin, end = starts[sentence], starts[sentence + 1]
        mean = 0.0
        for row in range(begin, end):
            factors[row] = 0.0
            if probabilities[row] > 0.0:
                value = 0.0
                for column in range(slopes.size):
                    value += slopes[column] * statistics[row, column]
                factors[row] = value
                mean += probabilities[row] * value
        for row in range(begin, end):
            factors[row] = sharpness * probabilities[row] * (factors[row] - mean)


@compiled
def _weighted_sums(
    values: NDArray[np.int16] | NDArray[np.float32], factors: Floats, sums: Floats
) -> None:
    """Fill (N,) ``sums`` with (N, C) values times (C,) factors, summed over candidates."""
    sums[:] = 0.0
    for candidate in range(factors.size):
        if factors[candidate] != 0.0:
            for row in range(sums.size):
                sums[row] += factors[candidate] * values[row, candidate]


class ExpectedScore:
    """The expected score at one point, and its gradient on demand.

    Args:
        pool: The candidates.
        objective: The score to take the expectation of.
        workers: Threads that share the work. Each sum is computed by one thread, in a fixed order,
            so the number of threads does not change the result.
        sharpness: The factor on model scores.
        weights: (F,) the point.

    Attributes:
        score: The expected score.
    """

    def __init__(
        self,
        pool: PoolArrays,
        objective: Objective,
        workers: Workers,
        sharpness: float,
        weights: Weights,
    ) -> None:
        self._pool, self._sharpness, self._objective = pool, sharpness, objective
        self._workers = workers
        candidates, sentences = len(pool.statistics), len(pool.starts) - 1
        point = Point(np.empty(candidates), np.empty(sentences, np.int64))
        self._probabilities = np.empty(candidates)

        def expect(part: slice) -> None:
            starts, winners = pool.starts[part.start : part.stop + 1], point.winners[part]
            score_candidates(pool.features, starts, weights, point.scores, winners)
            _fill_probabilities(starts, point.scores, winners, sharpness, self._probabilities)

        workers.share(expect, sentences)
        self._sums = np.empty(pool.statistics.shape[1])
        _weighted_sums(pool.statistics.T, self._probabilities, self._sums)
        self.score = objective_score(objective, self._sums)

    def gradient(self) -> Weights:
        """Return (F,) sharpness times the covariance of the candidates' values and features."""
        pool, slopes, probabilities = self._pool, self._slopes(), self._probabilities
        factors, gradient = np.empty(len(pool.statistics)), np.empty(len(pool.features))

        def fill_factors(part: slice) -> None:
            starts = pool.starts[part.start : part.stop + 1]
            _fill_factors(slopes, self._sharpness, pool.statistics, starts, probabilities, factors)

        def add_features(part: slice) -> None:
            _weighted_sums(pool.features[part], factors, gradient[part])

        self._workers.share(fill_factors, len(pool.starts) - 1)
        self._workers.share(add_features, len(gradient))
        return gradient

    def _slopes(self) -> Floats:
        """Return the derivative of the objective in each sum, by central differences."""
        slopes = np.zeros(len(self._sums))
        for column, value in enumerate(self._sums.tolist()):
            size = _RELATIVE_DIFFERENCE * value
            if size > 0.0:
                moved = self._sums.copy()
                moved[column] += size
                above = objective_score(self._objective, moved)
                moved[column] -= 2 * size
                slopes[column] = (above - objective_score(self._objective, moved)) / (2 * size)
        return slopes


def _gradient(weights: Weights, expected: ExpectedScore, region: Region) -> Weights:
    """Return (F,) the gradient for free weights in units of their spread; 0 for fixed weights."""
    gradient = np.zeros(len(weights))
    gradient[region.free] = (expected.gradient() * region.spread)[region.free]
    if region.scalable:
        # scaling all weights changes nothing, so remove the component in that direction
        scaled = weights / region.spread
        gradient -= (gradient @ scaled) / (scaled @ scaled) * scaled
    return gradient


def _allowed(scaled: Weights, region: Region) -> Weights:
    """Convert weights from units of their spread; scalable weights get size 1 in these units."""
    weights = scaled * region.spread
    return weights / np.linalg.norm(weights / region.spread) if region.scalable else weights


def _climb(weights: Weights, region: Region, expect: Callable[[Weights], ExpectedScore]) -> Weights:
    """Return the weights after at most ``_STEPS`` uphill steps from a point.

    This is gradient ascent with Barzilai-Borwein steps, on weights in units of their spread.
    """
    spread = region.spread
    weights = _allowed(weights / spread, region)
    expected = expect(weights)
    gradient = _gradient(weights, expected, region)
    length = _FIRST_STEP
    for _ in range(_STEPS):
        size, steepness = np.linalg.norm(weights / spread), np.linalg.norm(gradient)
        if steepness == 0.0:
            break
        factor = min(length, _LONGEST_STEP * size) / steepness
        while factor * steepness > _SHORTEST_STEP * size:
            moved = _allowed(weights / spread + factor * gradient, region)
            reached = expect(moved)
            if reached.score > expected.score:
                break
            factor *= 0.3
        else:
            break
        change = (moved - weights) / spread
        weights, expected = moved, reached
        if np.linalg.norm(change) < _CONVERGED * size:
            break
        # Barzilai and Borwein: the next step is |s|² / (s · y), where s is the change of the
        # weights and y is the decrease of the gradient
        old_gradient, gradient = gradient, _gradient(weights, expected, region)
        bend = float(change @ (old_gradient - gradient))
        straight = float(change @ change)
        steepness = np.linalg.norm(gradient)
        length = steepness * straight / bend if bend > 0.0 else 2 * np.sqrt(straight)
    return weights


def anneal(
    pool: PoolArrays,
    weights: Weights,
    region: Region,
    objective: Objective,
    workers: Workers,
    sharpnesses: Sequence[float] = SHARPNESSES,
) -> Weights:
    """Return weights of high expected score, found by climbing at rising sharpness.

    Args:
        pool: The candidates.
        weights: (F,) the point to begin at.
        region: The region that weights may be in.
        objective: The score to take the expectation of.
        workers: Threads that share the work.
        sharpnesses: The sharpness of each climb, in order.
    """
    for sharpness in sharpnesses:
        if not region.scalable:
            size = float(np.linalg.norm((weights / region.spread)[region.free]))
            sharpness /= size or 1.0
        expect = partial(ExpectedScore, pool, objective, workers, sharpness)
        weights = _climb(weights, region, expect)
    return weights
