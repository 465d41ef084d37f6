"""Exact line search (Och 2003): the best step along a direction in weight space, over all steps.

Along weights + x direction the corpus score is constant between neighbouring breakpoints of the
sentences' envelopes. All of them are merged from left to right, and every interval is scored.

Rules, each with a test:

* *nearest*: of intervals with the same best score the one nearest to step 0 wins, so that a
  search that gains nothing does not move;
* *middle*: the step goes to the middle of the interval, but stays at 0 if 0 lies within it; at a
  breakpoint two candidates tie, so that one at 0 belongs to neither interval beside it;
* *open ends*: beyond the first or last breakpoint the step goes on by a tenth of the distance
  from 0 of the farther of the two;
* *no breakpoint*: the step is 0;
* *narrow*: an interval narrower than a millionth of the distance between the quartiles of all
  breakpoints is ignored, because rounded weights could not hit it;
* *bounds*: only the part of the line within [low, high] counts; its ends are not open.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.envelope import (
    BREAKPOINT,
    KEPT,
    KEPT_INTERCEPT,
    KEPT_SLOPE,
    SENTENCE_SLOPE,
    WINNER,
    EnvelopeSpace,
    envelope,
    winner_at,
    workspace_for,
)

NARROW = 1e-6
BEYOND = 0.1
_FIRST_ROOM = 16
_BLOCK = 8


@njit(cache=True, nogil=True)
def combine(features: Any, begin: int, end: int, weights: Any, out: Any) -> None:
    """Fill ``out`` with the weighted sums of features of the candidates from begin to end."""
    # a slice, because compiled code would check begin + i for a negative index every time
    out[: end - begin] = 0.0
    for feature in range(len(weights)):
        weight = weights[feature]
        if weight != 0.0:
            values = features[feature, begin:end]
            for i in range(len(values)):
                out[i] += weight * values[i]


class Point(NamedTuple):
    """A point in weight space as the pool sees it.

    Attributes:
        scores: (C,) the model scores of all candidates.
        winners: (S,) the best candidate of each sentence, the first of equals; -1 if none.
    """

    scores: NDArray[np.float64]
    winners: NDArray[np.int64]


@njit(cache=True, nogil=True)
def point_at(pool: PoolArrays, weights: Any) -> Point:
    """Score all candidates with (F,) weights."""
    scores = np.empty(pool.features.shape[1])
    winners = np.full(len(pool.starts) - 1, -1, np.int64)
    for sentence in range(len(winners)):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        if begin < end:
            combine(pool.features, begin, end, weights, scores[begin:end])
            winners[sentence] = begin + winner_at(scores[begin:end], scores[begin:end], 0.0)
    return Point(scores, winners)


@njit(cache=True, nogil=True)
def _grown(array: Any, least: int) -> Any:
    longer = np.empty(max(least, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _workspace_of(pool: PoolArrays) -> EnvelopeSpace:
    most = 1
    for sentence in range(len(pool.starts) - 1):
        most = max(most, pool.starts[sentence + 1] - pool.starts[sentence])
    return workspace_for(most)


@njit(cache=True, nogil=True)
def _contenders(
    slopes: Any, intercepts: Any, winner: int, low: float, high: float, space: EnvelopeSpace
) -> int:
    """List the candidates that can win between low and high; return how many.

    Their lead over the winner at 0 is linear in the step, so it is largest at an end.
    """
    slope, intercept = slopes[winner], intercepts[winner]
    space.places[KEPT, 0] = winner
    count = 1
    i = 0
    while i < len(slopes):
        end = min(i + _BLOCK, len(slopes))
        lead = 0.0
        if end == i + _BLOCK:
            # a block at a time, and a closer look only where one of them leads
            for j in range(i, i + _BLOCK):
                rise = slopes[j] - slope
                lead = max(lead, intercepts[j] - intercept + max(low * rise, high * rise))
        if lead > 0.0 or end < i + _BLOCK:
            for j in range(i, end):
                rise = slopes[j] - slope
                if intercepts[j] - intercept + max(low * rise, high * rise) > 0.0:
                    space.places[KEPT, count] = j
                    count += 1
        i = end
    return count


@njit(cache=True, nogil=True)
def _sentence_changes(
    slopes: Any, intercepts: Any, winner: int, low: float, high: float, space: EnvelopeSpace
) -> int:
    """Find one sentence's envelope between low and high; return the number of breakpoints.

    The row ``WINNER`` of ``space`` gets numbers of candidates of the sentence.
    """
    if low == -np.inf or high == np.inf:
        return envelope(slopes, intercepts, low, high, space)
    count = _contenders(slopes, intercepts, winner, low, high, space)
    space.places[WINNER, 0] = winner
    if count == 1:
        return 0
    for i in range(count):
        space.values[KEPT_SLOPE, i] = slopes[space.places[KEPT, i]]
        space.values[KEPT_INTERCEPT, i] = intercepts[space.places[KEPT, i]]
    kept_slopes = space.values[KEPT_SLOPE, :count]
    kept_intercepts = space.values[KEPT_INTERCEPT, :count]
    changes = envelope(kept_slopes, kept_intercepts, low, high, space)
    for i in range(changes + 1):
        space.places[WINNER, i] = space.places[KEPT, space.places[WINNER, i]]
    return changes


@njit(cache=True, nogil=True)
def _changes(
    pool: PoolArrays,
    point: Point,
    direction: Any,
    low: float,
    high: float,
    sums: Any,
    space: EnvelopeSpace,
) -> tuple[Any, Any, Any]:
    """Find all changes of winner between low and high; ``sums`` gets the statistics at low.

    Returns:
        Where each change happens, and the candidate before and after it; in no order.
    """
    size = _FIRST_ROOM * len(pool.starts)
    where, before, after = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
    count = 0
    for sentence in range(len(pool.starts) - 1):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        if begin == end:
            continue
        slopes = space.values[SENTENCE_SLOPE, : end - begin]
        combine(pool.features, begin, end, direction, slopes)
        winner = point.winners[sentence] - begin
        changes = _sentence_changes(slopes, point.scores[begin:end], winner, low, high, space)
        first = begin + space.places[WINNER, 0]
        for column in range(len(sums)):
            sums[column] += pool.statistics[first, column]
        if count + changes > len(where):
            where = _grown(where, count + changes)
            before, after = _grown(before, count + changes), _grown(after, count + changes)
        for change in range(changes):
            where[count] = space.values[BREAKPOINT, change]
            before[count] = begin + space.places[WINNER, change]
            after[count] = begin + space.places[WINNER, change + 1]
            count += 1
    return where[:count], before[:count], after[:count]


@njit(cache=True, nogil=True)
def step_into(
    left: float, right: float, reach: float, left_is_bound: bool, right_is_bound: bool
) -> float:
    """Where to go in an interval, by the rules of the middle and of open ends."""
    from_left = left < 0.0 or (left_is_bound and left == 0.0)
    from_right = right > 0.0 or (right_is_bound and right == 0.0)
    if from_left and from_right:
        return 0.0
    if left == -np.inf:
        return right - BEYOND * reach
    if right == np.inf:
        return left + BEYOND * reach
    return 0.5 * (left + right)


@njit(cache=True, nogil=True)
def distance_of(left: float, right: float) -> float:
    """How far an interval is from 0."""
    return max(left, -right, 0.0)


@njit(cache=True, nogil=True)
def line_search(
    pool: PoolArrays,
    point: Point,
    direction: Any,
    low: float,
    high: float,
    shares: Any,
    space: EnvelopeSpace,
) -> tuple[float, float]:
    """Return the best step along one direction and the score it reaches.

    Args:
        pool: The candidates.
        point: Step 0.
        direction: (F,) how the weights change with the step.
        low: The smallest step allowed, at most 0; minus infinity where there is no bound.
        high: The largest step allowed, at least 0.
        shares: (3,) of the objective's metrics.
        space: To work in.
    """
    sums = np.zeros(pool.statistics.shape[1])
    where, before, after = _changes(pool, point, direction, low, high, sums, space)
    count = len(where)
    if count == 0:
        return 0.0, score_of_sums(sums, shares)
    order = np.argsort(where)
    first, last = where[order[0]], where[order[-1]]
    reach = max(abs(first), abs(last))
    if reach == 0.0:
        reach = 1.0
    narrow = NARROW * (where[order[3 * count // 4]] - where[order[count // 4]])
    best, best_step, best_distance = -np.inf, 0.0, np.inf
    left = low
    for place in range(count + 1):
        right = where[order[place]] if place < count else high
        if right - left > narrow:
            score = score_of_sums(sums, shares)
            distance = distance_of(left, right)
            if score > best or (score == best and distance < best_distance):
                best, best_distance = score, distance
                best_step = step_into(left, right, reach, place == 0, place == count)
        if place < count:
            change = order[place]
            for column in range(len(sums)):
                sums[column] += pool.statistics[after[change], column]
                sums[column] -= pool.statistics[before[change], column]
        left = right
    return best_step, best


@njit(cache=True, nogil=True)
def search_directions(
    pool: PoolArrays, point: Point, directions: Any, ranges: Any, shares: Any, found: Any
) -> None:
    """Search along D directions from the same point.

    Args:
        pool: The candidates.
        point: Step 0.
        directions: (D, F).
        ranges: (D, 2) smallest and largest step allowed.
        shares: (3,) of the objective's metrics.
        found: (D, 2) filled: the best step, and the score it reaches.
    """
    space = _workspace_of(pool)
    for i in range(len(directions)):
        low, high = ranges[i, 0], ranges[i, 1]
        step, score = line_search(pool, point, directions[i], low, high, shares, space)
        found[i, 0], found[i, 1] = step, score
