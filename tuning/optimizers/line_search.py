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

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.breakpoints import LineSpace, find_changes
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.points import Point
from tuning.optimizers.workers import Workers

NARROW = 1e-6
BEYOND = 0.1


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
        shares: (3,) of the objective's metrics.
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
        shares: Of the objective's three metrics.
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
        workers: Workers | None = None,
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

        if workers:
            workers.share_range(search, len(ends))
        else:
            search(slice(0, len(ends)))
        return found
