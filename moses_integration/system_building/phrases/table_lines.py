"""The lines of a phrase table and of a reordering table, written by one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrases.column_texts import (
    ColumnTexts,
    distinct_rows,
    link_texts,
    number_texts,
)
from moses_integration.system_building.phrases.phrase_numbers import Phrases
from moses_integration.system_building.phrases.phrase_scoring import (
    orientation_probabilities,
    printed_counts,
)
from phrasescore.compiled import borrowed, compiled
from phrasescore.table.phrase_table import SEPARATOR
from phrasescore.words.word_table import as_array

_SPACE = b" "
# empty columns for sparse features and properties, as Moses writes them
_PHRASE_TABLE_END = b" ||| |||\n"


def phrase_table_lines(
    sides: tuple[Phrases, Phrases],
    counts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    lexical: tuple[NDArray[np.float32], NDArray[np.float32]],
    alignments: NDArray[np.uint64],
    longest: int,
) -> memoryview:
    """Write ``source ||| target ||| four scores ||| links ||| three counts ||| |||`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        counts: How often each pair was extracted, its source phrase, and its target phrase.
        lexical: lex(source | target) and lex(target | source) of each pair.
        alignments: (lines, words) the links as bits, see ``PairCounts``.
        longest: The most words of a phrase, which the bits are laid out by.
    """
    joint, source, target = counts
    lines = np.arange(len(joint))
    columns = (
        _frequencies(joint, target),
        number_texts(lexical[0], _SPACE, lines),
        _frequencies(joint, source),
        number_texts(lexical[1], SEPARATOR, lines),
        link_texts(alignments, longest, SEPARATOR.lstrip()),
        _counts(target, _SPACE),
        _counts(source, _SPACE),
        _counts(joint, _PHRASE_TABLE_END),
    )
    return _lines(sides, columns)


def _frequencies(counts: NDArray[np.int64], totals: NDArray[np.int64]) -> ColumnTexts:
    (few_counts, few_totals), rows = distinct_rows(counts, totals)
    return number_texts(printed_counts(few_counts) / printed_counts(few_totals), _SPACE, rows)


def _counts(counts: NDArray[np.int64], end: bytes) -> ColumnTexts:
    (few,), rows = distinct_rows(counts)
    return number_texts(printed_counts(few), end, rows)


def reordering_table_lines(
    sides: tuple[Phrases, Phrases], orientations: NDArray[np.int64]
) -> memoryview:
    """Write ``source ||| target ||| six probabilities`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        orientations: (lines, 6), how often monotone, swapped and other, towards the phrase before
            and then towards the phrase behind.
    """
    columns = []
    for first, end in ((0, _SPACE), (3, b"\n")):
        few, rows = distinct_rows(*orientations.T[first : first + 3])
        columns.append(number_texts(orientation_probabilities(np.stack(few, axis=1)), end, rows))
    return _lines(sides, columns)


def _lines(sides: tuple[Phrases, Phrases], columns: Sequence[ColumnTexts]) -> memoryview:
    """Write a line of two phrases and the texts of all columns for each row."""
    pieces = np.empty((len(sides[0].begins), len(columns)), np.int32)
    size, texts, characters = 0, 0, 0
    begins, ends = [], []
    for place, column in enumerate(columns):
        pieces[:, place] = column.rows + texts
        size += int((column.ends - column.begins)[column.rows].sum())
        begins.append(column.begins + characters)
        ends.append(column.ends + characters)
        texts += len(column.begins)
        characters += len(column.characters)
    for side in sides:
        size += int((side.ends - side.begins + len(SEPARATOR)).sum())
    out = np.empty(size, np.uint8)
    phrases = tuple((side.characters, side.begins, side.ends) for side in sides)
    together = np.concatenate([column.characters for column in columns])
    spans = together, np.concatenate(begins), np.concatenate(ends)
    _write_lines(phrases, as_array(SEPARATOR), spans, pieces, out)
    return out.data


@compiled
def _write_lines(sides: Any, separator: Any, texts: Any, pieces: Any, out: Any) -> None:
    """Fill ``out`` with, for each row, its two phrases and its pieces."""
    sides, separator, texts, pieces, out = borrowed((sides, separator, texts, pieces, out))
    at = np.int64(0)  # a literal would have the copying compiled twice
    begin = np.int64(0)
    for row in range(pieces.shape[0]):
        for side in sides:
            at = _copy(side[0], side[1][row], side[2][row], out, at)
            at = _copy(separator, begin, separator.size, out, at)
        for column in range(pieces.shape[1]):
            piece = pieces[row, column]
            at = _copy(texts[0], texts[1][piece], texts[2][piece], out, at)


@compiled
def _copy(source: Any, begin: int, end: int, out: Any, at: int) -> int:
    for i in range(begin, end):
        out[at] = source[i]
        at += 1
    return at
