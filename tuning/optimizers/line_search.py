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

What is compiled works in arrays that numpy makes, so that little has to be compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import leaf
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.envelope import EnvelopeSpace, envelope
from tuning.optimizers.workers import Workers

NARROW = 1e-6
BEYOND = 0.1
_BLOCK = 8


@leaf
def combine(
    features: NDArray[np.float32],
    begin: int,
    end: int,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill ``out`` with the weighted sums of features of the candidates from begin to end."""
    # a slice, because compiled code would check begin + i for a negative index every time
    out[: end - begin] = 0.0
    for feature in range(weights.size):
        weight = weights[feature]
        if weight != 0.0:
            values = features[feature, begin:end]
            for i in range(values.size):
                out[i] += weight * values[i]


class Point(NamedTuple):
    """A point in weight space as the pool sees it.

    Attributes:
        scores: (C,) the model scores of all candidates.
        winners: (S,) the best candidate of each sentence, the first of equals; -1 if none.
    """

    scores: NDArray[np.float64]
    winners: NDArray[np.int64]


@leaf
def score_candidates(
    features: NDArray[np.float32],
    starts: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    winners: NDArray[np.int64],
) -> None:
    """Fill the fields of ``Point`` for the sentences whose candidates begin at ``starts``."""
    for sentence in range(winners.size):
        begin, end = starts[sentence], starts[sentence + 1]
        combine(features, begin, end, weights, scores[begin:end])
        best = begin
        for i in range(begin + 1, end):
            if scores[i] > scores[best]:
                best = i
        winners[sentence] = best if begin < end else -1


def point_at(
    pool: PoolArrays, weights: NDArray[np.float64], workers: Workers | None = None
) -> Point:
    """Score all candidates with (F,) weights; workers may share the sentences."""
    point = Point(np.empty(pool.features.shape[1]), np.empty(len(pool.starts) - 1, np.int64))

    def score(part: slice) -> None:
        starts, winners = pool.starts[part.start : part.stop + 1], point.winners[part]
        score_candidates(pool.features, starts, weights, point.scores, winners)

    if workers:
        workers.share_range(score, len(point.winners))
    else:
        score(slice(0, len(point.winners)))
    return point


class _Lines(NamedTuple):
    """What one search works in; pages of memory that no change comes to are never touched.

    Attributes:
        slopes: (N,) of the lines of a sentence of at most N candidates.
        kept: (N,) which of them can win.
        kept_slopes: (N,) of these alone.
        kept_intercepts: (N,) of these alone.
        winners: (N + 1,) the envelope of a sentence.
        breakpoints: (N,) where each winner gives way to the next.
        waiting: (N + 1,) see ``EnvelopeSpace``.
        sums: (K,) the statistics at the smallest step.
        where: (C,) where the winner of some sentence changes, in no order.
        before: (C,) the candidate that wins before each change.
        after: (C,) the one that wins after it.
    """

    slopes: NDArray[np.float64]
    kept: NDArray[np.int64]
    kept_slopes: NDArray[np.float64]
    kept_intercepts: NDArray[np.float64]
    winners: NDArray[np.int64]
    breakpoints: NDArray[np.float64]
    waiting: NDArray[np.int64]
    sums: NDArray[np.float64]
    where: NDArray[np.float64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


@leaf
def _keep(
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    winner: int,
    low: float,
    high: float,
    lines: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
) -> int:
    """Keep the candidates that can win between low and high; return how many.

    Their lead over the winner at 0 is linear in the step, so it is largest at an end.
    """
    kept, kept_slopes, kept_intercepts = lines
    slope, intercept = slopes[winner], intercepts[winner]
    kept[0], kept_slopes[0], kept_intercepts[0] = winner, slope, intercept
    count = 1
    for begin in range(0, slopes.size, _BLOCK):
        lead = 1.0
        if begin + _BLOCK <= slopes.size:
            # a block at a time, and a closer look only where one of them leads
            lead = 0.0
            for j in range(begin, begin + _BLOCK):
                rise = slopes[j] - slope
                lead = max(lead, intercepts[j] - intercept + max(low * rise, high * rise))
        if lead > 0.0:
            for j in range(begin, min(begin + _BLOCK, slopes.size)):
                rise = slopes[j] - slope
                kept[count], kept_slopes[count], kept_intercepts[count] = (
                    j,
                    slopes[j],
                    intercepts[j],
                )
                count += intercepts[j] - intercept + max(low * rise, high * rise) > 0.0
    return count


# numba takes long to look at a named tuple, so what Python calls takes arrays
@leaf
def _find_changes(
    direction: NDArray[np.float64],
    low: float,
    high: float,
    features: NDArray[np.float32],
    statistics: NDArray[np.int16],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    winners: NDArray[np.int64],
    line_slopes: NDArray[np.float64],
    kept: NDArray[np.int64],
    kept_slopes: NDArray[np.float64],
    kept_intercepts: NDArray[np.float64],
    found: NDArray[np.int64],
    breakpoints: NDArray[np.float64],
    waiting: NDArray[np.int64],
    sums: NDArray[np.float64],
    where: NDArray[np.float64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> int:
    """Find all changes of winner between low and high, and the sums at low; return how many.

    All but the first three arguments are the fields of the pool, of the point and of `_Lines`.
    """
    total = 0
    sums[:] = 0.0
    some = np.isfinite(low) and np.isfinite(high)
    for sentence in range(winners.size):
        begin, end = starts[sentence], starts[sentence + 1]
        if begin == end:
            continue
        slopes, intercepts = line_slopes[: end - begin], scores[begin:end]
        combine(features, begin, end, direction, slopes)
        if some:
            winner = winners[sentence] - begin
            lines = (kept, kept_slopes, kept_intercepts)
            count = _keep(slopes, intercepts, winner, low, high, lines)
            slopes, intercepts = kept_slopes[:count], kept_intercepts[:count]
        space = EnvelopeSpace(found, breakpoints, waiting)
        changes = envelope(slopes, intercepts, low, high, space)
        for change in range(changes + 1):
            column = begin + (kept[found[change]] if some else found[change])
            if change > 0:
                after[total] = column
                total += 1
            else:
                for k in range(sums.size):
                    sums[k] += statistics[column, k]
            if change < changes:
                where[total] = breakpoints[change]
                before[total] = column
    return total


@leaf
def _best_interval(
    statistics: NDArray[np.int16],
    sums: NDArray[np.float64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    order: NDArray[np.int64],
    edges: NDArray[np.float64],
    narrow: float,
    shares: NDArray[np.float64],
) -> tuple[int, float]:
    """Return which interval scores best, the nearest to 0 of equals, and its score.

    Args:
        statistics: (C, K) of the candidates.
        sums: (K,) at the smallest step; changes.
        before: Which candidate wins before each change.
        after: Which one wins after it.
        order: (N,) their order from left to right.
        edges: (N + 2,) where the intervals begin and end.
        narrow: The width up to which one is ignored.
        shares: (3,) of the objective's metrics.
    """
    best, best_place, best_distance = -np.inf, 0, np.inf
    for place in range(order.size + 1):
        if edges[place + 1] - edges[place] > narrow:
            score = score_of_sums(sums, shares)
            distance = max(edges[place], -edges[place + 1], 0.0)
            if score > best or (score == best and distance < best_distance):
                best, best_place, best_distance = score, place, distance
        if place < order.size:
            loser, winner = before[order[place]], after[order[place]]
            for k in range(sums.size):
                sums[k] += statistics[winner, k]
                sums[k] -= statistics[loser, k]
    return best_place, best


def step_into(
    left: float, right: float, reach: float, *, left_is_bound: bool, right_is_bound: bool
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


class LineSearch:
    """Searches along lines over a pool; several threads may share it.

    Args:
        pool: The candidates.
        shares: Of the objective's three metrics.
    """

    def __init__(self, pool: PoolArrays, shares: Sequence[float]) -> None:
        self.pool, self._shares = pool, np.array(shares, np.float64)
        self._own = threading.local()

    def _lines(self) -> _Lines:
        if not hasattr(self._own, "lines"):
            self._own.lines = self._new_lines()
        lines: _Lines = self._own.lines
        return lines

    def _new_lines(self) -> _Lines:
        most = int(np.diff(self.pool.starts).max(initial=0)) + _BLOCK
        candidates, columns = self.pool.statistics.shape
        return _Lines(
            np.empty(most), np.empty(most, np.int64), np.empty(most), np.empty(most),
            *EnvelopeSpace.of(most), np.empty(columns),
            np.empty(candidates), np.empty(candidates, np.int64), np.empty(candidates, np.int64),
        )  # fmt: skip

    def along(
        self, point: Point, direction: NDArray[np.float64], low: float, high: float
    ) -> tuple[float, float]:
        """Return the best step along a direction and the score it reaches.

        Args:
            point: Step 0.
            direction: (F,) how the weights change with the step.
            low: The smallest step allowed, at most 0; minus infinity where there is no bound.
            high: The largest step allowed, at least 0.
        """
        lines = self._lines()
        arrays = (*self.pool, *point, *lines)
        count = _find_changes(direction, low, high, *arrays)
        where = lines.where[:count]
        order = np.argsort(where)
        edges = np.empty(count + 2)
        edges[0], edges[1:-1], edges[-1] = low, where[order], high
        narrow = NARROW * (edges[1 + 3 * count // 4] - edges[1 + count // 4]) if count else -1.0
        place, score = _best_interval(
            self.pool.statistics, lines.sums, lines.before, lines.after, order, edges, narrow,
            self._shares,
        )  # fmt: skip
        if not count or score == -np.inf:
            return 0.0, score
        step = step_into(
            float(edges[place]),
            float(edges[place + 1]),
            max(abs(float(edges[1])), abs(float(edges[-2]))) or 1.0,
            left_is_bound=place == 0,
            right_is_bound=place == count,
        )
        return step, score
