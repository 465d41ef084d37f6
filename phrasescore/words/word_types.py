"""The distinct words (types) of a text, numbered in order of appearance, without Python objects.

An open-addressing hash table over flat byte arrays, filled and searched by compiled loops. Words
are compared byte by byte, so two words never share a number whatever their hashes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_EMPTY = -1
_FIRST_SLOTS = 1 << 12
# FNV-1a, and the finaliser of MurmurHash3 that spreads its low bits
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


class WordTypes:
    """Words and their numbers, both ways.

    >>> types = WordTypes()
    >>> types.number_all([b"la", b"maison", b"la"]).tolist(), types.words()
    ([0, 1, 0], [b'la', b'maison'])
    """

    def __init__(self) -> None:
        self._count = 0
        self._slots = np.full(_FIRST_SLOTS, _EMPTY, np.int32)
        self._hashes = np.empty(_FIRST_SLOTS // 2, np.uint64)
        self._offsets = np.zeros(_FIRST_SLOTS // 2 + 1, np.int64)
        self._bytes = np.empty(_FIRST_SLOTS, np.uint8)

    def __len__(self) -> int:
        return self._count

    def number(self, data: NDArray[np.uint8], begins: Any, ends: Any) -> NDArray[np.int32]:
        """Return the number of each word, giving new words the next numbers.

        Args:
            data: uint8, the bytes the words are in.
            begins: (tokens,) int64, where each begins.
            ends: (tokens,) int64, the byte after its last.
        """
        self._make_room(len(begins), int((ends - begins).sum()))
        numbers = np.empty(len(begins), np.int32)
        arrays = (self._slots, self._hashes, self._offsets, self._bytes)
        self._count = _number(data, begins, ends, *arrays, self._count, numbers)
        return numbers

    def find(self, data: NDArray[np.uint8], begins: Any, ends: Any) -> NDArray[np.int32]:
        """Return the number of each word, -1 for one that is not here; add none."""
        numbers = np.empty(len(begins), np.int32)
        arrays = (self._slots, self._hashes, self._offsets, self._bytes)
        _find(data, begins, ends, *arrays, numbers)
        return numbers

    def number_all(self, words: Sequence[bytes]) -> NDArray[np.int32]:
        """Return the number of each word of a list, giving new words the next numbers."""
        ends = np.cumsum([len(word) for word in words], dtype=np.int64)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        return self.number(np.frombuffer(b"".join(words) or b"\0", np.uint8), begins, ends)

    def words(self) -> list[bytes]:
        """Return all words by number."""
        text = self._bytes[: self._offsets[self._count]].tobytes()
        offsets = self._offsets[: self._count + 1].tolist()
        return [text[begin:end] for begin, end in itertools.pairwise(offsets)]

    def _make_room(self, words: int, size: int) -> None:
        """Make sure that this many new words with this many bytes in all would fit."""
        needed = self._count + words
        if 2 * needed > len(self._slots):
            slots = 1 << (2 * needed - 1).bit_length()
            self._slots = np.full(slots, _EMPTY, np.int32)
            _place_again(self._slots, self._hashes, self._count)
            self._hashes = _grown(self._hashes, slots // 2)
            self._offsets = _grown(self._offsets, slots // 2 + 1)
        used = int(self._offsets[self._count])
        if used + size > len(self._bytes):
            self._bytes = _grown(self._bytes, 2 * (used + size))


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@njit(cache=True, nogil=True)
def _hash(data: Any, begin: int, end: int) -> np.uint64:
    value = _FNV_OFFSET
    for i in range(begin, end):
        value = (value ^ np.uint64(data[i])) * _FNV_PRIME
    value = (value ^ (value >> _SHIFT)) * _MIX_1
    value = (value ^ (value >> _SHIFT)) * _MIX_2
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True)
def _same(data: Any, begin: int, length: int, text: Any, text_begin: int) -> bool:
    for i in range(length):  # noqa: SIM110 - compiled, and a generator is not
        if data[begin + i] != text[text_begin + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _slot_of(
    data: Any, begin: int, end: int, value: Any, slots: Any, hashes: Any, offsets: Any, text: Any
) -> int:
    """The slot that holds the word, or the empty one where it belongs."""
    mask = len(slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while slots[slot] != _EMPTY:
        word = slots[slot]
        if (
            hashes[word] == value
            and offsets[word + 1] - offsets[word] == end - begin
            and _same(data, begin, end - begin, text, offsets[word])
        ):
            return slot
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _number(
    data: Any,
    begins: Any,
    ends: Any,
    slots: Any,
    hashes: Any,
    offsets: Any,
    text: Any,
    count: int,
    numbers: Any,
) -> int:
    for i in range(len(begins)):
        begin, end = begins[i], ends[i]
        value = _hash(data, begin, end)
        slot = _slot_of(data, begin, end, value, slots, hashes, offsets, text)
        if slots[slot] == _EMPTY:
            slots[slot] = count
            hashes[count] = value
            start = offsets[count]
            for j in range(end - begin):
                text[start + j] = data[begin + j]
            count += 1
            offsets[count] = start + end - begin
        numbers[i] = slots[slot]
    return count


@njit(cache=True, nogil=True)
def _find(
    data: Any,
    begins: Any,
    ends: Any,
    slots: Any,
    hashes: Any,
    offsets: Any,
    text: Any,
    numbers: Any,
) -> None:
    for i in range(len(begins)):
        value = _hash(data, begins[i], ends[i])
        slot = _slot_of(data, begins[i], ends[i], value, slots, hashes, offsets, text)
        numbers[i] = slots[slot]


@njit(cache=True, nogil=True)
def _place_again(slots: Any, hashes: Any, count: int) -> None:
    mask = len(slots) - 1
    for word in range(count):
        slot = np.int64(hashes[word] & np.uint64(mask))
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = word
