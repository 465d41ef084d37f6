"""Counts of the n-grams of all orders of a corpus, from one sort of its positions.

The text is an array of word ids. Its positions are sorted by the words read backwards from each
position. Then every n-gram of any length is a run of neighbours, and the runs are in the order in
which KenLM's lmplz writes n-grams. Memory is about 20 bytes per running word, plus the n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError
from phrasescore.table.byte_scanning import BLANKS
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.words.position_sorting import sorted_by_words
from phrasescore.words.word_table import WordTable

HIGHEST_ORDER = 20  # the maximum order of models that can be read
UNKNOWN, BEGIN, END = 0, 1, 2
SPECIAL_WORDS = [b"<unk>", b"<s>", b"</s>"]
_SEPARATORS = BLANKS | 1  # blanks and zero bytes
_TO_SPACES = bytes.maketrans(b"\0\t\r", b"   ")
_BLOCK = 1 << 20
_MAX_POSITIONS = (1 << 31) - 1


@dataclass(frozen=True)
class Corpus:
    """A corpus as numbers.

    Attributes:
        words: The vocabulary in order of appearance, after the three special words.
        ids: First ``<unk>``, so that every word of the vocabulary occurs; then for each sentence
            order - 1 times ``<s>`` (at least once), the words, and ``</s>``.
    """

    words: list[bytes]
    ids: NDArray[np.int32]


def read_corpus(path: str | Path, order: int) -> Corpus:
    """Read a plain or gzip corpus, one sentence per line, for n-grams up to ``order`` words.

    As in lmplz, blanks, tabs, NUL and carriage returns separate words, and an empty line is an
    empty sentence.

    Raises:
        CorpusError: The corpus holds no word, or one of the special words, or is too long.
    """
    table = WordTable(SPECIAL_WORDS)
    padding = max(order - 1, 1)
    marks = np.array([BEGIN] * padding + [END], np.int32)
    parts = [np.array([UNKNOWN], np.int32)]
    sentences = running = 0
    with open_input(path, is_text=False) as stream:
        for data in line_blocks(stream, _BLOCK):
            _refuse_special_words(data, path, sentences)
            whole = data if data.endswith(b"\n") else data + b"\n"
            ids, offsets = table.encode_lines(whole, grow=True, separators=_SEPARATORS)
            # the positions of each sentence's begin marks, and of its end
            places = np.repeat(offsets[:-1, None], padding + 1, axis=1)
            places[:, -1] = offsets[1:]
            lines = len(places)
            parts.append(np.insert(ids, places.ravel(), np.tile(marks, lines)))
            sentences += lines
            running += len(ids)
    together = np.concatenate(parts)
    if not running:
        raise CorpusError("the corpus holds no word, so no model can be estimated", path=path)
    if together.size > _MAX_POSITIONS:
        raise CorpusError(
            f"the corpus has {running:,} words, more than this estimator can sort",
            path=path,
            remedy="take fewer sentences, or estimate the model with KenLM's lmplz",
        )
    return Corpus(table.words(), together)


def _refuse_special_words(data: bytes, path: str | Path, before: int) -> None:
    """Refuse a block of lines that has a special word; ``before`` lines precede the block."""
    if not any(word in data for word in SPECIAL_WORDS):
        return
    for number, line in enumerate(data.split(b"\n"), before + 1):
        for word in line.translate(_TO_SPACES).split(b" "):
            if word in SPECIAL_WORDS:
                raise CorpusError(
                    f"the special word {word.decode()} stands in the text, which only the model "
                    "may use",
                    path=path,
                    line=number,
                    remedy="take it out of the corpus, or escape its angle brackets",
                )


class SortedPositions(NamedTuple):
    """The positions of a corpus in the order of the words read backwards.

    Attributes:
        positions: Positions of words and ``</s>`` in ``ids``, shape (positions,).
        shared: The number of words, read backwards, that a position shares with the position before
            it in this sequence, at most the order; shape (positions,).
        longest: The number of words of the longest n-gram that ends at a position, at most the
            order. An n-gram may begin with ``<s>``; the words before are padding.
    """

    positions: NDArray[np.int32]
    shared: NDArray[np.uint8]
    longest: NDArray[np.uint8]


def sort_positions(corpus: Corpus, order: int) -> SortedPositions:
    """Sort by the last word, then by the word before it, and so on, by ``order`` words in all."""
    positions = np.flatnonzero(corpus.ids > BEGIN).astype(np.int32)
    back = range(0, -order, -1)
    positions, shared = sorted_by_words(corpus.ids, positions, len(corpus.words), back)
    places = np.arange(corpus.ids.size, dtype=np.int32)
    begins = np.maximum.accumulate(np.where(corpus.ids == BEGIN, places, 0))
    longest = np.minimum(places - begins + 1, order).astype(np.uint8)
    return SortedPositions(positions, shared, longest[positions])


def count_types(corpus: Corpus, by_words: SortedPositions, order: int) -> tuple[int, ...]:
    """Return the numbers of different n-grams of 1, 2, ... ``order`` words."""
    is_there = ((by_words.shared < n) & (by_words.longest >= n) for n in range(2, order + 1))
    return (len(corpus.words), *map(int, map(np.count_nonzero, is_there)))


@dataclass(frozen=True)
class NGramCounts:
    """The n-grams of one order, sorted by their words read backwards; words in order of their id.

    Attributes:
        order: The number of words of each n-gram.
        last: The position of the last word in one occurrence of each n-gram, shape (n-grams,).
        occurrences: The number of occurrences of each n-gram, shape (n-grams,).
        extensions: The number of different words that precede each n-gram, shape (n-grams,).
        number_at: The number of the n-gram that ends at each position of the text, -1 for none; the
            shape of the text, or empty in the highest order.
    """

    order: int
    last: NDArray[np.int32]
    occurrences: NDArray[np.int32]
    extensions: NDArray[np.int32]
    number_at: NDArray[np.int32]


def count_ngrams(
    corpus: Corpus, by_words: SortedPositions, order: int, *, highest: int
) -> NGramCounts:
    """Count the n-grams of ``order`` words; ``<s>`` may only be their first word.

    Args:
        corpus: The text.
        by_words: The positions of the text, sorted by at least ``order`` words.
        order: The number of words of an n-gram.
        highest: The highest order of the model; its n-grams need no numbers, because no longer
            n-grams are made from them.
    """
    is_there = by_words.longest >= order
    positions, shared = by_words.positions[is_there], by_words.shared[is_there]
    is_first = shared < order
    firsts = np.flatnonzero(is_first)
    last = positions[firsts]
    occurrences = np.diff(firsts, append=positions.size).astype(np.int32)
    extensions = np.add.reduceat(shared <= order, firsts, dtype=np.int32)
    if order > 1:
        number_at = np.full(corpus.ids.size if order < highest else 0, -1, np.int32)
        if order < highest:
            number_at[positions] = np.cumsum(is_first, dtype=np.int32) - 1
        return NGramCounts(order, last, occurrences, extensions, number_at)
    # <unk> and <s> are never counted; position 0 is <unk>, position 1 always <s>
    first, none = np.array([UNKNOWN, BEGIN], np.int32), np.zeros(2, np.int32)
    return NGramCounts(
        1,
        np.concatenate([first, last]),
        np.concatenate([none, occurrences]),
        np.concatenate([none, extensions]),
        corpus.ids,
    )
