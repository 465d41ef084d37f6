"""The lines of a phrase table and of a reordering table, written by compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moses_integration.system_building.phrases.number_text import WIDTH, NumberTexts
from moses_integration.system_building.phrases.pair_counts import MASK_BITS
from moses_integration.system_building.phrases.phrase_numbers import Phrases
from phrasescore.table.phrase_table import SEPARATOR

_SPACE, _MINUS, _ZERO = 32, 45, 48
_LONGEST_LINK = 8  # 999-999 and a space
_SEPARATOR = np.frombuffer(SEPARATOR, np.uint8)
# empty columns for sparse features and properties, as Moses writes them
_PHRASE_TABLE_END = np.frombuffer(b" ||| |||\n", np.uint8)
_LINE_FEED = np.frombuffer(b"\n", np.uint8)


def phrase_table_lines(
    sides: tuple[Phrases, Phrases],
    numbers: NumberTexts,
    alignments: NDArray[np.uint64],
    longest: int,
) -> memoryview:
    """Write ``source ||| target ||| four scores ||| links ||| three counts ||| |||`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        numbers: (lines, 7) scores and counts.
        alignments: (lines, words) the links as bits, see ``PairCounts``.
        longest: The most words of a phrase, which the bits are laid out by.
    """
    bits = MASK_BITS * alignments.shape[1]
    room = _room(*sides) + len(alignments) * (bits * _LONGEST_LINK + 7 * (WIDTH + 1) + 40)
    out = np.empty(room, np.uint8)
    return out[: _phrase_table_lines(sides, numbers, alignments, longest, out)].data


def reordering_table_lines(sides: tuple[Phrases, Phrases], numbers: NumberTexts) -> memoryview:
    """Write ``source ||| target ||| six probabilities`` lines.

    Args:
        sides: The source and the target phrases, one per line.
        numbers: (lines, 6) probabilities.
    """
    lines, columns = numbers.lengths.shape
    out = np.empty(_room(*sides) + lines * (columns * (WIDTH + 1) + 20), np.uint8)
    return out[: _reordering_table_lines(sides, numbers, out)].data


@njit(cache=True, nogil=True)
def _room(source: Phrases, target: Phrases) -> int:
    """The characters of all words, each with a space."""
    total = 0
    for side in (source, target):
        for row in range(len(side.positions)):
            for i in range(side.lengths[row]):
                word = side.ids[side.positions[row] + i]
                total += side.word_starts[word + 1] - side.word_starts[word] + 1
    return total


@njit(cache=True, nogil=True)
def _phrase_table_lines(sides: Any, numbers: Any, alignments: Any, longest: int, out: Any) -> int:
    at = 0
    source, target = sides
    for row in range(len(alignments)):
        at = _write_phrases(sides, row, out, at)
        at = _write_numbers(numbers, row, 0, 4, out, at)
        at = _copy(_SEPARATOR, 0, len(_SEPARATOR), out, at)
        for t in range(target.lengths[row]):
            for s in range(source.lengths[row]):
                bit = t * longest + s
                if (alignments[row, bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)) & np.uint64(1):
                    at = _write_position(s, out, at)
                    out[at] = _MINUS
                    at = _write_position(t, out, at + 1)
                    out[at] = _SPACE
                    at += 1
        at = _copy(_SEPARATOR, 1, len(_SEPARATOR), out, at)
        at = _write_numbers(numbers, row, 4, 7, out, at)
        at = _copy(_PHRASE_TABLE_END, 0, len(_PHRASE_TABLE_END), out, at)
    return at


@njit(cache=True, nogil=True)
def _reordering_table_lines(sides: Any, numbers: Any, out: Any) -> int:
    at = 0
    for row in range(numbers.lengths.shape[0]):
        at = _write_phrases(sides, row, out, at)
        at = _write_numbers(numbers, row, 0, numbers.lengths.shape[1], out, at)
        at = _copy(_LINE_FEED, 0, 1, out, at)
    return at


@njit(cache=True, nogil=True)
def _write_phrases(sides: Any, row: int, out: Any, at: int) -> int:
    for side in sides:
        position = side.positions[row]
        for i in range(side.lengths[row]):
            if i > 0:
                out[at] = _SPACE
                at += 1
            word = side.ids[position + i]
            begin, end = side.word_starts[word], side.word_starts[word + 1]
            at = _copy(side.characters, begin, end, out, at)
        at = _copy(_SEPARATOR, 0, len(_SEPARATOR), out, at)
    return at


@njit(cache=True, nogil=True)
def _write_numbers(numbers: Any, row: int, first: int, end: int, out: Any, at: int) -> int:
    for column in range(first, end):
        if column > first:
            out[at] = _SPACE
            at += 1
        at = _copy(numbers.characters[row, column], 0, numbers.lengths[row, column], out, at)
    return at


@njit(cache=True, nogil=True)
def _write_position(position: int, out: Any, at: int) -> int:
    """Write a position below 1000."""
    if position >= 100:
        out[at] = _ZERO + position // 100
        at += 1
    if position >= 10:
        out[at] = _ZERO + position // 10 % 10
        at += 1
    out[at] = _ZERO + position % 10
    return at + 1


@njit(cache=True, nogil=True)
def _copy(source: Any, begin: int, end: int, out: Any, at: int) -> int:
    for i in range(begin, end):
        out[at] = source[i]
        at += 1
    return at
