"""Sorted pairs, groups, and tries."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.scoring.prefix_trie import (
    cut_by_area,
    cut_in_groups,
)
from phrasescore.words.token_sequences import from_lists

PHRASES = st.lists(st.lists(st.integers(1, 3), max_size=4), min_size=1, max_size=30)


@given(PHRASES, st.integers(1, 9))
def test_groups_are_whole_and_small(sources: list[list[int]], most: int) -> None:
    """Groups are contiguous and small, and split only sources that are larger than a group."""
    sources.sort()
    groups = cut_in_groups(np.arange(len(sources)), from_lists(sources), most)
    assert np.concatenate(groups).tolist() == list(range(len(sources)))
    for group in groups:
        assert 0 < len(group) <= most
        start = int(group[0])
        if start and sources[start] == sources[start - 1]:
            first = sources.index(sources[start])
            assert sources.count(sources[start]) > most or start - first >= most


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 9), st.integers(1, 60))
def test_groups_are_small_when_they_are_padded(lengths: list[int], most: int, area: int) -> None:
    """Groups are contiguous, and only a single row may be longer than allowed."""
    order = np.arange(len(lengths))
    groups = [group.tolist() for group in cut_by_area(order, np.array(lengths), most, area)]
    assert [row for group in groups for row in group] == order.tolist()
    for group in groups:
        rows, stop = len(group), group[-1] + 1
        assert rows == 1 or (rows <= most and rows * max(lengths[row] for row in group) <= area)
        if stop < len(lengths):  # one more row would be too many
            longest = max(lengths[group[0] : stop + 1])
            assert rows == most or (rows + 1) * longest > area
