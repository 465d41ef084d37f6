"""Counts of phrase pairs: how often each occurs, with which alignment and orientation.

A row is a pair, the links inside it, and six counts. Rows of the same pair with the same links can
be added up, so counting is sorting by pair and adding neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
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
    pairs = counts.pairs[order]
    alignments = np.take(counts.alignments, order, axis=0)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = pairs[1:] != pairs[:-1]
    firsts = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    mixed = np.unique(group[(alignments != alignments[firsts[group]]).any(axis=1)])
    if len(mixed):
        # most pairs have one alignment: sort only the others by theirs, too
        rows = np.flatnonzero(np.isin(group, mixed))
        within = np.lexsort((*alignments[rows].T, group[rows]))
        order[rows] = order[rows][within]
        alignments[rows] = alignments[rows][within]
        is_first[1:] |= (alignments[1:] != alignments[:-1]).any(axis=1)
        firsts = np.flatnonzero(is_first)
    sums = np.empty((len(firsts), 6), np.uint32)
    for column in range(6):
        ordered = counts.orientations[:, column][order]
        if len(firsts):
            sums[:, column] = np.add.reduceat(ordered, firsts)
    return PairCounts(pairs[firsts], alignments[firsts], sums)
