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

from phrasescore.compiled import Records, compiled
from phrasescore.words.hashing import find_pair, move_pairs, pair_key
from phrasescore.words.word_table import WordTable

_SHIFT = np.uint64(32)
# a longer phrase by the phrase that lacks its last word, counted from 1, and by that word
_CHILD = np.dtype([("key", np.uint64), ("phrase", np.int32)])


class PhraseTrie(NamedTuple):
    """What compiled functions see of `SourcePhrases`.

    Attributes:
        slots: The table of pairs (`hashing.find_pair`) of phrases with one word more.
        size: One number, how many phrases there are, the empty one counted.
    """

    slots: Records
    size: NDArray[np.int64]


@compiled
def child(trie: PhraseTrie, phrase: int, word: int) -> int:
    """Return the phrase ``phrase word``, or -1 where the input has none."""
    key = pair_key(phrase + 1, word)
    entry = trie.slots[find_pair(trie.slots, key)]
    return np.int64(entry.phrase) if entry.key == key else -1


@compiled
def _add_spans(trie: PhraseTrie, words: NDArray[np.int32], longest: int) -> None:
    for start in range(words.size):
        phrase = np.int64(0)
        for end in range(start, min(start + longest, words.size)):
            key = pair_key(phrase + 1, words[end])
            entry = trie.slots[find_pair(trie.slots, key)]
            if entry.key != key:
                entry.key, entry.phrase = key, trie.size[0]
                trie.size[0] += 1
            phrase = np.int64(entry.phrase)


class SourcePhrases:
    """All spans of the input's sentences up to a length.

    Args:
        sentences: The input, one list of words for each sentence.
        longest: Words of the longest span.
    """

    def __init__(self, sentences: Sequence[Sequence[bytes]], longest: int) -> None:
        self.words = WordTable()
        self.trie = PhraseTrie(np.zeros(1 << 12, _CHILD), np.ones(1, np.int64))
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
        used = self.trie.slots[self.trie.slots["key"] != 0]
        shorter = np.zeros(len(self), np.int64)
        shorter[used["phrase"]] = (used["key"] >> _SHIFT).astype(np.int64) - 1
        phrases, words = np.flatnonzero(np.diff(first)), 0
        # each time round they lose their last words
        while np.any(phrases):
            phrases = shorter[phrases[phrases > 0]]
            words += 1
        return max(1, words)

    def _reserve(self, phrases: int) -> None:
        slots = self.trie.slots.size
        while 2 * (len(self) + phrases) > slots:
            slots *= 2
        if slots > self.trie.slots.size:
            grown = np.zeros(slots, _CHILD)
            move_pairs(self.trie.slots, grown)
            self.trie = self.trie._replace(slots=grown)
