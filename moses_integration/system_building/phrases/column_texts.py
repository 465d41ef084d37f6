"""The columns of tables as texts: what repeats from line to line is spelt once.

Counts, relative frequencies, orientations and alignments are few among millions of lines, so lines
are made of texts out of a list. Lexical weights hardly repeat, and are spelt line by line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.phrases.pair_counts import MASK_BITS
from phrasescore.words.word_table import as_array

_END = b"\0"
# a table of this many times as many places as there are rows is still faster than sorting them
_PLACES_A_ROW = 8
_AT_ONCE = 1 << 14


class ColumnTexts(NamedTuple):
    """One column of a table, or several beside each other.

    Args:
        characters: uint8, all texts, with one byte between two.
        begins: (texts,) int64, where each begins.
        ends: (texts,) int64, the byte after its last.
        rows: (rows,) int64, which of them each row has.
    """

    characters: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]


def distinct_rows(*columns: NDArray[Any]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Return the distinct rows of some columns of whole numbers from 0, and which one each row is.

    >>> distinct_rows(np.array([1, 2, 1]), np.array([7, 5, 7]))
    ([array([1, 2]), array([7, 5])], array([0, 1, 0]))
    """
    kept: list[NDArray[Any]] = []
    rows = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, codes = _distinct(column)
        both, rows = _distinct(rows * len(values) + codes)
        before, last = np.divmod(both, max(len(values), 1))
        kept = [*(part[before] for part in kept), values[last]]
    return kept, rows


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values, ascending, and which one each is."""
    if int(values.max(initial=0)) > _PLACES_A_ROW * len(values):
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, codes
    occurs = np.zeros(int(values.max(initial=0)) + 1, np.bool_)
    occurs[values] = True
    return np.flatnonzero(occurs).astype(values.dtype), (np.cumsum(occurs) - 1)[values]


def number_texts(values: NDArray[Any], end: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    r"""Format numbers as C++ streams do, with six significant digits, without trailing zeros.

    Args:
        values: (texts,) one number each, or (texts, n) numbers with a space between two.
        end: What follows the last number.
        rows: Which text each row has.

    >>> texts = number_texts(np.array([[0.5, 8.42632e-07]]), b" |", np.zeros(9, np.int64))
    >>> bytes(texts.characters)
    b'0.5 8.42632e-07 |\x00'
    """
    numbers = values if values.ndim > 1 else values[:, None]
    layout = b" ".join([b"%.6g"] * numbers.shape[1]) + end + _END
    parts = (numbers[first : first + _AT_ONCE] for first in range(0, len(values), _AT_ONCE))
    texts = (layout * len(part) % tuple(part.ravel().tolist()) for part in parts)
    return _ended(b"".join(texts), rows)


def link_texts(alignments: NDArray[np.uint64], longest: int, end: bytes) -> ColumnTexts:
    """Spell alignments as ``0-0 1-2 ``, source position first, in the order of target words.

    Args:
        alignments: (rows, words) the links as bits, see ``PairCounts``.
        longest: The most words of a phrase, which the bits are laid out by.
        end: What follows each alignment.
    """
    masks, rows = distinct_rows(*alignments.T)
    bits = longest * longest
    parts = np.ones((len(masks[0]), bits + 1), np.bool_)  # the last one is the end
    for bit in range(bits):
        mask = masks[bit // MASK_BITS] >> np.uint64(bit % MASK_BITS)
        parts[:, bit] = mask & np.uint64(1)
    spelt = [b"%d-%d " % (bit % longest, bit // longest) for bit in range(bits)] + [end + _END]
    return _ended(b"".join(map(spelt.__getitem__, np.nonzero(parts)[1].tolist())), rows)


def _ended(texts: bytes, rows: NDArray[np.int64]) -> ColumnTexts:
    """Find texts that are one behind the other, each with its end."""
    characters = as_array(texts)
    ends = np.flatnonzero(characters == _END[0])
    begins = np.zeros(len(ends), np.int64)
    begins[1:] = ends[:-1] + 1
    return ColumnTexts(characters, begins, ends, rows)
