"""Counts of phrase pairs, and sorting more of them than fit in memory.

A row is a pair, the links inside it, and six counts. Rows of the same pair with the same links can
be added up, so counting is sorting by pair and adding neighbours.

A run is a file of fixed-size records in ascending order of their pair. To merge, the range of
pairs is cut so that the records of all runs that fall between two cuts fit in memory together;
these are read, sorted and added up. No comparison is made twice and no heap is kept.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.runs.final_names import open_output

MASK_BITS = 64
# records that are read at once where all are read in order
_RECORDS_AT_ONCE = 1 << 18
# room for a record while a slice is sorted: the record, its place in the order, the result
_COPIES = 3


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


@dataclass(frozen=True)
class SortedRun:
    """One sorted file of counts.

    Args:
        path: Where it is.
        longest: The most words of a phrase.
    """

    path: Path
    longest: int

    @property
    def record(self) -> np.dtype[Any]:
        """The layout of a record."""
        return _record(self.longest)

    def __len__(self) -> int:
        return self.path.stat().st_size // self.record.itemsize

    @cached_property
    def pairs(self) -> NDArray[np.uint64]:
        """The pairs of all records, mapped: only what is looked at is read."""
        if len(self) == 0:
            return np.zeros(0, np.uint64)
        pairs: NDArray[np.uint64] = np.memmap(self.path, self.record, "r")["pair"]
        return pairs

    def read(self, begin: int, end: int) -> PairCounts:
        """Read some records."""
        size = self.record.itemsize
        records = np.fromfile(self.path, self.record, end - begin, offset=begin * size)
        return PairCounts._make(records[name] for name in self.record.names or ())

    def blocks(self) -> Iterator[PairCounts]:
        """Read all records in order, a block at a time."""
        for begin in range(0, len(self), _RECORDS_AT_ONCE):
            yield self.read(begin, min(begin + _RECORDS_AT_ONCE, len(self)))


def _record(longest: int) -> np.dtype[Any]:
    return np.dtype(
        [
            ("pair", np.uint64),
            ("alignment", np.uint64, (mask_words(longest),)),
            ("orientations", np.uint32, (6,)),
        ]
    )


def rows_within(memory: int, longest: int) -> int:
    """Return how many records can be sorted at once in this many bytes."""
    return max(memory // (_COPIES * _record(longest).itemsize), 1)


def write_run(path: Path, longest: int, counts: PairCounts) -> SortedRun:
    """Write sorted rows as a run."""
    run = SortedRun(path, longest)
    records = np.empty(len(counts.pairs), run.record)
    for name, array in zip(("pair", "alignment", "orientations"), counts, strict=True):
        records[name] = array
    with open_output(path) as stream:
        stream.write(records.view(np.uint8).data)
    return run


def merged_slices(runs: Sequence[SortedRun], rows: int) -> Iterator[list[PairCounts]]:
    """Cut sorted runs into slices, in ascending order of pairs.

    Args:
        runs: The runs.
        rows: The most records of a slice, give or take those of one pair, which is never parted.

    Yields:
        The records of one slice, as one piece per run that has any. ``together`` makes one sorted
        sequence of them.
    """
    cuts = _cuts(runs, rows)
    begins = [0] * len(runs)
    for cut in [*cuts, None]:
        ends = [
            len(run) if cut is None else bisect.bisect_left(run.pairs, cut, begin)
            for run, begin in zip(runs, begins, strict=True)
        ]
        places = zip(runs, begins, ends, strict=True)
        pieces = [run.read(begin, end) for run, begin, end in places if end > begin]
        if pieces:
            yield pieces
        begins = ends


def together(pieces: Sequence[PairCounts]) -> PairCounts:
    """Sort and add up the pieces of one slice."""
    columns = zip(*pieces, strict=True)
    return sorted_and_added(PairCounts._make(np.concatenate(column) for column in columns))


def _cuts(runs: Sequence[SortedRun], rows: int) -> list[np.uint64]:
    """Choose pairs to cut before, from pairs at even distances in each run."""
    step = max(rows // (2 * len(runs) + 2), 1)
    samples = np.sort(np.concatenate([run.pairs[step::step] for run in runs]))
    # m samples between two cuts stand for fewer than (m + runs) * step records
    every = max(rows // step - len(runs), 1)
    return sorted(set(samples[every::every].tolist()))
