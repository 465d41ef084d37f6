"""The upper envelope of lines: which candidate of a sentence wins at which step along a direction.

At step x candidate i scores intercept_i + x slope_i: one line for each candidate. Those that are
highest somewhere form the envelope, from the smallest slope at x = -infinity to the largest at
+infinity; where two neighbours meet the winner changes (a breakpoint).

Rules, each with a test:

* *equal lines*: the first candidate in the pool represents all of them;
* *parallel lines*: of equal slopes only the largest intercept can win;
* *concurrent lines*: a line that only touches the envelope in a point wins nowhere;
* *rounding*: a line that rises above its neighbours by less than double precision can tell
  (``_TOLERANCE`` times the values compared) counts as touching.

The compiled form finds the envelope as QuickHull does: the line farthest above the meeting point
of two winners (of several as far, the one with the smallest slope) is a winner itself and splits
the rest, most of which falls away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_TOLERANCE = 1e-12


# rows of a workspace: few arrays, because compiled calls copy the description of each
_SLOPE, _INTERCEPT, _SPARE_SLOPE, _SPARE_INTERCEPT = 0, 1, 2, 3
BREAKPOINT, SENTENCE_SLOPE, KEPT_SLOPE, KEPT_INTERCEPT = 4, 5, 6, 7
_LINE, _SPARE_LINE, _RIGHT, _BEGIN, _END, _FARTHEST = 0, 1, 2, 3, 4, 5
WINNER, KEPT = 6, 7


class EnvelopeSpace(NamedTuple):
    """Room for the lines of one sentence; made by ``workspace_for``.

    Attributes:
        values: (8, lines): slopes and intercepts of the lines that are still in the race, and of
            those that go to the right of a split; ``BREAKPOINT`` where the winner changes to the
            next; and rows for who prepares the lines.
        places: (8, lines + 1): numbers of the lines in the race and of those to the right; right
            winner, begin, end and farthest of the pieces still to split; ``WINNER``: the
            envelope, from left to right; and a row for who prepares the lines.
    """

    values: NDArray[np.float64]
    places: NDArray[np.int64]


@njit(cache=True, nogil=True)
def workspace_for(lines: int) -> EnvelopeSpace:
    """Return room for up to this many lines."""
    return EnvelopeSpace(np.empty((8, lines)), np.empty((8, lines + 1), np.int64))


@njit(cache=True, nogil=True)
def _winner_at_infinity(slopes: Any, intercepts: Any, sign: float) -> int:
    """The winner at sign times infinity, by the rules of equal and parallel lines."""
    best = 0
    for i in range(1, len(slopes)):
        rise = sign * (slopes[i] - slopes[best])
        if rise > 0.0 or (rise == 0.0 and intercepts[i] > intercepts[best]):
            best = i
    return best


@njit(cache=True, nogil=True)
def winner_at(slopes: Any, intercepts: Any, x: float) -> int:
    """The highest line at x, the first of equals; x may be infinite."""
    if np.isinf(x):
        return _winner_at_infinity(slopes, intercepts, np.sign(x))
    best = 0
    height = intercepts[0] + x * slopes[0]
    i = 1
    # eight at a time, and a closer look only at those eight that hold a new best
    while i + 8 <= len(slopes):
        highest = intercepts[i] + x * slopes[i]
        for j in range(i + 1, i + 8):
            highest = max(highest, intercepts[j] + x * slopes[j])
        if highest > height:
            height = highest
            best = i
            while intercepts[best] + x * slopes[best] != highest:
                best += 1
        i += 8
    while i < len(slopes):
        if intercepts[i] + x * slopes[i] > height:
            height = intercepts[i] + x * slopes[i]
            best = i
        i += 1
    return best


@njit(cache=True, nogil=True)
def _meeting(
    slope: float, intercept: float, other_slope: float, other_intercept: float
) -> tuple[float, float]:
    """Where two lines meet, and the height a third must exceed there to win."""
    x = (intercept - other_intercept) / (other_slope - slope)
    first, second = x * slope, x * other_slope
    size = abs(intercept) + abs(other_intercept) + abs(first) + abs(second)
    return x, max(intercept + first, other_intercept + second) + _TOLERANCE * size


@njit(cache=True, nogil=True)
def _farthest(space: EnvelopeSpace, begin: int, end: int, x: float) -> int:
    """The place of the highest line at x, which wins left of x; -1 if there is none.

    Of several that meet there the one with the smallest slope does, and the first of equal lines.
    """
    best = -1
    height = -np.inf
    for i in range(begin, end):
        slope = space.values[_SLOPE, i]
        value = space.values[_INTERCEPT, i] + x * slope
        if value > height or (value == height and slope < space.values[_SLOPE, best]):
            height, best = value, i
    return best


@njit(cache=True, nogil=True)
def _keep_above(space: EnvelopeSpace, slopes: Any, intercepts: Any, x: float, height: float) -> int:
    """Take the lines above a point into the race; return how many."""
    count = 0
    for i in range(len(slopes)):
        space.values[_SLOPE, count] = slopes[i]
        space.values[_INTERCEPT, count] = intercepts[i]
        space.places[_LINE, count] = i
        # no branch: it would be mispredicted half the time
        count += intercepts[i] + x * slopes[i] > height
    return count


@njit(cache=True, nogil=True)
def _split(
    space: EnvelopeSpace,
    begin: int,
    end: int,
    left: tuple[float, float],
    right: tuple[float, float],
) -> tuple[int, int]:
    """Keep the lines above one of two points, those above the left one in front.

    Returns:
        The end of those above the left point and the end of all.
    """
    kept = begin
    spare = 0
    for i in range(begin, end):
        slope, intercept = space.values[_SLOPE, i], space.values[_INTERCEPT, i]
        line = space.places[_LINE, i]
        above_left = intercept + left[0] * slope > left[1]
        above_right = intercept + right[0] * slope > right[1]
        space.values[_SLOPE, kept] = slope
        space.values[_INTERCEPT, kept] = intercept
        space.places[_LINE, kept] = line
        kept += above_left
        space.values[_SPARE_SLOPE, spare] = slope
        space.values[_SPARE_INTERCEPT, spare] = intercept
        space.places[_SPARE_LINE, spare] = line
        spare += above_right & (not above_left)
    for i in range(spare):
        space.values[_SLOPE, kept + i] = space.values[_SPARE_SLOPE, i]
        space.values[_INTERCEPT, kept + i] = space.values[_SPARE_INTERCEPT, i]
        space.places[_LINE, kept + i] = space.places[_SPARE_LINE, i]
    return kept, kept + spare


@njit(cache=True, nogil=True)
def _push(space: EnvelopeSpace, top: int, right: int, begin: int, end: int, x: float) -> None:
    """Put a piece on the stack: the lines from begin to end are above the point at x."""
    space.places[_RIGHT, top] = right
    space.places[_BEGIN, top] = begin
    space.places[_END, top] = end
    space.places[_FARTHEST, top] = _farthest(space, begin, end, x)


@njit(cache=True, nogil=True)
def envelope(slopes: Any, intercepts: Any, low: float, high: float, space: EnvelopeSpace) -> int:
    """Find the upper envelope of N >= 1 lines between two steps.

    Args:
        slopes: (N,) float64.
        intercepts: (N,) float64.
        low: Where the envelope begins; may be minus infinity.
        high: Where it ends; may be plus infinity.
        space: Room for N lines; its rows ``WINNER`` and ``BREAKPOINT`` are filled.

    Returns:
        The number of breakpoints; there is one winner more.
    """
    current = winner_at(slopes, intercepts, low)
    last = winner_at(slopes, intercepts, high)
    space.places[WINNER, 0] = current
    if slopes[current] >= slopes[last]:
        return 0
    x, height = _meeting(slopes[current], intercepts[current], slopes[last], intercepts[last])
    _push(space, 0, last, 0, _keep_above(space, slopes, intercepts, x, height), x)
    top = 0
    count = 0
    while top >= 0:
        right, farthest = space.places[_RIGHT, top], space.places[_FARTHEST, top]
        if farthest < 0:
            x = (intercepts[current] - intercepts[right]) / (slopes[right] - slopes[current])
            space.values[BREAKPOINT, count] = x
            count += 1
            space.places[WINNER, count] = right
            current = right
            top -= 1
            continue
        middle = space.places[_LINE, farthest]
        slope, intercept = slopes[middle], intercepts[middle]
        before = _meeting(slopes[current], intercepts[current], slope, intercept)
        after = _meeting(slope, intercept, slopes[right], intercepts[right])
        begin, end = space.places[_BEGIN, top], space.places[_END, top]
        half, end = _split(space, begin, end, before, after)
        _push(space, top, right, half, end, after[0])
        top += 1
        _push(space, top, middle, begin, half, before[0])
    return count
