"""Sorting text positions by the words around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from phrasescore.words.token_sequences import sorted_by_words


@pytest.mark.parametrize("offsets", [range(3), range(0, -3, -1), (0,), range(-2, 3)])
@pytest.mark.parametrize("vocabulary", [4, 1 << 20, 1 << 24])
def test_sorts_as_tuples_of_words_do(
    rng: np.random.Generator, offsets: Sequence[int], vocabulary: int
) -> None:
    """Positions sort like tuples of words, for any number of words in a key."""
    ids = rng.integers(0, 4, 500).astype(np.int32) * (vocabulary // 4)
    positions = np.arange(2, 498, dtype=np.int32)
    ordered, shared = sorted_by_words(ids, positions, vocabulary, offsets)
    words = [tuple(ids[place + offset] for offset in offsets) for place in ordered.tolist()]
    assert sorted(ordered.tolist()) == positions.tolist()
    assert words == sorted(words)
    for row, count in enumerate(shared.tolist()[1:], 1):
        assert words[row][:count] == words[row - 1][:count]
        assert count == len(offsets) or words[row][count] != words[row - 1][count]
