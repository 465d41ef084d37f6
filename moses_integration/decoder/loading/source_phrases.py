"""The phrases that occur in the input, so that only their table entries need to be kept.

A trie over word ids, flat in one hash table: a phrase is a number, 0 the empty one, and (phrase,
word) leads to the phrase that is one word longer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.words.word_table import WordTable

_FREE = -1
_SHIFT = np.uint64(32)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class PhraseTrie(NamedTuple):
    """What compiled functions see of `SourcePhrases`.

    Attributes:
        keys: Phrase and word of each slot, the phrase in the upper half.
        children: The longer phrase, -1 where the slot is free; a power of two of slots.
        size: One number, how many phrases there are, the empty one counted.
    """

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]
    size: NDArray[np.int64]


@compiled
def _slot_of(trie: PhraseTrie, key: np.uint64) -> int:
    trie = borrowed(trie)
    mask = trie.children.size - 1
    digest = key * _MIX
    slot = np.int64((digest ^ (digest >> _SHIFT)) & np.uint64(mask))
    while trie.children[slot] != _FREE and trie.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def child(trie: PhraseTrie, phrase: int, word: int) -> int:
    """Return the phrase ``phrase word``, or -1 where the input has none."""
    trie = borrowed(trie)
    key = (np.uint64(phrase) << _SHIFT) | np.uint64(word)
    return np.int64(trie.children[_slot_of(trie, key)])


@compiled
def _add_spans(trie: PhraseTrie, words: NDArray[np.int32], longest: int) -> None:
    trie, words = borrowed((trie, words))
    for start in range(words.size):
        phrase = np.int64(0)
        for end in range(start, min(start + longest, words.size)):
            key = (np.uint64(phrase) << _SHIFT) | np.uint64(words[end])
            slot = _slot_of(trie, key)
            if trie.children[slot] == _FREE:
                trie.keys[slot] = key
                trie.children[slot] = trie.size[0]
                trie.size[0] += 1
            phrase = np.int64(trie.children[slot])


@compiled
def _move(old: PhraseTrie, new: PhraseTrie) -> None:
    old, new = borrowed((old, new))
    for slot in range(old.children.size):
        if old.children[slot] != _FREE:
            target = _slot_of(new, old.keys[slot])
            new.keys[target] = old.keys[slot]
            new.children[target] = old.children[slot]


def _empty_trie(slots: int) -> PhraseTrie:
    return PhraseTrie(
        np.zeros(slots, np.uint64), np.full(slots, _FREE, np.int32), np.ones(1, np.int64)
    )


class SourcePhrases:
    """All spans of the input's sentences up to a length.

    Args:
        sentences: The input, one list of words for each sentence.
        longest: Words of the longest span.
    """

    def __init__(self, sentences: Sequence[Sequence[bytes]], longest: int) -> None:
        self.words = WordTable()
        self.trie = _empty_trie(1 << 12)
        self.sentences: list[NDArray[np.int32]] = []
        numbers: dict[bytes, int] = {}
        digest = hashlib.sha256(b"%d\n" % longest)
        for sentence in sentences:
            digest.update(b" ".join(sentence) + b"\n")
            for word in sentence:
                if word not in numbers:
                    numbers[word] = self.words.add(word)
            ids = np.array([numbers[word] for word in sentence], np.int32)
            self._reserve(len(ids) * min(longest, len(ids)))
            _add_spans(self.trie, ids, longest)
            self.sentences.append(ids)
        self.digest = digest.hexdigest()

    def __len__(self) -> int:
        """How many phrases there are, the empty one counted."""
        return int(self.trie.size[0])

    def word_phrases(self) -> NDArray[np.int32]:
        """Return the phrase that each word is alone, shape (words,)."""
        return np.array([child(self.trie, 0, word) for word in range(len(self.words))], np.int32)

    def longest_of(self, first: NDArray[np.int64]) -> int:
        """Return the words of the longest phrase that has entries.

        Args:
            first: First entry of each phrase, shape (phrases + 1,).
        """
        used = self.trie.children >= 0
        parents, children = (
            (self.trie.keys[used] >> _SHIFT).astype(np.int64),
            self.trie.children[used],
        )
        shorter = np.zeros(len(self), np.int64)
        shorter[children] = parents
        phrases, words = np.flatnonzero(np.diff(first)), 0
        # each time round they lose their last words
        while np.any(phrases):
            phrases = shorter[phrases[phrases > 0]]
            words += 1
        return max(1, words)

    def _reserve(self, phrases: int) -> None:
        slots = self.trie.children.size
        if 2 * (len(self) + phrases) > slots:
            while 2 * (len(self) + phrases) > slots:
                slots *= 2
            grown = _empty_trie(slots)
            grown.size[0] = self.trie.size[0]
            _move(self.trie, grown)
            self.trie = grown
