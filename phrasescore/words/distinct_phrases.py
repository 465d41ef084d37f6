"""Repeated phrases, found by 128-bit digests in a hash table.

A table need not be sorted. Two different phrases share a digest with probability 2^-128, so a wrong
match among 10^8 phrases has a probability of about 10^-23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from phrasescore.words.hashing import murmur_mix, splitmix

Digests = NDArray[np.uint64]
Rows = NDArray[np.int64]

_FREE = -1
_SEED_1, _SEED_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


@compiled
def phrase_digests(types: NDArray[np.int32], offsets: Rows) -> Digests:
    """Digest every phrase.

    Args:
        types: (tokens,) int32, word numbers, one phrase after the other.
        offsets: (N + 1,) int64, the start of each phrase.

    Returns:
        (N, 2) uint64.
    """
    digests = np.empty((len(offsets) - 1, 2), np.uint64)
    for row in range(len(digests)):
        length = np.uint64(offsets[row + 1] - offsets[row])
        first, second = murmur_mix(_SEED_1 + length), splitmix(_SEED_2 + length)
        for i in range(offsets[row], offsets[row + 1]):
            word = np.uint64(types[i])
            first = murmur_mix((first ^ word) + _SEED_1)
            second = splitmix((second ^ word) + _SEED_2)
        digests[row, 0], digests[row, 1] = first, second
    return digests


@compiled
def pair_digests(sources: Digests, targets: Digests) -> Digests:
    """Digest every pair from the digests of its two phrases; all (N, 2) uint64."""
    digests = np.empty((len(sources), 2), np.uint64)
    for row in range(len(sources)):
        digests[row, 0] = murmur_mix(murmur_mix(sources[row, 0] + _SEED_1) ^ targets[row, 0])
        digests[row, 1] = splitmix(splitmix(sources[row, 1] + _SEED_2) ^ targets[row, 1])
    return digests


def first_rows(digests: Digests) -> Rows:
    """Find for every row the first row with the same digest.

    Args:
        digests: (N, 2) uint64.

    Returns:
        (N,) int64; the first row with a digest is its own first row.

    >>> first_rows(np.array([[7, 7], [1, 2], [7, 7]], np.uint64)).tolist()
    [0, 1, 0]
    """
    first = np.empty(len(digests), np.int64)
    slots = np.full(1 << (2 * len(digests)).bit_length(), _FREE, np.int32)
    _find_first_rows(digests, slots, first)
    return first


@compiled
def _find_first_rows(digests: Digests, slots: NDArray[np.int32], first: Rows) -> None:
    """Look up every row in ``slots``, a hash table of rows with open addressing."""
    mask = np.uint64(slots.size - 1)
    for row in range(len(digests)):
        slot = digests[row, 0] & mask
        while slots[slot] >= 0 and (
            digests[slots[slot], 0] != digests[row, 0] or digests[slots[slot], 1] != digests[row, 1]
        ):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = row
        first[row] = slots[slot]


def is_first(first: Rows) -> NDArray[np.bool_]:
    """Return (N,) bool: whether each row is the first with its digest."""
    return first == np.arange(len(first))
