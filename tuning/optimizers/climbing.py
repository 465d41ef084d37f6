"""Climbing to a local optimum of the corpus score by line searches along single weights.

Directions are taken a few at a time, in random order. All of a few start from the same point, and
the best step of them is taken. A pass over all directions that gains nothing ends the climb.

Full lines are searched in the first passes only, if at all. Afterwards steps longer than a part of
the weights themselves hardly ever gain anything, and a line that ends costs a third.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.line_search import point_at, search_directions

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
        scalable: One number, whether all weights may be multiplied by the same factor, so that
            they are kept at a sum of absolute values of 1.
    """

    free: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    spread: NDArray[np.float64]
    scalable: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _size(weights: Any, region: Region) -> float:
    """The root mean square of weights, each measured by its spread."""
    total = 0.0
    for feature in region.free:
        total += (weights[feature] / region.spread[feature]) ** 2
    return np.sqrt(total / len(region.free))


@njit(cache=True, nogil=True)
def _directions(weights: Any, region: Region) -> Any:
    """Single weights, in random order."""
    free = len(region.free)
    directions = np.zeros((free, len(weights)))
    order = np.random.permutation(free)
    for i in range(free):
        directions[order[i], region.free[i]] = 1.0
    return directions


@njit(cache=True, nogil=True)
def _ranges(weights: Any, directions: Any, region: Region, reach: float) -> Any:
    """How far each line goes, by reach and bounds."""
    ranges = np.empty((len(directions), 2))
    size = _size(weights, region)
    for i in range(len(directions)):
        length = _size(directions[i], region)
        high = reach * size / length if length > 0.0 else 0.0
        low = -high
        for feature in region.free:
            step = directions[i, feature]
            if step != 0.0:
                one = (region.lower[feature] - weights[feature]) / step
                other = (region.upper[feature] - weights[feature]) / step
                low, high = max(low, min(one, other)), min(high, max(one, other))
        ranges[i, 0], ranges[i, 1] = min(low, 0.0), max(high, 0.0)
    return ranges


@njit(cache=True, nogil=True)
def climb(
    pool: PoolArrays, weights: Any, region: Region, full_passes: int, shares: Any, seed: int
) -> tuple[Any, float, int]:
    """Climb from a point.

    Args:
        pool: The candidates.
        weights: (F,) where to begin.
        region: Where weights may be.
        full_passes: How many passes search full lines.
        shares: (3,) of the objective's metrics.
        seed: For the order.

    Returns:
        (F,) the weights reached, their score, and how many lines were searched.
    """
    np.random.seed(seed)
    weights = weights.copy()
    point = point_at(pool, weights)
    best = -np.inf
    lines = passes = 0
    gained = True
    while gained:
        gained = False
        reach = np.inf if passes < full_passes else _REACH
        directions = _directions(weights, region)
        for begin in range(0, len(directions), _AT_ONCE):
            some = directions[begin : begin + _AT_ONCE]
            found = np.empty((len(some), 2))
            ranges = _ranges(weights, some, region, reach)
            search_directions(pool, point, some, ranges, shares, found)
            lines += len(some)
            chosen = np.argmax(found[:, 1])
            if found[chosen, 1] > best + _GAIN:
                best = found[chosen, 1]
                weights += found[chosen, 0] * some[chosen]
                if region.scalable[0]:
                    weights /= np.abs(weights).sum()
                point = point_at(pool, weights)
                gained = True
        passes += 1
    return weights, best, lines
