"""Where along a line the best candidate of some sentence changes, in what is compiled.

Along weights + x direction each sentence has its envelope; its breakpoints are the changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import leaf
from tuning.optimizers.envelope import EnvelopeSpace, envelope
from tuning.optimizers.points import combine

# candidates that are looked at together
BLOCK = 8
# a number is sorted by one byte of it at a time
_BYTES, _VALUES = 8, 256
_SIGN, _ALL = np.uint64(1 << 63), np.uint64((1 << 64) - 1)


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
    for begin in range(0, slopes.size, BLOCK):
        lead = 1.0
        if begin + BLOCK <= slopes.size:
            # a block at a time, and a closer look only where one of them leads
            lead = 0.0
            for j in range(begin, begin + BLOCK):
                rise = slopes[j] - slope
                lead = max(lead, intercepts[j] - intercept + max(low * rise, high * rise))
        if lead > 0.0:
            for j in range(begin, min(begin + BLOCK, slopes.size)):
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
def find_changes(
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


class SortSpace(NamedTuple):
    """Room to sort up to N numbers.

    Attributes:
        keys: (2, N) numbers, written so that they rise as whole numbers without a sign.
        places: (2, N) where each of them stood.
        begins: (8, 256) where numbers with some byte go.
    """

    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    begins: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: int) -> SortSpace:
        """Return room for up to so many numbers."""
        keys, places = np.empty((2, numbers), np.uint64), np.empty((2, numbers), np.int64)
        return cls(keys, places, np.empty((_BYTES, _VALUES), np.int64))


@leaf
def sort(
    bits: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    places: NDArray[np.int64],
    begins: NDArray[np.int64],
) -> int:
    """Find the order in which (N,) floats rise, given by their bits; equals keep theirs.

    It is formed byte by byte, the last first, in the fields of a ``SortSpace``. Nothing here
    waits for Python, as `numpy.argsort` would: threads search lines side by side.

    Returns:
        Which row of places holds the order.
    """
    begins[:] = 0
    for i in range(bits.size):
        # -0 is no less than 0
        key = _SIGN if bits[i] == _SIGN else bits[i] ^ (_SIGN if bits[i] < _SIGN else _ALL)
        keys[0, i], places[0, i] = key, i
        for byte in range(_BYTES):
            begins[byte, (key >> np.uint64(8 * byte)) & np.uint64(255)] += 1
    row = 0
    for byte in range(_BYTES):
        shift = np.uint64(8 * byte)
        if bits.size and begins[byte, (keys[row, 0] >> shift) & np.uint64(255)] == bits.size:
            continue  # all have the same
        total = 0
        for value in range(_VALUES):
            many = begins[byte, value]
            begins[byte, value] = total
            total += many
        for i in range(bits.size):
            value = (keys[row, i] >> shift) & np.uint64(255)
            place = begins[byte, value]
            begins[byte, value] += 1
            keys[1 - row, place], places[1 - row, place] = keys[row, i], places[row, i]
        row = 1 - row
    return row
