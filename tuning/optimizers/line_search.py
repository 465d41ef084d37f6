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
from tuning.optimizers.breakpoints import BLOCK, SortSpace, find_changes, sort
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.envelope import EnvelopeSpace
from tuning.optimizers.points import Point
from tuning.optimizers.workers import Workers

NARROW = 1e-6
BEYOND = 0.1


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
        bits: (C,) those of ``where``.
        keys: (2, C), see ``SortSpace``.
        places: (2, C), the same.
        begins: (8, 256), the same.
        edges: (C + 2,) where the intervals begin and end.
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
    bits: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    begins: NDArray[np.int64]
    edges: NDArray[np.float64]

    @classmethod
    def of(cls, pool: PoolArrays) -> _Lines:
        """Return room for lines through the candidates of a pool."""
        most = int(np.diff(pool.starts).max(initial=0)) + BLOCK
        candidates, columns = pool.statistics.shape
        where = np.empty(candidates)
        return cls(
            np.empty(most), np.empty(most, np.int64), np.empty(most), np.empty(most),
            *EnvelopeSpace.of(most), np.empty(columns),
            where, np.empty(candidates, np.int64), np.empty(candidates, np.int64),
            where.view(np.uint64), *SortSpace.of(candidates), np.empty(candidates + 2),
        )  # fmt: skip


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


# numba takes long to look at a named tuple, so what Python calls takes arrays
@leaf
def _search(
    directions: NDArray[np.float64],
    ends: NDArray[np.float64],
    found: NDArray[np.float64],
    shares: NDArray[np.float64],
    features: NDArray[np.float32],
    statistics: NDArray[np.int16],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    winners: NDArray[np.int64],
    slopes: NDArray[np.float64],
    kept: NDArray[np.int64],
    kept_slopes: NDArray[np.float64],
    kept_intercepts: NDArray[np.float64],
    envelope_winners: NDArray[np.int64],
    breakpoints: NDArray[np.float64],
    waiting: NDArray[np.int64],
    sums: NDArray[np.float64],
    where: NDArray[np.float64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    bits: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    places: NDArray[np.int64],
    begins: NDArray[np.int64],
    edges: NDArray[np.float64],
) -> None:
    """Search along (L, F) directions between (L, 2) ends, with (3,) shares of the metrics.

    The arguments after the shares are the fields of the pool, of the point and of `_Lines`. A row
    of (L, 6) ``found`` gets the best score, the ends of the best interval, how far from 0 the
    farther of the first and the last breakpoint is, and whether the interval is the first, and
    the last. All but the score are 0 where there is no breakpoint.
    """
    for line in range(len(found)):
        low, high = ends[line, 0], ends[line, 1]
        count = find_changes(
            directions[line], low, high, features, statistics, starts, scores, winners, slopes,
            kept, kept_slopes, kept_intercepts, envelope_winners, breakpoints, waiting, sums,
            where, before, after,
        )  # fmt: skip
        order = places[sort(bits[:count], keys, places, begins), :count]
        edges[0], edges[count + 1] = low, high
        for i in range(count):
            edges[i + 1] = where[order[i]]
        narrow = -1.0
        if count:
            narrow = NARROW * (edges[1 + 3 * count // 4] - edges[1 + count // 4])
        place, score = _best_interval(
            statistics, sums, before, after, order, edges[: count + 2], narrow, shares
        )
        row = found[line]
        row[:] = 0.0
        row[0] = score
        if count and score > -np.inf:
            row[1], row[2] = edges[place], edges[place + 1]
            row[3] = max(abs(edges[1]), abs(edges[count]))
            row[4], row[5] = place == 0, place == count


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
            self._own.lines = _Lines.of(self.pool)
        lines: _Lines = self._own.lines
        return lines

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
        found = np.empty((len(ends), 6))

        def search(part: slice) -> None:
            arrays = (*self.pool, *point, *self._lines())
            _search(directions[part], ends[part], found[part], self._shares, *arrays)

        if workers:
            workers.share_range(search, len(ends))
        else:
            search(slice(0, len(ends)))
        return [
            (
                step_into(
                    left, right, reach or 1.0,
                    left_is_bound=bool(first), right_is_bound=bool(last),
                ),
                score,
            )
            for score, left, right, reach, first, last in found.tolist()
        ]  # fmt: skip
