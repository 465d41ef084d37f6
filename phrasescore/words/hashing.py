"""Hash functions for compiled code, and a hash table with pairs of ids as keys.

A table is an array of records whose field ``key`` holds a pair; the caller defines the other
fields. Collisions go to the next slot (open addressing), so there must always be a free slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, borrowed, compiled

# the initial digest of `hash_bytes`
HASH_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_MURMUR_1, _MURMUR_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SPLITMIX_1, _SPLITMIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_27, _SHIFT_30 = np.uint64(27), np.uint64(30)
_SHIFT_31, _SHIFT_32, _SHIFT_33 = np.uint64(31), np.uint64(32), np.uint64(33)
# 2^64 divided by the golden ratio: neighbouring numbers land far apart
PAIR_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FREE = np.uint64(0)


@compiled
def hash_byte(digest: Any, byte: int) -> Any:
    """Add one byte to a digest (FNV-1a)."""
    return (digest ^ np.uint64(byte)) * _FNV_PRIME


@compiled
def hash_bytes(data: NDArray[np.uint8], at: int, end: int, digest: Any) -> Any:
    """Add ``data[at:end]`` to a digest, whose low bits still need mixing."""
    for i in range(at, end):
        digest = hash_byte(digest, data[i])
    return digest


@compiled
def murmur_mix(value: Any) -> Any:
    """Spread a number's bits over all bits: the finaliser of MurmurHash3."""
    value = (value ^ (value >> _SHIFT_33)) * _MURMUR_1
    value = (value ^ (value >> _SHIFT_33)) * _MURMUR_2
    return value ^ (value >> _SHIFT_33)


@compiled
def splitmix(value: Any) -> Any:
    """Spread a number's bits over all bits, unlike `murmur_mix`: the finaliser of splitmix64."""
    value = (value ^ (value >> _SHIFT_30)) * _SPLITMIX_1
    value = (value ^ (value >> _SHIFT_27)) * _SPLITMIX_2
    return value ^ (value >> _SHIFT_31)


@compiled
def pair_key(first: int, second: int) -> np.uint64:
    """Return two ids as one number; the number of (0, 0) marks a free slot, so (0, 0) is no key."""
    return (np.uint64(first) << _SHIFT_32) | np.uint64(second)


@compiled
def find_pair(slots: Records, key: np.uint64) -> int:
    """Return the slot that holds ``key``, or the free slot for it."""
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
    """Copy all records of a table to a larger, empty one."""
    old, new = borrowed((old, new))
    for slot in range(old.size):
        if old[slot].key != _FREE:
            new[find_pair(new, old[slot].key)] = old[slot]
