"""The text to translate: its sentences, checked, and their phrases.

Sentences are checked for what the decoder would get wrong. Only table entries whose source is a
phrase of the input need to be kept, so the phrases form a trie over word ids, flat in one hash
table: a phrase is a number, 0 the empty one, and (phrase, word) leads to the phrase that is one
word longer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.settings import LONGEST_SENTENCE
from phrasescore.compiled import Records, borrowed, compiled
from phrasescore.errors import InputError
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import phrase_tokens
from phrasescore.words.hashing import find_pair, move_pairs, pair_key
from phrasescore.words.word_table import WordTable

# <x translation="...">, </x>, <x/>: what Moses would take for markup if it was told to
_MARKUP = re.compile(rb"<[A-Za-z][^<>]*=[^<>]*>|</[A-Za-z][^<>]*>|<[A-Za-z][^<>]*/>")
_LATTICE = re.compile(rb"\(\s*\(\s*\(\s*['\"]")
_ESCAPE = "escape special characters as Moses does (phrasescore preprocess does it)"
# a longer phrase by the phrase that lacks its last word, counted from 1, and by that word; and how
# many words it has
_CHILD = np.dtype([("key", np.uint64), ("phrase", np.int32), ("words", np.int32)])


def read_sentences(path: str | Path, *, longest: int = LONGEST_SENTENCE) -> list[tuple[bytes, ...]]:
    """Read sentences; an empty line is a sentence without words.

    Args:
        path: A plain or gzip file, or ``-``.
        longest: Words of the longest sentence that is accepted.

    Raises:
        InputError: The file cannot be read, or a line has a bar, a token in brackets, markup, a
            lattice or too many words; the error names it.
    """
    with open_input(path) as stream:
        lines = stream.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    sentences = []
    for number, line in enumerate(lines, 1):
        try:
            sentences.append(parse_sentence(line, longest=longest))
        except InputError as error:
            raise error.at(path, number) from None
    return sentences


def parse_sentence(line: bytes, *, longest: int = LONGEST_SENTENCE) -> tuple[bytes, ...]:
    """Split a line into words at spaces and tabs.

    Raises:
        InputError: What is wrong with it.

    >>> parse_sentence(b"a man &apos;s  hat ")
    (b'a', b'man', b'&apos;s', b'hat')
    """
    line = line.strip(b" \t\r")
    if b"\0" in line:
        raise InputError("binary data, where a line of text was expected")
    if _LATTICE.match(line):
        raise InputError(
            "this looks like a word lattice or confusion network, and only text is translated",
            remedy="decode lattices with Moses",
        )
    if markup := _MARKUP.search(line):
        raise InputError(
            f"XML markup ({_shown(markup[0])}), and only plain text is translated",
            remedy="remove the markup, or write < and > as &lt; and &gt;",
        )
    words = tuple(phrase_tokens(line))
    if len(words) > longest:
        raise InputError(
            f"{len(words)} words in one line, where at most {longest} are translated",
            remedy="put one sentence on a line, or raise --max-sentence-length",
        )
    _check_words(words)
    return words


def _check_words(words: Sequence[bytes]) -> None:
    for word in words:
        if b"|" in word:
            raise InputError(
                f"the word {_shown(word)} has an unescaped bar, which separates factors",
                remedy=f"write it as &#124;: {_ESCAPE}",
            )
        if len(word) > 1 and word.startswith(b"[") and word.endswith(b"]"):
            raise InputError(
                f"the word {_shown(word)} is in unescaped brackets, which mark non-terminals",
                remedy=f"write them as &#91; and &#93;: {_ESCAPE}",
            )


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace"))


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
    trie = borrowed(trie)
    key = pair_key(phrase + 1, word)
    entry = trie.slots[find_pair(trie.slots, key)]
    return np.int64(entry.phrase) if entry.key == key else -1


@compiled
def _add_spans(trie: PhraseTrie, words: NDArray[np.int32], longest: int) -> None:
    trie, words = borrowed((trie, words))
    for start in range(words.size):
        phrase = np.int64(0)
        for end in range(start, min(start + longest, words.size)):
            key = pair_key(phrase + 1, words[end])
            entry = trie.slots[find_pair(trie.slots, key)]
            if entry.key != key:
                entry.key, entry.phrase, entry.words = key, trie.size[0], end + 1 - start
                trie.size[0] += 1
            phrase = np.int64(entry.phrase)


@compiled
def _match_spans(
    trie: PhraseTrie,
    words: NDArray[np.int32],
    other: PhraseTrie,
    other_words: NDArray[np.int32],
    longest: int,
    numbers: NDArray[np.int32],
) -> None:
    trie, words, other, other_words, numbers = borrowed((trie, words, other, other_words, numbers))
    for start in range(words.size):
        own = found = np.int64(0)
        for end in range(start, min(start + longest, words.size)):
            own = child(trie, own, words[end])
            found = child(other, found, other_words[end]) if other_words[end] >= 0 else -1
            if found < 0:
                break
            numbers[own] = found


class SourcePhrases:
    """All spans of the input's sentences up to a length.

    Args:
        sentences: The input, one list of words for each sentence.
        longest: Words of the longest span.
    """

    def __init__(self, sentences: Sequence[Sequence[bytes]], longest: int) -> None:
        self.longest = longest
        self.words = WordTable()
        self.trie = PhraseTrie(np.zeros(1 << 12, _CHILD), np.ones(1, np.int64))
        self.sentences: list[NDArray[np.int32]] = []
        digest = hashlib.sha256(b"%d\n" % longest)
        for sentence in sentences:
            digest.update(b" ".join(sentence) + b"\n")
            ids = self.words.add_all(sentence)
            self._reserve(len(ids) * min(longest, len(ids)))
            _add_spans(self.trie, ids, longest)
            self.sentences.append(ids)
        self.digest = digest.hexdigest()

    def __len__(self) -> int:
        """How many phrases there are, the empty one counted."""
        return int(self.trie.size[0])

    def numbers_in(self, other: SourcePhrases) -> NDArray[np.int32]:
        """Return the number that each phrase has among others, -1 for none, shape (phrases,)."""
        numbers = np.full(len(self), -1, np.int32)
        known = other.words.find_spans(*self.words.spans())
        for words in self.sentences:
            _match_spans(self.trie, words, other.trie, known[words], self.longest, numbers)
        return numbers

    def word_phrases(self) -> NDArray[np.int32]:
        """Return the phrase that each word is alone, shape (words,)."""
        return np.array([child(self.trie, 0, word) for word in range(len(self.words))], np.int32)

    def longest_of(self, first: NDArray[np.int64]) -> int:
        """Return the words of the longest phrase that has entries.

        Args:
            first: First entry of each phrase, shape (phrases + 1,).
        """
        phrases = self.trie.slots[self.trie.slots["key"] != 0]
        has_entries = np.diff(first) > 0
        return int(phrases["words"][has_entries[phrases["phrase"]]].max(initial=1))

    def _reserve(self, phrases: int) -> None:
        slots = self.trie.slots.size
        while 2 * (len(self) + phrases) > slots:
            slots *= 2
        if slots > self.trie.slots.size:
            grown = np.zeros(slots, _CHILD)
            move_pairs(self.trie.slots, grown)
            self.trie = self.trie._replace(slots=grown)
