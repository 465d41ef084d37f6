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

The compiled form looks at two winners at a time, from left to right: the line farthest above the
point where they meet (of several as far, the one with the smallest slope) wins between them; if
there is none, they are neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import inlined

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
