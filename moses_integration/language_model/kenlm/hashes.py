"""Which n-grams have the keys of a KenLM probing table.

The key of an n-gram follows from the key of its suffix (all words but the first) and the first
word; KenLM's lm/search_hashed.hh has the formula. Nothing leads back, so n-grams are tried. Half of
the formula is the suffix's, half is the first word's, and joining two halves is one XOR. A bitmap
over the first bits of the keys turns nearly all others away. Both halves are sorted and tried tile
by tile, so that a tile's keys agree in their first bits and ask a part of the bitmap that fits a
cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled

_SUFFIX_FACTOR = np.uint64(8978948897894561157)
_WORD_FACTOR = np.uint64(17894857484156487943)
_LOW_BITS = np.uint64(63)
_WORD_BITS = np.uint64(6)
_ONE = np.uint64(1)
_BITMAP_BITS_PER_KEY = 16
_TILE = 256  # halves on each side


def suffix_halves(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the half of a longer n-gram's key that comes from the key of its suffix."""
    return keys * _SUFFIX_FACTOR


def word_halves(words: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the half of an n-gram's key that comes from its first word."""
    return (words.astype(np.uint64) + _ONE) * _WORD_FACTOR


def keys_of(words: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the keys of n-grams, shape (rows, order); a word's is its id, that of none is 0."""
    rows, order = words.shape
    if not order:
        return np.zeros(rows, np.uint64)
    keys = words[:, -1].astype(np.uint64)
    for position in range(order - 2, -1, -1):
        keys = suffix_halves(keys) ^ word_halves(words[:, position])
    return keys


class KeyIndex(NamedTuple):
    """Sorted keys, to be asked for quickly.

    Attributes:
        keys: All different, ascending, shape (keys,).
        bitmap: One bit for each value of a key's first bits: whether a key has it.
        bitmap_shift: What to shift a key by to have these bits.
        starts: Where the keys with each value of the first few bits start, and their number.
        starts_shift: What to shift a key by to have those.
    """

    keys: NDArray[np.uint64]
    bitmap: NDArray[np.uint64]
    bitmap_shift: np.uint64
    starts: NDArray[np.int64]
    starts_shift: np.uint64

    @classmethod
    def of(cls, keys: NDArray[np.uint64]) -> KeyIndex:
        """Index ascending keys."""
        bits = max(6, (keys.size * _BITMAP_BITS_PER_KEY - 1).bit_length())
        fewer_bits = max(1, keys.size.bit_length() - 1)
        bitmap = np.zeros(1 << (bits - 6), np.uint64)
        set_bits(bitmap, keys, np.uint64(64 - bits))
        shift = np.uint64(64 - fewer_bits)
        first = np.arange(1 << fewer_bits, dtype=np.uint64) << shift
        starts = np.append(np.searchsorted(keys, first), keys.size).astype(np.int64)
        return cls(keys, bitmap, np.uint64(64 - bits), starts, shift)


@compiled
def set_bits(bitmap: NDArray[np.uint64], keys: NDArray[np.uint64], shift: np.uint64) -> None:
    """Set the bit of each key."""
    for at in range(keys.size):
        bit = keys[at] >> shift
        bitmap[bit >> _WORD_BITS] |= _ONE << (bit & _LOW_BITS)


@compiled
def find_key(index: KeyIndex, key: np.uint64) -> int:
    """Return the position of a key, or -1."""
    bucket = np.int64(key >> index.starts_shift)
    for at in range(index.starts[bucket], index.starts[bucket + 1]):
        if index.keys[at] == key:
            return at
    return -1


class Halves(NamedTuple):
    """The two halves of all keys that may occur.

    Attributes:
        suffix: Halves of suffixes, shape (rows,).
        start: The first of the word halves to be tried with each, shape (rows,).
        stop: Behind the last of them, shape (rows,).
        word: Halves of first words.
    """

    suffix: NDArray[np.uint64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    word: NDArray[np.uint64]


class Matches(NamedTuple):
    """Room for what is found.

    Attributes:
        key: Position in the index, shape (capacity,).
        suffix: Position among the suffix halves, shape (capacity,).
        word: Position among the word halves, shape (capacity,).
    """

    key: NDArray[np.int64]
    suffix: NDArray[np.int64]
    word: NDArray[np.int64]


@compiled
def find_matches(
    halves: Halves, first: int, last: int, index: KeyIndex, matches: Matches, found: int
) -> int:
    """Try the suffix halves ``first`` to ``last - 1`` with their word halves.

    Args:
        halves: The halves; best sorted by value where they share their partners.
        first: The first suffix half.
        last: Behind the last one.
        index: The keys that there are.
        matches: Receives the pairs whose key is one.
        found: How many pairs are there already.

    Returns:
        How many pairs there are now; more than there is room for are counted, but lost.
    """
    halves, index, matches = borrowed((halves, index, matches))
    row = first
    while row < last:
        start, stop = halves.start[row], halves.stop[row]
        end = row + 1
        while end < last and end - row < _TILE and halves.start[end] == start:
            if halves.stop[end] != stop:
                break
            end += 1
        for low in range(start, stop, _TILE):
            high = min(low + _TILE, stop)
            for suffix in range(row, end):
                half = halves.suffix[suffix]
                for word in range(low, high):
                    key = half ^ halves.word[word]
                    bit = key >> index.bitmap_shift
                    if (index.bitmap[bit >> _WORD_BITS] >> (bit & _LOW_BITS)) & _ONE:
                        at = find_key(index, key)
                        if at >= 0:
                            if found < matches.key.size:
                                matches.key[found] = at
                                matches.suffix[found] = suffix
                                matches.word[found] = word
                            found += 1
        row = end
    return found
