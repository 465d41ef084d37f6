"""Choices and rounding in phrase scores; test_build compares whole tables."""

from __future__ import annotations

import numpy as np
import pytest

from moses_integration.system_building.extraction import PairCounts
from moses_integration.system_building.phrase_scoring import printed_counts, summarise

LONGEST = 3


def counts_of(*alignments: tuple[set[tuple[int, int]], int]) -> PairCounts:
    """Make the rows of one pair from alignments and their counts."""
    masks = [sum(1 << t * LONGEST + s for s, t in links) for links, _ in alignments]
    return PairCounts(
        np.zeros(len(masks), np.uint64),
        np.array(masks, np.uint64).reshape(-1, 1),
        np.array([[count, 0, 0, 0, count, 0] for _, count in alignments], np.uint32),
    )


@pytest.mark.parametrize(
    ("alignments", "kept", "inverse"),
    [
        # the most frequent, in any position
        ([({(0, 0)}, 1), ({(1, 1)}, 2), ({(2, 2)}, 1)], 1, 1),
        # compared by target words: [0] and [1] for the first target word
        ([({(0, 0)}, 1), ({(1, 0)}, 1)], 1, 0),
        # [] is less than anything
        ([({(0, 1)}, 1), ({(0, 0)}, 1)], 1, 0),
        # [0, 1] is more than its prefix [0], and less than [1]
        ([({(0, 0)}, 1), ({(0, 0), (1, 0)}, 1)], 1, 1),
        ([({(0, 0), (1, 0)}, 1), ({(1, 0)}, 1)], 1, 0),
        # compared by source words: [1] and [0, 2] for the first source word
        ([({(0, 0), (0, 2)}, 1), ({(0, 1)}, 1)], 0, 1),
        # three of equal frequency
        ([({(0, 0)}, 4), ({(2, 0)}, 4), ({(1, 0)}, 4)], 1, 0),
    ],
)
def test_which_alignment(
    alignments: list[tuple[set[tuple[int, int]], int]], kept: int, inverse: int
) -> None:
    """The most frequent alignment is used; ties go to the largest list, in each direction."""
    pairs = summarise(counts_of(*alignments), LONGEST)
    assert (pairs.best.tolist(), pairs.inverse_best.tolist()) == ([kept], [inverse])
    total = sum(count for _, count in alignments)
    assert pairs.counts.tolist() == [total]
    assert pairs.orientations.tolist() == [[total, 0, 0, 0, total, 0]]


@pytest.mark.parametrize(
    ("count", "printed"),
    [(1, 1), (999_999, 999_999), (1_000_000, 1_000_000), (1_234_567, 1_234_570)],
)
def test_large_counts(count: int, printed: int) -> None:
    """Like in Moses, counts from a million on are rounded to six digits before dividing."""
    assert printed_counts(np.array([count])).tolist() == [printed]
