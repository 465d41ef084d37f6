"""Positions of a text sorted by the words around them: a suffix array of bounded depth.

Several words fit into a 64-bit key. Positions are sorted by one key after the other, beginning with
the least significant one; each later sort is stable, like the passes of a radix sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_KEY_BITS = 64


def sorted_by_words(
    ids: NDArray[np.int32], positions: NDArray[np.int32], vocabulary: int, offsets: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Sort positions by the words at some offsets from them.

    Args:
        ids: The text as word ids, with room for all offsets.
        positions: The positions to sort, ascending, int32.
        vocabulary: One more than the largest id.
        offsets: The offsets of the words to sort by, the most significant one first.

    Returns:
        The sorted positions; and for each, the number of these words, counted from the first, that
        it shares with the position before it.

    >>> ids = np.array([1, 2, 1, 1], np.int32)
    >>> sorted_by_words(ids, np.arange(3, dtype=np.int32), 3, [0, 1])
    (array([2, 0, 1], dtype=int32), array([0, 1, 0], dtype=uint8))
    """
    bits = max((vocabulary - 1).bit_length(), 1)
    at_once = _KEY_BITS // bits
    parts = [offsets[first : first + at_once] for first in range(0, len(offsets), at_once)]
    for part in reversed(parts):
        # only the first pass may use numpy's fastest sort, which is not stable
        kind: Literal["stable"] | None = None if part is parts[-1] else "stable"
        positions = positions[np.argsort(_keys(ids, part, bits)[positions], kind=kind)]
    shared = np.zeros(positions.size, np.uint8)
    same = np.ones(max(positions.size - 1, 0), np.bool_)
    for part in parts:
        keys = _keys(ids, part, bits)[positions]
        differ = keys[1:] ^ keys[:-1]  # the bits in which each key differs from the previous one
        for left in range(len(part)):
            shared[1:] += same & (differ < np.uint64(1 << bits * left))
        same &= differ == 0
    return positions, shared


def _keys(ids: NDArray[np.int32], offsets: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """Pack the words at some offsets from each position, the first one into the upper bits.

    A key is meaningless if an offset leads out of the text.
    """
    keys = np.zeros(ids.size, np.uint64)
    for offset in offsets:
        keys <<= np.uint64(bits % _KEY_BITS)
        begin, end = max(-offset, 0), ids.size - max(offset, 0)
        np.bitwise_or(
            keys[begin:end],
            ids[begin + offset : end + offset].view(np.uint32),
            out=keys[begin:end],
        )
    return keys
