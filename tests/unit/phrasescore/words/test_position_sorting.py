"""Sorting positions of a text by the words around them."""

from __future__ import annotations

import numpy as np
import pytest

from phrasescore.words.position_sorting import sorted_by_words


@pytest.mark.parametrize("offsets", [range(2, -1, -1), range(-2, 1), (0,)])
def test_sorts_as_tuples_of_words_do(offsets: range | tuple[int, ...]) -> None:
    """The last offset counts most; positions with equal words stay in the order of the text."""
    ids = np.random.default_rng(3).integers(0, 4, 500).astype(np.int32)
    positions = np.arange(2, 498, dtype=np.int32)
    expected = sorted(
        positions.tolist(), key=lambda place: [ids[place + offset] for offset in reversed(offsets)]
    )
    assert sorted_by_words(ids, positions, 4, offsets).tolist() == expected
