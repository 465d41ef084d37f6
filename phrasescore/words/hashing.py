"""Hashes that compiled code shares: of bytes, and of whole numbers; all 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled

# where `hash_bytes` starts
HASH_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_MURMUR_1, _MURMUR_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SPLITMIX_1, _SPLITMIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT_27, _SHIFT_30 = np.uint64(27), np.uint64(30)
_SHIFT_31, _SHIFT_33 = np.uint64(31), np.uint64(33)


@compiled
def hash_byte(digest: Any, byte: int) -> Any:
    """Add one byte to a digest (FNV-1a)."""
    return (digest ^ np.uint64(byte)) * _FNV_PRIME


@compiled
def hash_bytes(data: NDArray[np.uint8], at: int, end: int, digest: Any) -> Any:
    """Add ``data[at:end]`` to a digest; its low bits want mixing."""
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
