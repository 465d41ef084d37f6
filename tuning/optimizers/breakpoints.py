"""Where along a line the best candidate of some sentence changes, in what is compiled.

Along weights + x direction each sentence has its envelope; its breakpoints are the changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.envelope import EnvelopeSpace, envelope
from tuning.optimizers.points import Point, combine

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
