"""Counting by sorting, in memory and with sorted runs on disk."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from moses_integration.system_building.extraction import (
    PairCounts,
    SortedRun,
    mask_words,
    merged_slices,
    sorted_and_added,
    together,
    write_run,
)

LONGEST = 9  # so that alignments take two machine words


def random_counts(rng: np.random.Generator, rows: int, pairs: int) -> PairCounts:
    kinds = rng.integers(0, 3, (rows, 2))
    orientations = np.zeros((rows, 6), np.uint32)
    orientations[np.arange(rows), kinds[:, 0]] = 1
    orientations[np.arange(rows), 3 + kinds[:, 1]] = 1
    return PairCounts(
        # the last bit distinguishes two targets of a source
        rng.integers(0, pairs, rows).astype(np.uint64) << np.uint64(31),
        rng.integers(0, 3, (rows, mask_words(LONGEST))).astype(np.uint64),
        orientations,
    )


def table(*counts: PairCounts) -> Counter[tuple[int, tuple[int, ...], int]]:
    added: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for part in counts:
        for pair, mask, numbers in zip(*(array.tolist() for array in part), strict=True):
            for kind, number in enumerate(numbers):
                added[pair, tuple(mask), kind] += number
    return +added


def test_sorted_and_added(rng: np.random.Generator) -> None:
    """Rows are sorted by pair, one for each alignment, and no count is lost."""
    counts = random_counts(rng, 2000, 50)
    added = sorted_and_added(counts)
    assert (np.diff(added.pairs.astype(np.int64)) >= 0).all()
    rows = list(zip(added.pairs.tolist(), map(tuple, added.alignments.tolist()), strict=True))
    assert len(set(rows)) == len(rows) < 2000
    assert table(added) == table(counts)


@pytest.mark.parametrize("rows", [1, 10, 100, 5000])
def test_slices(tmp_path: Path, rng: np.random.Generator, rows: int) -> None:
    """Slices of several runs are in order, small enough, split no source, and lose no count."""
    parts = [random_counts(rng, size, 300) for size in (1, 700, 40, 900)]
    runs = [
        write_run(tmp_path / str(i), LONGEST, sorted_and_added(part))
        for i, part in enumerate(parts)
    ]
    slices = list(merged_slices(runs, rows))
    most_of_a_source = max(
        Counter(run[row] >> 32 for run in runs for row in range(len(run))).values()
    )
    for pieces in slices:
        assert sum(len(piece.pairs) for piece in pieces) <= rows + most_of_a_source
    whole = [together(pieces) for pieces in slices]
    pairs = np.concatenate([piece.pairs for piece in whole]).astype(np.int64)
    assert (np.diff(pairs) >= 0).all()
    for before, after in itertools.pairwise(whole):
        assert int(before.pairs[-1]) >> 32 < int(after.pairs[0]) >> 32
    assert table(*whole) == table(*parts)


def test_run_reads_back(tmp_path: Path, rng: np.random.Generator) -> None:
    """A run is read back correctly, as a whole and in part."""
    counts = sorted_and_added(random_counts(rng, 500, 100))
    run = write_run(tmp_path / "run", LONGEST, counts)
    assert len(run) == len(counts.pairs)
    assert table(*run.blocks()) == table(counts)
    assert run.read(3, 7).pairs.tolist() == counts.pairs[3:7].tolist()
    again = SortedRun(tmp_path / "run", LONGEST)
    assert [again[row] for row in range(len(again))] == counts.pairs.tolist()
