"""Exact line search (Och 2003): the best step along a direction in weight space, over all steps.

At step x along a direction candidate i scores intercept_i + x slope_i: one line for each candidate.
Those of a sentence that are highest somewhere form its upper envelope, from the smallest slope at
x = -infinity to the largest at +infinity; where two neighbours meet the winner changes (a
breakpoint). Between neighbouring breakpoints of all sentences the corpus score is constant. The
breakpoints are merged from left to right, and every interval is scored.

Rules of the envelope, each with a test:

* *equal lines*: the first candidate in the pool represents all of them;
* *parallel lines*: of equal slopes only the largest intercept can win;
* *concurrent lines*: a line that only touches the envelope in a point wins nowhere;
* *rounding*: a line that rises above its neighbours by less than double precision can tell
  (``_TOLERANCE`` times the values compared) counts as touching.

Rules of the step, each with a test:

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

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import Point, PoolArrays, combine
from tuning.optimizers.workers import ALONE, Workers

NARROW = 1e-6
BEYOND = 0.1
_TOLERANCE = 1e-12


class EnvelopeSpace(NamedTuple):
    """Room for the envelope of one sentence.

    Attributes:
        winners: (lines + 1,) the envelope, from left to right.
        breakpoints: (lines,) where each winner gives way to the next.
        waiting: (lines + 1,) winners to the right that were found already.
    """

    winners: NDArray[np.int64]
    breakpoints: NDArray[np.float64]
    waiting: NDArray[np.int64]

    @classmethod
    def of(cls, lines: int) -> EnvelopeSpace:
        """Return room for up to this many lines."""
        return cls(np.empty(lines + 1, np.int64), np.empty(lines), np.empty(lines + 1, np.int64))


@inlined
def winner_at(slopes: NDArray[np.float64], intercepts: NDArray[np.float64], x: float) -> int:
    """The highest line at x, the first of equals; x may be infinite."""
    best = 0
    for i in range(1, slopes.size):
        rise = slopes[i] - slopes[best]
        gain = intercepts[i] - intercepts[best]
        if np.isinf(x):
            # by the rules of equal and parallel lines
            better = rise * x > 0.0 if rise != 0.0 else gain > 0.0
        else:
            better = intercepts[i] + x * slopes[i] > intercepts[best] + x * slopes[best]
        if better:
            best = i
    return best


@inlined
def envelope(
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    low: float,
    high: float,
    space: EnvelopeSpace,
) -> int:
    """Find the upper envelope of N >= 1 lines between two steps.

    Two winners are compared at a time, from left to right: the line farthest above the point where
    they meet (of several as far, the one with the smallest slope) wins between them; if there is
    none, they are neighbours.

    Args:
        slopes: (N,).
        intercepts: (N,).
        low: Where the envelope begins; may be minus infinity.
        high: Where it ends; may be plus infinity.
        space: Room for N lines; its winners and breakpoints are filled.

    Returns:
        The number of breakpoints; there is one winner more.
    """
    left, right = winner_at(slopes, intercepts, low), winner_at(slopes, intercepts, high)
    space.winners[0], space.waiting[0] = left, right
    if slopes[left] >= slopes[right]:
        return 0
    count = top = 0
    while top >= 0:
        right = space.waiting[top]
        x = (intercepts[left] - intercepts[right]) / (slopes[right] - slopes[left])
        first, second = x * slopes[left], x * slopes[right]
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
            space.waiting[top] = middle
        else:
            space.breakpoints[count] = x
            count += 1
            top -= 1
            left = space.winners[count] = right
    return count


# candidates that are looked at together
BLOCK = 8


class LineSpace(NamedTuple):
    """What one search works in; pages of memory that no change comes to are never touched.

    Attributes:
        slopes: (N,) of the lines of a sentence of at most N candidates.
        kept: (N,) which of them can win.
        kept_slopes: (N,) of these alone.
        kept_intercepts: (N,) of these alone.
        envelope: Room for the envelope of a sentence.
        sums: (K,) the statistics at the smallest step.
        where: (C,) where the winner of some sentence changes, in no order.
        before: (C,) the candidate that wins before each change.
        after: (C,) the one that wins after it.
    """

    slopes: NDArray[np.float64]
    kept: NDArray[np.int64]
    kept_slopes: NDArray[np.float64]
    kept_intercepts: NDArray[np.float64]
    envelope: EnvelopeSpace
    sums: NDArray[np.float64]
    where: NDArray[np.float64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    @classmethod
    def of(cls, pool: PoolArrays) -> LineSpace:
        """Return room for lines through the candidates of a pool."""
        most = int(np.diff(pool.starts).max(initial=0)) + BLOCK
        candidates, columns = pool.statistics.shape
        return cls(
            slopes=np.empty(most),
            kept=np.empty(most, np.int64),
            kept_slopes=np.empty(most),
            kept_intercepts=np.empty(most),
            envelope=EnvelopeSpace.of(most),
            sums=np.empty(columns),
            where=np.empty(candidates),
            before=np.empty(candidates, np.int64),
            after=np.empty(candidates, np.int64),
        )


@inlined
def _keep(
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    winner: int,
    low: float,
    high: float,
    room: LineSpace,
) -> int:
    """Keep the candidates that can win between low and high; return how many.

    Their lead over the winner at 0 is linear in the step, so it is largest at an end.
    """
    kept, kept_slopes, kept_intercepts = room.kept, room.kept_slopes, room.kept_intercepts
    slope, intercept = slopes[winner], intercepts[winner]
    kept[0], kept_slopes[0], kept_intercepts[0] = winner, slope, intercept
    count = 1
    for begin in range(0, slopes.size, BLOCK):
        lead = 1.0
        if begin + BLOCK <= slopes.size:
            # a block at a time, and a closer look only where one of them leads
            lead = 0.0
            for j in range(begin, begin + BLOCK):
                at = np.uint64(j)  # without a sign it is not compared with zero
                rise = slopes[at] - slope
                lead = max(lead, intercepts[at] - intercept + max(low * rise, high * rise))
        if lead > 0.0:
            for j in range(begin, min(begin + BLOCK, slopes.size)):
                at = np.uint64(j)
                rise = slopes[at] - slope
                kept[count], kept_slopes[count], kept_intercepts[count] = (
                    j,
                    slopes[at],
                    intercepts[at],
                )
                count += intercepts[at] - intercept + max(low * rise, high * rise) > 0.0
    return count


@compiled
def find_changes(
    direction: NDArray[np.float64],
    low: float,
    high: float,
    pool: PoolArrays,
    point: Point,
    room: LineSpace,
) -> int:
    """Find all changes of winner between low and high, and the sums at low; return how many."""
    direction, pool, point, room = borrowed((direction, pool, point, room))
    total = 0
    room.sums[:] = 0.0
    some = np.isfinite(low) and np.isfinite(high)
    for sentence in range(point.winners.size):
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        if begin == end:
            continue
        slopes, intercepts = room.slopes[: end - begin], point.scores[begin:end]
        combine(pool.features, begin, end, direction, slopes)
        if some:
            winner = point.winners[sentence] - begin
            count = _keep(slopes, intercepts, winner, low, high, room)
            slopes, intercepts = room.kept_slopes[:count], room.kept_intercepts[:count]
        changes = envelope(slopes, intercepts, low, high, room.envelope)
        for change in range(changes + 1):
            winner = room.envelope.winners[change]
            column = begin + (room.kept[winner] if some else winner)
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
        shares: (metrics,) of the objective.
    """
    sums, shares = borrowed((sums, shares))  # each interval is scored by a call
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
        shares: Of the objective's metrics.
    """

    def __init__(self, pool: PoolArrays, shares: Sequence[float]) -> None:
        self.pool, self._shares = pool, np.array(shares, np.float64)
        self._own = threading.local()

    def _room(self) -> LineSpace:
        if not hasattr(self._own, "room"):
            self._own.room = LineSpace.of(self.pool)
        room: LineSpace = self._own.room
        return room

    def _search(
        self, point: Point, direction: NDArray[np.float64], low: float, high: float
    ) -> tuple[float, float]:
        """Return the best step between low and high, and its score."""
        room = self._room()
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
        self,
        point: Point,
        directions: NDArray[np.float64],
        ends: NDArray[np.float64],
        workers: Workers = ALONE,
    ) -> list[tuple[float, float]]:
        """Return the best step along each of L directions and the score it reaches.

        Args:
            point: Step 0.
            directions: (L, F) how the weights change with the step.
            ends: (L, 2) the smallest step allowed, at most 0, and the largest, at least 0;
                infinite where there is no bound.
            workers: Threads that share the lines.
        """
        found = [(0.0, 0.0)] * len(ends)

        def search(part: slice) -> None:
            for line in range(part.start, part.stop):
                low, high = ends[line].tolist()
                found[line] = self._search(point, directions[line], low, high)

        workers.share(search, len(ends))
        return found
