"""Groups of rows that are padded together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.scoring.prefix_trie import (
    cut_by_area,
)


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
