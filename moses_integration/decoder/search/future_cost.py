"""Future cost: what the best translation of a span of source words would cost at least, roughly.

The best option of every span by its future score (in isolation), closed over all ways to split a
span (Koehn et al. 2003). No distortion and no reordering model is part of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import leaf


@leaf
def close_over_splits(estimates: NDArray[np.float64]) -> None:
    """Close the best future scores of single options over all splits of a span.

    Args:
        estimates: Best future score of an option for the words i to j, -inf for none, shape (n, n);
            afterwards the highest sum over any split of the words into spans.
    """
    length = estimates.shape[0]
    for size in range(2, length + 1):
        for start in range(length - size + 1):
            end = start + size - 1
            for join in range(start, end):
                joined = estimates[start, join] + estimates[join + 1, end]
                estimates[start, end] = max(estimates[start, end], joined)


@leaf
def gaps_estimate(covered: NDArray[np.uint64], closed: NDArray[np.float64]) -> float:
    """Sum the estimates of the gaps of a coverage.

    Args:
        covered: One bit per source word, 64 to a number, shape (words / 64,).
        closed: What `close_over_splits` gave.
    """
    length = closed.shape[0]
    total = 0.0
    gap = -1
    for position in range(length):
        bit = (covered[position >> 6] >> np.uint64(position & 63)) & np.uint64(1)
        if bit != 0:
            if gap >= 0:
                total += closed[gap, position - 1]
            gap = -1
        elif gap < 0:
            gap = position
    if gap >= 0:
        total += closed[gap, length - 1]
    return total
