"""N-grams of a corpus: one sort of its positions gives those of every order, and their counts.

The text is an array of word ids. Its positions are sorted by the words read backwards from there;
then every n-gram, of whatever length, is a run of neighbours, and the runs come in the order in
which KenLM's lmplz writes n-grams. Memory is about 20 bytes per running word, plus the n-grams.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.byte_scanning import BLANKS, LINE_FEED, Bytes, find_byte
from phrasescore.compiled import leaf
from phrasescore.errors import CorpusError
from phrasescore.files.byte_streams import line_blocks, open_input
from phrasescore.words.position_sorting import sorted_by_words
from phrasescore.words.word_table import WordArrays, WordTable, as_array, number_words

UNKNOWN, BEGIN, END = 0, 1, 2
SPECIAL_WORDS = [b"<unk>", b"<s>", b"</s>"]
_SEPARATORS = BLANKS | 1  # NUL, too
_BLOCK = 1 << 20
_MOST_POSITIONS = (1 << 31) - 1


@dataclass(frozen=True)
class Corpus:
    """A corpus as numbers.

    Attributes:
        words: The vocabulary in order of appearance, after the three special words.
        ids: ``<unk>``, so that every word occurs somewhere; then every sentence as order - 1 times
            ``<s>`` (at least once), its words, ``</s>``.
        sentences: How many.
        tokens: How many words, without the special ones.
    """

    words: WordTable
    ids: NDArray[np.int32]
    sentences: int
    tokens: int


def read_corpus(path: str | Path, order: int) -> Corpus:
    """Read a plain or gzip corpus, one sentence per line, for n-grams up to ``order`` words.

    As lmplz does, it takes blanks, tabs, NUL and carriage returns for the space between words,
    and an empty line for an empty sentence.

    Raises:
        CorpusError: The corpus holds no word, or one of the special words, or is too long.
    """
    words = WordTable(SPECIAL_WORDS)
    padding = max(order - 1, 1)
    parts = [np.array([UNKNOWN], np.int32)]
    sentences = 0
    with open_input(path) as stream:
        for data in line_blocks(stream, _BLOCK):
            block = as_array(data if data.endswith(b"\n") else data + b"\n")
            lines = int(np.count_nonzero(block == LINE_FEED))
            most_tokens = block.size // 2 + 1
            words.reserve(most_tokens, block.size)
            ids = np.empty(most_tokens + lines * (padding + 1), np.int32)
            used, bad_line = _number_words(block, words.arrays, padding, ids)
            if bad_line >= 0:
                raise _special_word(data, bad_line).at(path, sentences + bad_line + 1)
            parts.append(ids[:used].copy())
            sentences += lines
    together = np.concatenate(parts)
    tokens = together.size - 1 - sentences * (padding + 1)
    if not tokens:
        raise no_words(path)
    if together.size > _MOST_POSITIONS:
        raise CorpusError(
            f"the corpus has {tokens:,} words, more than this estimator can sort",
            path=path,
            remedy="put KenLM's lmplz on PATH",
        )
    return Corpus(words, together, sentences, tokens)


def no_words(path: str | Path) -> CorpusError:
    """Say that a corpus is empty."""
    return CorpusError("the corpus holds no word, so no model can be estimated", path=path)


def _special_word(data: bytes, line: int) -> CorpusError:
    text = data.split(b"\n", line + 1)[line]
    found = next(word for word in re.split(rb"[\0\t\r ]+", text) if word in SPECIAL_WORDS)
    return CorpusError(
        f"the special word {found.decode()} stands in the text, which only the model may use",
        remedy="take it out of the corpus, or escape its angle brackets",
    )


@leaf
def _number_words(
    block: Bytes, words: WordArrays, padding: int, ids: NDArray[np.int32]
) -> tuple[int, int]:
    """Write the ids of a block of whole lines; return how many, and a bad line or -1."""
    used = line = begin = 0
    while begin < block.size:
        end = find_byte(block, begin, block.size, LINE_FEED)
        for _ in range(padding):
            ids[used] = BEGIN
            used += 1
        first = used
        used = number_words(words, block, begin, end, _SEPARATORS, True, ids, used)
        for at in range(first, used):
            if ids[at] <= END:
                return at, line
        ids[used] = END
        used += 1
        line += 1
        begin = end + 1
    return used, -1


class SortedPositions(NamedTuple):
    """The positions of a corpus in the order of the words read backwards.

    Attributes:
        positions: Positions of words and ``</s>`` in ``ids``, shape (positions,).
        shared: How many words, read backwards, a position shares with the one before it in this
            order, at most the order; shape (positions,).
    """

    positions: NDArray[np.int32]
    shared: NDArray[np.uint8]


def sort_positions(corpus: Corpus, order: int) -> SortedPositions:
    """Sort by the last word, then the one before it, and so on, ``order`` words in all."""
    positions = np.flatnonzero(corpus.ids > BEGIN).astype(np.int32)
    positions = sorted_by_words(corpus.ids, positions, len(corpus.words), range(1 - order, 1))
    shared = np.zeros(positions.size, np.uint8)
    _count_shared(corpus.ids, positions, order, shared)
    return SortedPositions(positions, shared)


@njit(cache=True)
def _count_shared(
    ids: NDArray[np.int32], positions: NDArray[np.int32], order: int, shared: NDArray[np.uint8]
) -> None:
    for row in range(1, positions.size):
        first, second = positions[row - 1], positions[row]
        same = 0
        while same < order and ids[first - same] == ids[second - same]:
            same += 1
        shared[row] = same


def count_types(corpus: Corpus, by_words: SortedPositions, order: int) -> tuple[int, ...]:
    """Return how many different n-grams there are of 1, 2, ... ``order`` words."""
    types = np.zeros(order, np.int64)
    _count_types(corpus.ids, by_words, types)
    types[0] = len(corpus.words)
    return tuple(types.tolist())


@njit(cache=True)
def _count_types(
    ids: NDArray[np.int32], by_words: SortedPositions, types: NDArray[np.int64]
) -> None:
    for row in range(by_words.positions.size):
        for order in range(by_words.shared[row] + 1, types.size + 1):
            if _has_inner_begin(ids, by_words.positions[row], order):
                break
            types[order - 1] += 1


@njit(cache=True)
def _has_inner_begin(ids: NDArray[np.int32], last: int, order: int) -> bool:
    """Tell an n-gram with ``<s>`` after its first word, i.e. only padding before it."""
    return order > 1 and ids[last - order + 2] == BEGIN


@dataclass(frozen=True)
class NGramCounts:
    """The n-grams of one order, sorted by their words read backwards; words in order of their id.

    Attributes:
        order: How many words each has.
        last: The position of the last word of one occurrence of each, shape (n-grams,).
        occurrences: How often each occurs, shape (n-grams,).
        extensions: How many different words precede each, shape (n-grams,).
        number_at: The number of the n-gram that ends at each position of the text, -1 where there
            is none; the shape of the text.
    """

    order: int
    last: NDArray[np.int32]
    occurrences: NDArray[np.int32]
    extensions: NDArray[np.int32]
    number_at: NDArray[np.int32]


def count_ngrams(corpus: Corpus, by_words: SortedPositions, order: int, types: int) -> NGramCounts:
    """Count the n-grams of ``order`` words; ``<s>`` is their first word or not in them.

    Args:
        corpus: The text.
        by_words: Its positions, sorted by at least ``order`` words.
        order: How many words.
        types: How many different ones there are.
    """
    if order == 1:
        number_at = corpus.ids
    else:
        number_at = np.full(corpus.ids.size, -1, np.int32)
        _number_ngrams(corpus.ids, by_words, order, number_at)
    last, occurrences, extensions = (np.zeros(types, np.int32) for _ in range(3))
    _count_runs(by_words, order, number_at, last, occurrences, extensions)
    if order == 1:
        last[BEGIN] = 1  # position 0 is <unk>, position 1 always <s>
    return NGramCounts(order, last, occurrences, extensions, number_at)


@njit(cache=True)
def _number_ngrams(
    ids: NDArray[np.int32], by_words: SortedPositions, order: int, number_at: NDArray[np.int32]
) -> None:
    number = -1
    for row in range(by_words.positions.size):
        position = by_words.positions[row]
        if not _has_inner_begin(ids, position, order):
            number += by_words.shared[row] < order
            number_at[position] = number


@njit(cache=True)
def _count_runs(
    by_words: SortedPositions,
    order: int,
    number_at: NDArray[np.int32],
    last: NDArray[np.int32],
    occurrences: NDArray[np.int32],
    extensions: NDArray[np.int32],
) -> None:
    for row in range(by_words.positions.size):
        position = by_words.positions[row]
        number = number_at[position]
        if number >= 0:
            last[number] = position
            occurrences[number] += 1
            extensions[number] += by_words.shared[row] <= order
