"""The text to translate: its checked sentences, and their phrases.

Sentences with text that the decoder would misread are refused. Only table entries whose source is a
phrase of the input are kept. To find these entries, the phrases of the input are stored in a trie
over word ids. One hash table holds the trie: each phrase has an index (0 for the empty phrase), and
the key of every other phrase is the pair (phrase without its last word, last word).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.settings import LONGEST_SENTENCE
from phrasescore.compiled import Records, borrowed, compiled
from phrasescore.errors import InputError, located
from phrasescore.table.input_files import read_lines
from phrasescore.table.phrase_table import phrase_tokens
from phrasescore.words.hashing import find_pair, move_pairs, pair_key
from phrasescore.words.word_table import WordTable

_ESCAPE = "escape special characters as Moses does (phrasescore preprocess and decode --raw do it)"
# text that the decoder would misread, the problem, and a remedy; each pattern fixes where a match
# can begin and end, because otherwise the search in a long word would take quadratic time
_REFUSED = (
    (rb"\0()", "binary data, where a line of text was expected", None),
    (
        rb"^(\(\s*\(\s*\(\s*['\"])",
        "this looks like a word lattice or confusion network, and only text is translated",
        "decode lattices with Moses",
    ),
    # <x translation="...">, </x>, <x/>: markup for Moses's option -xml-input
    (
        rb"(<[A-Za-z][^<>=]*=[^<>]*>|</[A-Za-z][^<>]*>|<[A-Za-z][^<>]*/>)",
        "XML markup ({}), and only plain text is translated",
        "remove the markup, or write < and > as &lt; and &gt;",
    ),
    (
        rb"(?<![^ \t])([^ \t|]*\|[^ \t]*)",
        "the word {} has an unescaped bar, which separates factors",
        f"write it as &#124;: {_ESCAPE}",
    ),
    (
        rb"(?<![^ \t])(\[[^ \t]*\])(?![^ \t])",
        "the word {} is in unescaped brackets, which mark non-terminals",
        f"write them as &#91; and &#93;: {_ESCAPE}",
    ),
)
# the key combines the index of a phrase, plus 1, with the next word; the value is the index of the
# longer phrase, and its number of words
_CHILD = np.dtype([("key", np.uint64), ("phrase", np.int32), ("words", np.int32)])


def read_sentences(path: str | Path, *, longest: int = LONGEST_SENTENCE) -> list[tuple[bytes, ...]]:
    """Read sentences from a plain or gzip file, or ``-``; see `parse_sentences`."""
    return parse_sentences(read_lines(path), path, longest=longest)


def parse_sentences(
    lines: Iterable[bytes], path: str | Path, *, longest: int = LONGEST_SENTENCE
) -> list[tuple[bytes, ...]]:
    """Split lines into words; an empty line is a sentence without words.

    Args:
        lines: The lines.
        path: The file of the lines, for errors.
        longest: The maximum number of words of a sentence.

    Raises:
        InputError: The file cannot be read, or a line has a bar, a token in brackets, markup, a
            lattice or too many words; the error names the line.
    """
    sentences = []
    for number, line in enumerate(lines, 1):
        with located(path, number):
            sentences.append(parse_sentence(line, longest=longest))
    return sentences


def parse_sentence(line: bytes, *, longest: int = LONGEST_SENTENCE) -> tuple[bytes, ...]:
    """Split a line into words at spaces and tabs.

    Raises:
        InputError: The line has a bar, a token in brackets, markup, a lattice or too many words.

    >>> parse_sentence(b"a man &apos;s  hat ")
    (b'a', b'man', b'&apos;s', b'hat')
    """
    line = line.strip(b" \t\r")
    for pattern, problem, remedy in _REFUSED:
        if found := re.search(pattern, line):
            shown = repr(found[1][:40].decode("utf-8", "replace"))
            raise InputError(problem.format(shown), remedy=remedy)
    words = tuple(phrase_tokens(line))
    if len(words) > longest:
        raise InputError(
            f"{len(words)} words in one line, where at most {longest} are translated",
            remedy="put one sentence on each line; decode and force-score can be given a larger "
            "--max-sentence-length",
        )
    return words


class PhraseTrie(NamedTuple):
    """The arrays of `SourcePhrases` for compiled functions.

    Attributes:
        slots: A hash table (`hashing.find_pair`) from pairs of a phrase and its next word to the
            longer phrases.
        size: One number, the count of phrases in the trie, including the empty one.
    """

    slots: Records
    size: NDArray[np.int64]


@compiled
def child(trie: PhraseTrie, phrase: int, word: int) -> int:
    """Return the phrase that extends ``phrase`` by ``word``, or -1 if the input lacks it."""
    trie = borrowed(trie)
    entry = trie.slots[find_pair(trie.slots, pair_key(phrase + 1, word))]
    return np.int64(entry.phrase) if entry.key != 0 else -1


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


class SourcePhrases:
    """All spans of the input's sentences, up to a maximum length.

    Args:
        sentences: The input, one list of words for each sentence.
        longest: The maximum number of words of a span.
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
        """The number of phrases, including the empty one."""
        return int(self.trie.size[0])

    def texts(self) -> Iterator[bytes]:
        """Yield the phrases of all sentences, their words separated by spaces."""
        for ids in self.sentences:
            words = [self.words.word(number) for number in ids.tolist()]
            for begin in range(len(words)):
                for end in range(begin, min(begin + self.longest, len(words))):
                    yield b" ".join(words[begin : end + 1])

    def word_phrases(self) -> NDArray[np.int32]:
        """Return for each word the phrase that consists of this word, shape (words,)."""
        return np.array([child(self.trie, 0, word) for word in range(len(self.words))], np.int32)

    def longest_of(self, first: NDArray[np.int64]) -> int:
        """Return the number of words of the longest phrase that has entries.

        Args:
            first: The first entry of each phrase, shape (phrases + 1,).
        """
        phrases = self.trie.slots[self.trie.slots["key"] != 0]
        has_entries = np.diff(first) > 0
        return int(phrases["words"][has_entries[phrases["phrase"]]].max(initial=1))

    def _reserve(self, phrases: int) -> None:
        needed = 2 * (len(self) + phrases)
        if needed > self.trie.slots.size:
            grown = np.zeros(1 << (needed - 1).bit_length(), _CHILD)
            move_pairs(self.trie.slots, grown)
            self.trie = self.trie._replace(slots=grown)
