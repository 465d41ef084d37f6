"""The hash table of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.hashing import fill_row_slots, find_row

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), unique=True, max_size=9)


@pytest.mark.parametrize("kind", [np.int32, np.uint64])
@given(listed=ROWS)
def test_rows_are_found(kind: type, listed: list[tuple[int, int]]) -> None:
    """A row that is there has its number in its slot; the slot of any other row is free."""
    rows = np.array(listed, kind).reshape(-1, 2)
    slots = np.empty(len(rows) + 1, np.int32)  # as full as it may be
    fill_row_slots(slots, rows, len(rows))
    for row in np.ndindex(3, 3):
        expected = listed.index(row) if row in listed else -1
        assert slots[find_row(slots, rows, np.array(row, kind))] == expected
