"""Climbing to a local optimum of the corpus score by line searches along single weights.

Directions are taken a few at a time, in random order. All of a few start from the same point, and
the best step of them is taken. A pass over all directions that gains nothing ends the climb.

Full lines are searched in the first passes only, if at all. Afterwards steps longer than a part of
the weights themselves hardly ever gain anything, and a line that ends costs a third.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuning.optimizers.line_search import LineSearch
from tuning.optimizers.points import point_at
from tuning.optimizers.workers import Workers

# a gain smaller than this is rounding
_GAIN = 1e-9
# how far a line that ends goes, as a part of the size of the weights
_REACH = 0.2
# directions that start from the same point
_AT_ONCE = 4


class Region(NamedTuple):
    """Where weights may be.

    Attributes:
        free: The numbers of the weights that may change.
        lower: (F,) the least each weight may be.
        upper: (F,) the most.
        spread: (F,) a typical size of each weight: one over the deviation of its feature among
            the candidates of a sentence.
        scalable: Whether all weights may be multiplied by the same factor, so that they are kept
            at a sum of absolute values of 1.
    """

    free: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    spread: NDArray[np.float64]
    scalable: bool


def _ends(weights: NDArray[np.float64], region: Region, reach: float) -> NDArray[np.float64]:
    """Return (F, 2) how far the line along each weight goes, by reach and bounds."""
    size = np.linalg.norm((weights / region.spread)[region.free])
    lengths = reach * size * region.spread
    ends = np.empty((len(weights), 2))
    np.minimum(np.maximum(-lengths, region.lower - weights), 0.0, out=ends[:, 0])
    np.maximum(np.minimum(lengths, region.upper - weights), 0.0, out=ends[:, 1])
    return ends


def climb(
    search: LineSearch,
    weights: NDArray[np.float64],
    region: Region,
    full_passes: int,
    seed: int,
    workers: Workers,
) -> tuple[NDArray[np.float64], float, int]:
    """Climb from a point.

    Args:
        search: Over the pool of candidates.
        weights: (F,) where to begin.
        region: Where weights may be.
        full_passes: How many passes search full lines.
        seed: For the order.
        workers: Help with lines that start from the same point.

    Returns:
        (F,) the weights reached, their score, and how many lines were searched.
    """
    rng = np.random.RandomState(seed)
    axes = np.eye(len(weights))
    point = point_at(search.pool, weights, workers)
    best = -np.inf
    lines = passes = 0
    gained = True
    while gained:
        gained = False
        reach = np.inf if passes < full_passes else _REACH
        ends = _ends(weights, region, reach)
        order = np.empty_like(region.free)
        order[rng.permutation(len(order))] = region.free
        for begin in range(0, len(order), _AT_ONCE):
            features = order[begin : begin + _AT_ONCE]
            found = search.along(point, axes[features], ends[features], workers)
            lines += len(found)
            scores = [score for _, score in found]
            score = max(scores)
            chosen = scores.index(score)
            if score > best + _GAIN:
                best = score
                weights = weights + found[chosen][0] * axes[features[chosen]]
                if region.scalable:
                    weights /= np.abs(weights).sum()
                point = point_at(search.pool, weights, workers)
                ends = _ends(weights, region, reach)
                gained = True
        passes += 1
    return weights, best, lines
