"""Flat sequences of ids."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.token_sequences import from_lists, gather


@given(st.lists(st.lists(st.integers(0, 60_000), max_size=4), min_size=1), st.data())
def test_select(sequences: list[list[int]], data: st.DataObject) -> None:
    """Selecting rows gives the sequences of these rows, in their order, repeats included."""
    flat = from_lists(sequences)
    rows = data.draw(st.lists(st.integers(0, len(sequences) - 1)))
    chosen = flat.select(np.array(rows, np.int64))
    assert [chosen[i].tolist() for i in range(len(chosen))] == [sequences[row] for row in rows]
    assert chosen.lengths.tolist() == [len(sequences[row]) for row in rows]


def test_small_integers_become_int32() -> None:
    """Arrays of two-byte ids, as they lie on disk, give int32 sequences."""
    chosen = gather(np.array([7, 65_535], np.uint16), np.array([0, 2]), np.array([0]))
    assert chosen.tokens.dtype == np.int32
    assert chosen.offsets.dtype == np.int64
    assert chosen.tokens.tolist() == [7, 65_535]
