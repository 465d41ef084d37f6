"""Positions of a text sorted by the words around them: a suffix array of bounded depth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import leaf


def sorted_by_words(
    ids: NDArray[np.int32], positions: NDArray[np.int32], vocabulary: int, offsets: Iterable[int]
) -> NDArray[np.int32]:
    """Return positions sorted by the words at some offsets from them.

    Args:
        ids: The text as word ids, which reaches as far as the offsets do.
        positions: What to sort; the array is written to.
        vocabulary: One more than the largest id.
        offsets: Where the words stand, the one that counts least first.
    """
    next_place = np.empty(vocabulary + 1, np.int64)
    spare = np.empty_like(positions)
    for offset in offsets:
        _sort_by_word(ids, positions, offset, next_place, spare)
        positions, spare = spare, positions
    return positions


@leaf
def _sort_by_word(
    ids: NDArray[np.int32],
    positions: NDArray[np.int32],
    offset: int,
    next_place: NDArray[np.int64],
    target: NDArray[np.int32],
) -> None:
    """Counting sort by the word at an offset; ties keep their order."""
    next_place[:] = 0
    for position in positions:
        next_place[ids[position + offset] + 1] += 1
    for word in range(1, next_place.size):
        next_place[word] += next_place[word - 1]
    for position in positions:
        word = ids[position + offset]
        target[next_place[word]] = position
        next_place[word] += 1
