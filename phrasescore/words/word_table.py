"""Words as numbers: a table from byte strings to ids that compiled code can read and fill.

The words lie one after the other in one byte array; an open-addressing hash table holds their
ids. No Python object exists per word, so that a vocabulary of a million words loads in a blink.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Fowler-Noll-Vo 1a, 64 bit
_FNV_OFFSET = np.uint64(14695981039346656037)
_FNV_PRIME = np.uint64(1099511628211)
_SHIFT = np.uint64(32)
_FREE = -1


class WordArrays(NamedTuple):
    """What compiled functions see of a `WordTable`.

    Attributes:
        text: The bytes of all words, one after the other.
        ends: Word ``i`` is ``text[ends[i]:ends[i + 1]]``.
        slots: Open addressing: a word id, or -1 where free; the length is a power of two.
        size: One number, how many words there are.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    slots: NDArray[np.int32]
    size: NDArray[np.int64]


@njit(cache=True)
def find_slot(words: WordArrays, source: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the slot of the word ``source[start:stop]``, or where it would go."""
    digest = _FNV_OFFSET
    for at in range(start, stop):
        digest = (digest ^ np.uint64(source[at])) * _FNV_PRIME
    digest ^= digest >> _SHIFT
    mask = words.slots.size - 1
    slot = np.int64(digest & np.uint64(mask))
    length = stop - start
    while True:
        word = words.slots[slot]
        if word < 0:
            return slot
        begin = words.ends[word]
        if words.ends[word + 1] - begin == length:
            same = True
            for offset in range(length):
                if words.text[begin + offset] != source[start + offset]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask


@njit(cache=True)
def find_word(words: WordArrays, source: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the id of the word ``source[start:stop]``, or -1."""
    return np.int64(words.slots[find_slot(words, source, start, stop)])


@njit(cache=True)
def intern_word(words: WordArrays, source: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the id of the word ``source[start:stop]``, which is added if it is new.

    `WordTable.reserve` must have made room for it.
    """
    slot = find_slot(words, source, start, stop)
    if words.slots[slot] >= 0:
        return np.int64(words.slots[slot])
    word = words.size[0]
    begin = words.ends[word]
    for offset in range(stop - start):
        words.text[begin + offset] = source[start + offset]
    words.ends[word + 1] = begin + stop - start
    words.slots[slot] = word
    words.size[0] = word + 1
    return word


@njit(cache=True)
def _fill_slots(words: WordArrays) -> None:
    for word in range(words.size[0]):
        slot = find_slot(words, words.text, words.ends[word], words.ends[word + 1])
        words.slots[slot] = word


def as_array(data: bytes) -> NDArray[np.uint8]:
    """Copy ``data`` to an array that may be written (compiled code knows only that kind)."""
    return np.frombuffer(bytearray(data), np.uint8)


class WordTable:
    """A growing vocabulary; ids count from 0 in the order of arrival.

    >>> table = WordTable([b"<unk>", b"chat"])
    >>> table.id_of(b"chat"), table.id_of(b"chien"), table.word(1)
    (1, None, b'chat')
    """

    def __init__(self, words: list[bytes] | None = None) -> None:
        self.arrays = WordArrays(
            np.zeros(64, np.uint8),
            np.zeros(17, np.int64),
            np.full(32, _FREE, np.int32),
            np.zeros(1, np.int64),
        )
        for word in words or []:
            self.add(word)

    def __len__(self) -> int:
        return int(self.arrays.size[0])

    def reserve(self, words: int, text: int) -> None:
        """Make room for this many more words with this many bytes of text in all."""
        arrays, size = self.arrays, len(self)
        used = int(arrays.ends[size])
        if used + text > arrays.text.size:
            grown = np.zeros(max(used + text, 2 * arrays.text.size), np.uint8)
            grown[:used] = arrays.text[:used]
            arrays = arrays._replace(text=grown)
        if size + words + 1 > arrays.ends.size:
            ends = np.zeros(max(size + words + 1, 2 * arrays.ends.size), np.int64)
            ends[: size + 1] = arrays.ends[: size + 1]
            arrays = arrays._replace(ends=ends)
        if 2 * (size + words) > arrays.slots.size:
            length = 1 << (2 * (size + words) - 1).bit_length()
            arrays = arrays._replace(slots=np.full(length, _FREE, np.int32))
            _fill_slots(arrays)
        self.arrays = arrays

    def add(self, word: bytes) -> int:
        """Return the id of ``word``, which is added if it is new."""
        self.reserve(1, len(word))
        return int(intern_word(self.arrays, as_array(word), 0, len(word)))

    def id_of(self, word: bytes) -> int | None:
        """Return the id of ``word``, or nothing where the table has no such word."""
        found = int(find_word(self.arrays, as_array(word), 0, len(word)))
        return found if found >= 0 else None

    def word(self, number: int) -> bytes:
        """Return the word with this id."""
        start, stop = self.arrays.ends[number : number + 2]
        return self.arrays.text[start:stop].tobytes()
