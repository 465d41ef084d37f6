"""Numbers of any length in a row of bits, as KenLM's util/bit_packing.hh packs them.

Bit i of a row is bit i % 8 of byte i // 8; a number's least bit comes first.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_BITS = 57  # what always lies within eight bytes
_BYTE = np.uint64(8)


def bits_for(greatest: int) -> int:
    """Return how many bits KenLM gives numbers up to ``greatest``."""
    return greatest.bit_length()


@njit(cache=True, nogil=True)
def _unpack(
    row: NDArray[np.uint8], offset: int, step: int, width: int, values: NDArray[np.uint64]
) -> None:
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    for at in range(values.size):
        bit = offset + at * step
        first = bit >> 3
        value = np.uint64(0)
        for byte in range(first + 7, first - 1, -1):
            value = (value << _BYTE) | np.uint64(row[byte])
        values[at] = (value >> np.uint64(bit & 7)) & mask


def unpack(
    row: NDArray[np.uint8], offset: int, step: int, width: int, count: int
) -> NDArray[np.uint64]:
    """Return ``count`` numbers of ``width`` bits that begin every ``step`` bits from ``offset`` on.

    Args:
        row: The bits, shape (bytes,), with eight spare bytes after the last number.
        offset: The first bit of the first number.
        step: The bits from one number's first to the next one's.
        width: At most 57.
        count: How many.
    """
    assert 0 <= width <= MOST_BITS
    assert count == 0 or (offset + (count - 1) * step) // 8 + 8 <= row.size
    values = np.zeros(count, np.uint64)
    _unpack(row, offset, step, width, values)
    return values


def as_floats(bits: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the single-precision numbers that these are the bits of."""
    return bits.astype(np.uint32).view(np.float32)
