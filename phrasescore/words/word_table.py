"""A table from words to ids that compiled code can read and fill.

The bytes of all words are in one array, and an open-addressing hash table holds the words' ids. No
word has a Python object of its own, so a vocabulary of a million words loads quickly. Words are
compared byte by byte, so two words never have the same id, even if their hashes are equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.table.byte_scanning import (
    LINE_FEED,
    SPACE,
    SPACE_ONLY,
    Bytes,
    find_byte,
    same_bytes,
    token_begin,
    token_end,
)
from phrasescore.words.hashing import HASH_START, hash_bytes, with_room
from phrasescore.words.token_sequences import offsets_of

_SHIFT = np.uint64(32)
_FREE = -1
Positions = NDArray[np.int64]


class WordArrays(NamedTuple):
    """The arrays of a `WordTable`, which are arguments of compiled functions.

    Attributes:
        text: The bytes of all words, one after the other.
        ends: Word ``i`` is ``text[ends[i]:ends[i + 1]]``.
        slots: The hash table: a word id, or -1 for a free slot; the length is a power of two.
        size: An array of one element, the number of words.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    slots: NDArray[np.int32]
    size: NDArray[np.int64]


@compiled
def find_slot(words: WordArrays, source: Bytes, start: int, stop: int) -> int:
    """Return the slot of the word ``source[start:stop]``, or the free slot for it."""
    words, source = borrowed((words, source))
    digest = hash_bytes(source, start, stop, HASH_START)
    # in FNV, a bit of a word affects no lower bit of the digest, but the mask keeps the low bits
    digest ^= digest >> _SHIFT
    mask = words.slots.size - 1
    slot = np.int64(digest & np.uint64(mask))
    length = stop - start
    while words.slots[slot] >= 0:
        begin = words.ends[words.slots[slot]]
        if words.ends[words.slots[slot] + 1] - begin == length and same_bytes(
            source, start, words.text, begin, length
        ):
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def find_word(words: WordArrays, source: Bytes, start: int, stop: int) -> int:
    """Return the id of the word ``source[start:stop]``, or -1."""
    words, source = borrowed((words, source))
    return np.int64(words.slots[find_slot(words, source, start, stop)])


@compiled
def intern_word(words: WordArrays, source: Bytes, start: int, stop: int) -> int:
    """Return the id of the word ``source[start:stop]``; add the word if it is new.

    The caller must have reserved room with `WordTable.reserve`.
    """
    words, source = borrowed((words, source))
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


@compiled
def number_words(
    words: WordArrays,
    source: Bytes,
    at: int,
    end: int,
    separators: int,
    grow: bool,
    ids: NDArray[np.int32],
    count: int,
) -> int:
    """Append the ids of all words in ``source[at:end]``; return the new number of ids.

    Args:
        words: The table.
        source: A text.
        at: The position to begin at.
        end: The position to stop at.
        separators: The bytes that separate words (see `byte_scanning`).
        grow: Whether to add new words; otherwise their id is -1.
        ids: Receives the ids, from position ``count`` on.
        count: The number of ids that ``ids`` already contains.
    """
    words, source, ids = borrowed((words, source, ids))
    while True:
        at = token_begin(source, at, end, separators)
        if at == end:
            return count
        stop = token_end(source, at, end, separators)
        if grow:
            ids[count] = intern_word(words, source, at, stop)
        else:
            ids[count] = find_word(words, source, at, stop)
        count += 1
        at = stop


@compiled
def _number_lines(
    words: WordArrays,
    data: Bytes,
    separators: int,
    grow: bool,
    ids: NDArray[np.int32],
    offsets: Positions,
) -> None:
    begin = count = 0
    for line in range(offsets.size - 1):
        end = find_byte(data, begin, data.size, LINE_FEED)
        count = number_words(words, data, begin, end, separators, grow, ids, count)
        offsets[line + 1] = count
        begin = end + 1


@compiled
def _number_spans(
    words: WordArrays,
    data: Bytes,
    begins: Positions,
    ends: Positions,
    grow: bool,
    ids: NDArray[np.int32],
) -> None:
    words, data, begins, ends, ids = borrowed((words, data, begins, ends, ids))
    for i in range(len(begins)):
        if grow:
            ids[i] = intern_word(words, data, begins[i], ends[i])
        else:
            ids[i] = find_word(words, data, begins[i], ends[i])


@compiled
def _fill_slots(words: WordArrays) -> None:
    words = borrowed(words)
    for word in range(words.size[0]):
        slot = find_slot(words, words.text, words.ends[word], words.ends[word + 1])
        words.slots[slot] = word


def as_array(data: bytes) -> NDArray[np.uint8]:
    """Copy ``data`` to a writable array, because functions are compiled for writable arrays."""
    return np.frombuffer(bytearray(data), np.uint8)


class WordTable:
    """A growing vocabulary; ids are numbers from 0, in the order in which words were added.

    >>> table = WordTable([b"<unk>", b"chat"])
    >>> table.id_of(b"chat"), table.id_of(b"chien"), table.word(1)
    (1, None, b'chat')
    """

    def __init__(self, words: Sequence[bytes] = ()) -> None:
        self.arrays = WordArrays(
            np.zeros(64, np.uint8),
            np.zeros(17, np.int64),
            np.full(32, _FREE, np.int32),
            np.zeros(1, np.int64),
        )
        self.add_all(words)

    @classmethod
    def from_arrays(cls, *arrays: NDArray[Any]) -> WordTable:
        """Return a table that consists of the arrays of another table."""
        table = cls()
        table.arrays = WordArrays(*arrays)
        return table

    def __len__(self) -> int:
        return int(self.arrays.size[0])

    def reserve(self, words: int, text: int) -> None:
        """Make room for ``words`` more words, which have ``text`` bytes in all."""
        size = len(self)
        self.arrays = self.arrays._replace(
            text=with_room(self.arrays.text, int(self.arrays.ends[size]) + text),
            ends=with_room(self.arrays.ends, size + words + 1),
        )
        if 2 * (size + words) > self.arrays.slots.size:
            self._hash(size + words)

    def trim(self) -> None:
        """Free memory that was reserved for words but not used."""
        arrays, size = self.arrays, len(self)
        self.arrays = arrays._replace(
            text=arrays.text[: arrays.ends[size]].copy(), ends=arrays.ends[: size + 1].copy()
        )
        self._hash(size)

    def _hash(self, words: int) -> None:
        """Make a hash table with room for ``words`` words, at most half full."""
        length = 1 << (2 * words - 1).bit_length()
        self.arrays = self.arrays._replace(slots=np.full(length, _FREE, np.int32))
        _fill_slots(self.arrays)

    def add_spans(self, data: Bytes, begins: Positions, ends: Positions) -> NDArray[np.int32]:
        """Return the ids of n words; new words are added.

        Args:
            data: uint8, the bytes that contain the words.
            begins: (n,) int64, the first byte of each word.
            ends: (n,) int64, the byte after each word.
        """
        self.reserve(len(begins), int((ends - begins).sum()))
        ids = np.empty(len(begins), np.int32)
        _number_spans(self.arrays, data, begins, ends, True, ids)
        return ids

    def find_spans(self, data: Bytes, begins: Positions, ends: Positions) -> NDArray[np.int32]:
        """Like `add_spans`, return the ids of words, but -1 for a word that is not in the table."""
        ids = np.empty(len(begins), np.int32)
        _number_spans(self.arrays, data, begins, ends, False, ids)
        return ids

    def encode_lines(
        self, text: bytes, *, grow: bool, separators: int = SPACE_ONLY
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the ids of the words of N lines, and ``(N + 1,)`` where each line's ids begin.

        Args:
            text: Whole lines, each with its line feed.
            grow: Whether to add new words; otherwise their id is -1.
            separators: The bytes that separate words (see `byte_scanning`).
        """
        data = as_array(text)
        # each word is followed by a separator or a line feed
        max_words = int(np.count_nonzero(data <= SPACE))
        if grow:
            self.reserve(max_words, len(text))
        ids, offsets = np.empty(max_words, np.int32), np.zeros(text.count(b"\n") + 1, np.int64)
        _number_lines(self.arrays, data, separators, grow, ids, offsets)
        return ids[: offsets[-1]], offsets

    def add_all(self, words: Sequence[bytes]) -> NDArray[np.int32]:
        """Return the ids of the words of a list; new words are added in their order."""
        offsets = offsets_of([len(word) for word in words])
        return self.add_spans(as_array(b"".join(words)), offsets[:-1], offsets[1:])

    def id_of(self, word: bytes) -> int | None:
        """Return the id of ``word``, or ``None`` if it is not in the table."""
        found = int(find_word(self.arrays, as_array(word), 0, len(word)))
        return found if found >= 0 else None

    def word(self, number: int) -> bytes:
        """Return the word with this id."""
        start, stop = self.arrays.ends[number : number + 2]
        return self.arrays.text[start:stop].tobytes()

    def spans(self) -> tuple[Bytes, Positions, Positions]:
        """Return all words in the order of their ids, as arguments for `add_spans`."""
        ends = self.arrays.ends[: len(self) + 1]
        return self.arrays.text, ends[:-1], ends[1:]

    def words(self) -> list[bytes]:
        """Return all words in the order of their ids."""
        ends = self.arrays.ends[: len(self) + 1].tolist()
        text = self.arrays.text[: ends[-1]].tobytes()
        return [text[begin:end] for begin, end in itertools.pairwise(ends)]
