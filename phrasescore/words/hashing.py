"""Hash functions and tables for compiled code, repeated phrases, and arrays that grow.

A table of pairs is an array of records whose field ``key`` holds a pair; the caller defines the
other fields. If a slot is occupied, the next slot is tried (open addressing), so there must always
be a free slot.

A table of rows works in the same way and finds equal rows of an array, such as bit sets. Each slot
holds the index of a row, or -1 if the slot is free.

Repeated phrases, in any order, are found with a hash table of 128-bit digests. Two different
phrases have equal digests with probability 2^-128, so a wrong match among 10^8 phrases has a
probability of about 10^-23.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, borrowed, compiled

# the initial digest of `hash_bytes`
HASH_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_MURMUR_1, _MURMUR_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT_29, _SHIFT_32, _SHIFT_33 = np.uint64(29), np.uint64(32), np.uint64(33)
# 2^64 divided by the golden ratio: products of successive numbers are far apart
PAIR_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FREE = np.uint64(0)
_SEED_1, _SEED_2 = PAIR_FACTOR, np.uint64(0xD1B54A32D192ED03)

Digests = NDArray[np.uint64]
Rows = NDArray[np.int64]
Growing = TypeVar("Growing", bound=NDArray[Any])


@compiled
def hash_bytes(data: NDArray[np.uint8], at: int, end: int, digest: np.uint64) -> np.uint64:
    """Add ``data[at:end]`` to an FNV-1a digest; the caller must mix high bits into the low bits."""
    for i in range(at, end):
        digest = (digest ^ np.uint64(data[i])) * _FNV_PRIME
    return digest


@compiled
def murmur_mix(value: np.uint64) -> np.uint64:
    """Spread a number's bits over all bits: the finaliser of MurmurHash3."""
    value = (value ^ (value >> _SHIFT_33)) * _MURMUR_1
    value = (value ^ (value >> _SHIFT_33)) * _MURMUR_2
    return value ^ (value >> _SHIFT_33)


@compiled
def pair_key(first: int, second: int) -> np.uint64:
    """Return two ids as one number; (0, 0) must not be a key, because it marks a free slot."""
    return (np.uint64(first) << _SHIFT_32) | np.uint64(second)


@compiled
def find_pair(slots: Records, key: np.uint64) -> int:
    """Return the slot that holds ``key``, or the free slot for it, whose key is 0."""
    slots = borrowed(slots)
    digest = key * PAIR_FACTOR
    digest = (digest ^ (digest >> _SHIFT_32)) * PAIR_FACTOR
    # scale the upper half of the digest to the number of slots, which need not be a power of two
    slot = np.int64(((digest >> _SHIFT_32) * np.uint64(slots.size)) >> _SHIFT_32)
    while slots[slot].key != key and slots[slot].key != _FREE:
        slot += 1
        if slot == slots.size:
            slot = 0
    return slot


@compiled
def move_pairs(old: Records, new: Records) -> None:
    """Copy all records of a table to a larger, empty table."""
    old, new = borrowed((old, new))
    for slot in range(old.size):
        if old[slot].key != _FREE:
            new[find_pair(new, old[slot].key)] = old[slot]


@compiled
def find_row(slots: NDArray[np.int32], rows: NDArray[np.generic], row: NDArray[np.generic]) -> int:
    """Return the slot of the row in ``rows`` that equals ``row``, or the free slot for ``row``."""
    slots, rows, row = borrowed((slots, rows, row))
    digest = np.uint64(row.size)
    for value in row:
        digest = (digest ^ np.uint64(value)) * PAIR_FACTOR
        digest ^= digest >> _SHIFT_29
    slot = np.int64(((digest >> _SHIFT_32) * np.uint64(slots.size)) >> _SHIFT_32)
    while slots[slot] >= 0:
        same = True
        for at in range(row.size):
            same &= rows[slots[slot], at] == row[at]
        if same:
            break
        slot = slot + 1 if slot + 1 < slots.size else 0
    return slot


@compiled
def fill_row_slots(slots: NDArray[np.int32], rows: NDArray[np.generic], count: int) -> None:
    """Fill ``slots`` with the first ``count`` rows, which are all different."""
    slots[:] = -1
    for number in range(count):
        slots[find_row(slots, rows, rows[number])] = number


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
        first, second = murmur_mix(_SEED_1 + length), murmur_mix(_SEED_2 + length)
        for i in range(offsets[row], offsets[row + 1]):
            word = np.uint64(types[i])
            first = murmur_mix((first ^ word) + _SEED_1)
            second = murmur_mix((second ^ word) + _SEED_2)
        digests[row, 0], digests[row, 1] = first, second
    return digests


@compiled
def pair_digests(sources: Digests, targets: Digests) -> Digests:
    """Digest every pair from the digests of its two phrases; all (N, 2) uint64."""
    digests = np.empty((len(sources), 2), np.uint64)
    for row in range(len(sources)):
        digests[row, 0] = murmur_mix(murmur_mix(sources[row, 0] + _SEED_1) ^ targets[row, 0])
        digests[row, 1] = murmur_mix(murmur_mix(sources[row, 1] + _SEED_2) ^ targets[row, 1])
    return digests


def first_rows(digests: Digests) -> Rows:
    """Find for every row the first row with the same digest.

    Args:
        digests: (N, 2) uint64.

    Returns:
        (N,) int64; for the first row with a digest, its own index.

    >>> first_rows(np.array([[7, 7], [1, 2], [7, 7]], np.uint64)).tolist()
    [0, 1, 0]
    """
    first = np.empty(len(digests), np.int64)
    slots = np.full(1 << (2 * len(digests)).bit_length(), -1, np.int32)
    _find_first_rows(digests, slots, first)
    return first


@compiled
def _find_first_rows(digests: Digests, slots: NDArray[np.int32], first: Rows) -> None:
    """Look up or add every row in ``slots``, a hash table of rows; -1 is a free slot."""
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


def is_first(digests: Digests) -> NDArray[np.bool_]:
    """Return a mask ``(N,)`` of the rows whose digest no earlier row has; see `first_rows`."""
    return first_rows(digests) == np.arange(len(digests))


def with_room(array: Growing, needed: int) -> Growing:
    """Return an array with at least ``needed`` rows: the array itself, or a longer copy.

    A copy is at least twice as long as the array, so that the total time for copies stays
    proportional to the number of rows added. The new rows are 0.
    """
    if needed <= len(array):
        return array
    longer = np.zeros((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return cast(Growing, longer)
