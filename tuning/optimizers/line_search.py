"""Exact line search (Och 2003): finds the best of all steps along a direction in weight space.

At step x along a direction, the model score of candidate i is intercept_i + x slope_i: a line. At
each x, the highest line of a sentence is the winner. The winners form the upper envelope, from the
smallest slope at x = -infinity to the largest at +infinity. The winner changes at each breakpoint,
the x where two neighbouring lines of the envelope meet. The breakpoints of all sentences are
sorted. Between two neighbouring breakpoints no winner changes, so the corpus score is constant, and
is computed once for each interval.

Rules of the envelope, each with a test:

* *equal lines*: the first candidate in the pool represents all of them;
* *parallel lines*: of equal slopes only the largest intercept can win;
* *concurrent lines*: a line that only touches the envelope at one point wins nowhere;
* *rounding*: a line that rises above its neighbours by no more than the rounding error
  (``_TOLERANCE`` times the magnitudes compared) counts as touching.

Rules of the step, each with a test:

* *nearest*: among intervals with the same best score, the one nearest to step 0 wins, so a search
  that gains nothing does not move;
* *middle*: the step goes to the middle of the interval, but stays at 0 if 0 lies inside. If 0 is a
  breakpoint, it lies inside neither interval beside it, because two candidates tie there;
* *open ends*: in the interval before the first or after the last breakpoint, the step goes beyond
  that breakpoint by a tenth of D, the distance from 0 to the farther of these two breakpoints;
* *no breakpoint*: the step is 0;
* *narrow*: an interval narrower than a millionth of the breakpoints' interquartile range is
  ignored, because weights rounded to nine digits could miss the interval;
* *bounds*: only the part of the line within [low, high] is searched, and the rule of open ends does
  not apply to finite bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import Floats, Indices, Point, PoolArrays, combine
from tuning.optimizers.workers import ALONE, Workers

NARROW = 1e-6
BEYOND = 0.1
_TOLERANCE = 1e-12


class EnvelopeSpace(NamedTuple):
    """Scratch arrays for the envelope of one sentence.

    Attributes:
        winners: (lines + 1,) the indices of the envelope's lines, from left to right.
        breakpoints: (lines,) the steps at which each winner gives way to the next.
        pending: (lines + 1,) a stack of known winners further to the right.
    """

    winners: Indices
    breakpoints: Floats
    pending: Indices

    @classmethod
    def from_size(cls, lines: int) -> EnvelopeSpace:
        """Allocate arrays for at most ``lines`` lines."""
        return cls(np.empty(lines + 1, np.int64), np.empty(lines), np.empty(lines + 1, np.int64))


@inlined
def winner_at(slopes: Floats, intercepts: Floats, x: float) -> int:
    """Return the index of the highest line at x (the first of equal ones); x may be infinite."""
    best = 0
    for i in range(1, slopes.size):
        rise = slopes[i] - slopes[best]
        gain = intercepts[i] - intercepts[best]
        if np.isinf(x):
            # the larger slope wins at +infinity, the smaller slope at -infinity, and the larger
            # intercept among parallel lines
            better = rise * x > 0.0 if rise != 0.0 else gain > 0.0
        else:
            better = intercepts[i] + x * slopes[i] > intercepts[best] + x * slopes[best]
        if better:
            best = i
    return best


@inlined
def envelope(
    slopes: Floats, intercepts: Floats, low: float, high: float, space: EnvelopeSpace
) -> int:
    """Find the upper envelope of N >= 1 lines between two steps.

    Divide and conquer with a stack. Every line on the stack is known to win somewhere, and the
    slopes fall from the bottom (the winner at ``high``) to the top. The last line of the envelope
    so far, ``left``, meets the top of the stack at x. If other lines are higher at x, the highest
    of them (of equals the one with the smallest slope) goes onto the stack as a winner. Otherwise
    ``left`` and the top are neighbours: x is a breakpoint, and the top becomes the new ``left``.
    Sorting by slope would take O(N log N); the stack takes O(N) per winner, and winners are few.

    Args:
        slopes: (N,) the slopes of the lines.
        intercepts: (N,) the heights of the lines at step 0.
        low: The smallest step; may be minus infinity.
        high: The largest step; may be plus infinity.
        space: Scratch arrays for N lines; receives the winners and breakpoints.

    Returns:
        The number of breakpoints, which is the number of winners less one.
    """
    left, right = winner_at(slopes, intercepts, low), winner_at(slopes, intercepts, high)
    space.winners[0], space.pending[0] = left, right
    if slopes[left] >= slopes[right]:
        return 0
    count = top = 0
    while top >= 0:
        right = space.pending[top]
        x = (intercepts[left] - intercepts[right]) / (slopes[right] - slopes[left])
        first, second = x * slopes[left], x * slopes[right]
        # rounding errors are relative to these magnitudes, not to their possibly tiny difference
        size = abs(intercepts[left]) + abs(intercepts[right]) + abs(first) + abs(second)
        height = max(intercepts[left] + first, intercepts[right] + second) + _TOLERANCE * size
        middle = -1
        for i in range(slopes.size):
            value = intercepts[i] + x * slopes[i]
            if value < height or not slopes[left] < slopes[i] < slopes[right]:
                continue
            if value > height or (middle >= 0 and slopes[i] < slopes[middle]):
                height, middle = value, i
        if middle >= 0:
            top += 1
            space.pending[top] = middle
        else:
            space.breakpoints[count] = x
            count += 1
            top -= 1
            left = space.winners[count] = right
    return count


class LineSpace(NamedTuple):
    """The scratch arrays of one search.

    ``where``, ``before`` and ``after`` have room for the maximum number of changes; the operating
    system allocates their memory only when it is first written.

    Attributes:
        slopes: (N,) the slopes of one sentence's lines; no sentence has more than N candidates.
        kept: (N,) the candidates that can win.
        kept_slopes: (N,) the slopes of the kept candidates.
        kept_intercepts: (N,) the intercepts of the kept candidates.
        envelope: Scratch arrays for the envelope of a sentence.
        sums: (K,) the summed statistics of the winners at the smallest step.
        where: (C,) the steps at which the winner of some sentence changes, unsorted.
        before: (C,) the candidate that wins before each change.
        after: (C,) the candidate that wins after each change.
    """

    slopes: Floats
    kept: Indices
    kept_slopes: Floats
    kept_intercepts: Floats
    envelope: EnvelopeSpace
    sums: Floats
    where: Floats
    before: Indices
    after: Indices

    @classmethod
    def from_pool(cls, pool: PoolArrays) -> LineSpace:
        """Allocate arrays for the candidates of a pool."""
        longest = int(np.diff(pool.starts).max(initial=0)) + 1
        candidates, columns = pool.statistics.shape
        return cls(
            slopes=np.empty(longest),
            kept=np.empty(longest, np.int64),
            kept_slopes=np.empty(longest),
            kept_intercepts=np.empty(longest),
            envelope=EnvelopeSpace.from_size(longest),
            sums=np.empty(columns),
            where=np.empty(candidates),
            before=np.empty(candidates, np.int64),
            after=np.empty(candidates, np.int64),
        )


@inlined
def _keep(
    slopes: Floats, intercepts: Floats, winner: int, low: float, high: float, room: LineSpace
) -> int:
    """Keep the candidates that can win between low and high; return their number.

    ``winner`` wins at step 0. A candidate's score minus the winner's is linear in the step, so the
    maximum is at low or high: a candidate that is ahead at neither end cannot win between them.
    """
    kept, kept_slopes, kept_intercepts = room.kept, room.kept_slopes, room.kept_intercepts
    slope, intercept = slopes[winner], intercepts[winner]
    kept[0], kept_slopes[0], kept_intercepts[0] = winner, slope, intercept
    count = 1
    for j in range(slopes.size):
        rise, gain = slopes[j] - slope, intercepts[j] - intercept
        if gain + max(low * rise, high * rise) > 0.0:
            kept[count], kept_slopes[count], kept_intercepts[count] = j, slopes[j], intercepts[j]
            count += 1
    return count


@compiled
def find_changes(
    direction: Floats, low: float, high: float, pool: PoolArrays, point: Point, room: LineSpace
) -> int:
    """Sum the winners' statistics at low; list the changes of winner up to high, and count them."""
    direction, pool, point, room = borrowed((direction, pool, point, room))
    total = 0
    room.sums[:] = 0.0
    has_bounds = np.isfinite(low) and np.isfinite(high)
    for sentence in range(point.winners.size):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        if begin == end:
            continue
        slopes, intercepts = room.slopes[: end - begin], point.scores[begin:end]
        combine(pool.features, begin, end, direction, slopes)
        if has_bounds:
            winner = point.winners[sentence] - begin
            count = _keep(slopes, intercepts, winner, low, high, room)
            slopes, intercepts = room.kept_slopes[:count], room.kept_intercepts[:count]
        changes = envelope(slopes, intercepts, low, high, room.envelope)
        for change in range(changes + 1):
            winner = room.envelope.winners[change]
            column = begin + (room.kept[winner] if has_bounds else winner)
            if change > 0:
                room.after[total] = column
                total += 1
            else:
                for k in range(room.sums.size):
                    room.sums[k] += pool.statistics[column, k]
            if change < changes:
                room.where[total] = room.envelope.breakpoints[change]
                room.before[total] = column
    return total


@compiled
def _best_interval(
    statistics: NDArray[np.int16],
    sums: Floats,
    before: Indices,
    after: Indices,
    order: Indices,
    edges: Floats,
    narrow: float,
    shares: Floats,
) -> tuple[int, float]:
    """Return the index of the best interval (the nearest to 0, if equal), and its score.

    The sweep goes from left to right and updates ``sums`` at each change by the difference between
    the new winner and the old one, so an interval costs O(K), however many sentences there are.

    Args:
        statistics: (C, K) the statistics of the candidates.
        sums: (K,) the summed statistics at the smallest step; overwritten.
        before: The candidate that wins before each change.
        after: The candidate that wins after each change.
        order: (N,) the changes from left to right.
        edges: (N + 2,) the ends of the intervals.
        narrow: The width up to which intervals are ignored.
        shares: (metrics,) the shares of the objective.
    """
    # borrowed, so that the call for each interval does no reference counting
    sums, shares = borrowed((sums, shares))
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
    """Return the step into an interval, by the rules *middle* and *open ends*."""
    from_left = left < 0.0 or (left_is_bound and left == 0.0)
    from_right = right > 0.0 or (right_is_bound and right == 0.0)
    if from_left and from_right:
        return 0.0
    if left == -np.inf:
        return right - BEYOND * reach
    return left + BEYOND * reach if right == np.inf else 0.5 * (left + right)


class LineSearch:
    """Line searches over one pool; several threads may use the same object.

    Args:
        pool: The candidates.
        shares: The share of each metric in the objective.
    """

    def __init__(self, pool: PoolArrays, shares: Sequence[float]) -> None:
        self.pool, self._shares = pool, np.array(shares, np.float64)

    def _search(
        self, point: Point, direction: Floats, low: float, high: float, room: LineSpace
    ) -> tuple[float, float]:
        """Return the best step between low and high, and its score."""
        count = find_changes(direction, low, high, self.pool, point, room)
        order = np.argsort(room.where[:count], kind="stable")
        edges = np.concatenate([[low], room.where[order], [high]])
        narrow, reach = -1.0, 0.0
        if count:
            narrow = NARROW * (edges[1 + 3 * count // 4] - edges[1 + count // 4])
            reach = max(abs(edges[1]), abs(edges[count]))
        place, score = _best_interval(
            self.pool.statistics, room.sums, room.before, room.after, order, edges, narrow,
            self._shares,
        )  # fmt: skip
        if not count or score == -np.inf:
            return 0.0, score
        step = step_into(
            float(edges[place]), float(edges[place + 1]), float(reach) or 1.0,
            left_is_bound=place == 0, right_is_bound=place == count,
        )  # fmt: skip
        return step, score

    def along(
        self, point: Point, directions: Floats, ends: Floats, workers: Workers = ALONE
    ) -> list[tuple[float, float]]:
        """Return the best step along each of L directions, and the score at this step.

        Args:
            point: The point at step 0.
            directions: (L, F) the change of the weights per unit of the step.
            ends: (L, 2) the smallest step allowed, at most 0, and the largest, at least 0;
                infinite if there is no bound.
            workers: Threads that share the lines.
        """
        found = [(0.0, 0.0)] * len(ends)

        def search(part: slice) -> None:
            room = LineSpace.from_pool(self.pool)  # each thread needs its own
            for line in range(part.start, part.stop):
                low, high = ends[line].tolist()
                found[line] = self._search(point, directions[line], low, high, room)

        workers.share(search, len(ends))
        return found
