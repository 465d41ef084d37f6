"""Counts of phrase pairs: how often each occurs, with which alignment and orientation.

A row is a pair, the links inside it, and six counts. Rows of the same pair with the same links can
be added up, so counting is sorting by pair and adding neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

MASK_BITS = 64


class PairCounts(NamedTuple):
    """Rows of counts.

    Args:
        pairs: (rows,) uint64, the source phrase's number in the upper and the target phrase's in
            the lower half.
        alignments: (rows, words) uint64, the links inside as bits: source position s and target
            position t, counted within the phrases, are bit ``t * longest + s``.
        orientations: (rows, 6) uint32, how often monotone, swapped and other, towards the phrase
            before and then towards the phrase after; each three add up to the occurrences.
    """

    pairs: NDArray[np.uint64]
    alignments: NDArray[np.uint64]
    orientations: NDArray[np.uint32]

    def first(self, rows: int) -> PairCounts:
        """Return views of the first rows."""
        return PairCounts._make(array[:rows] for array in self)


def mask_words(longest: int) -> int:
    """Return how many 64-bit words hold the links of a pair of phrases."""
    return -(-longest * longest // MASK_BITS)


def empty_counts(rows: int, longest: int) -> PairCounts:
    """Make room for rows, whose content is arbitrary."""
    return PairCounts(
        np.empty(rows, np.uint64),
        np.empty((rows, mask_words(longest)), np.uint64),
        np.empty((rows, 6), np.uint32),
    )


def sorted_and_added(counts: PairCounts) -> PairCounts:
    """Return the rows sorted by pair, with one row for each alignment of a pair."""
    order = np.argsort(counts.pairs)
    added = PairCounts._make(np.empty_like(array) for array in counts)
    return added.first(_add_up(order, counts, added))


@njit(cache=True, nogil=True)
def _add_up(order: NDArray[np.int64], counts: Any, added: Any) -> int:
    """Add up rows with the same pair and alignment; return how many are left."""
    used, first = 0, 0
    for row in order:
        if used == first or counts.pairs[row] != added.pairs[first]:
            first = used
        # a pair has few different alignments
        place = first
        while place < used and not _same(added.alignments[place], counts.alignments[row]):
            place += 1
        if place == used:
            added.pairs[used] = counts.pairs[row]
            added.alignments[used] = counts.alignments[row]
            added.orientations[used] = 0
            used += 1
        added.orientations[place] += counts.orientations[row]
    return used


@njit(cache=True, nogil=True)
def _same(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> bool:
    for word in range(len(one)):  # noqa: SIM110 - compiled, and a generator is not
        if one[word] != other[word]:
            return False
    return True
