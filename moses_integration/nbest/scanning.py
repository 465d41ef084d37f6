"""The compiled loop that reads a block of n-best lines into arrays.

It mirrors ``moses_integration.nbest.format.parse_entry`` for lines that are plain: labels exactly
as in the list's first line, numbers that a double holds exactly before scaling. Every other line is
marked, for the slow reader to decide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.words.word_table import WordArrays, find_word

_LINE_FEED, _SPACE, _PIPE, _EQUALS = ord("\n"), ord(" "), ord("|"), ord("=")
_ZERO, _NINE, _POINT, _PLUS, _MINUS = ord("0"), ord("9"), ord("."), ord("+"), ord("-")
_SMALL_E, _LARGE_E = ord("e"), ord("E")
# integers below 2^53 and these powers are exact doubles, so one operation rounds correctly
_POWERS = np.array([10.0**k for k in range(23)])
_LARGEST_EXACT = np.int64(1 << 53)
_DOUBTFUL = 1 << 20


class NBestBlock(NamedTuple):
    """What the loop fills for the L lines of a block; F is the number of feature values.

    Attributes:
        sentences: (L,) which sentence each candidate translates.
        features: (L, F) the feature values.
        totals: (L,) the model scores.
        tokens: Word ids, -1 for a word that the table does not have.
        offsets: (L + 1,) where each candidate begins in ``tokens``.
        words: (L, 2) begin and end of the words column in the block.
        doubtful: (L,) whether a line must be read the slow way; its other values are not set.
    """

    sentences: NDArray[np.int32]
    features: NDArray[np.float64]
    totals: NDArray[np.float64]
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: NDArray[np.int64]
    doubtful: NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _pipes(data: Any, begin: int, end: int) -> int:
    for i in range(begin, end - 2):
        if data[i] == _PIPE and data[i + 1] == _PIPE and data[i + 2] == _PIPE:
            return i
    return -1


@njit(cache=True, nogil=True)
def _line_end(data: Any, begin: int) -> int:
    end = begin
    while data[end] != _LINE_FEED:
        end += 1
    return end


@njit(cache=True, nogil=True)
def _skip_spaces(data: Any, i: int, end: int) -> int:
    while i < end and data[i] == _SPACE:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _token_end(data: Any, i: int, end: int) -> int:
    while i < end and data[i] != _SPACE:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _trim(data: Any, begin: int, end: int) -> tuple[int, int]:
    while begin < end and data[begin] == _SPACE:
        begin += 1
    while end > begin and data[end - 1] == _SPACE:
        end -= 1
    return begin, end


@njit(cache=True, nogil=True)
def _integer(data: Any, begin: int, end: int) -> int:
    """Return the number of a trimmed run of digits, or -1."""
    if begin == end or end - begin > 9:
        return -1
    value = 0
    for i in range(begin, end):
        if not _ZERO <= data[i] <= _NINE:
            return -1
        value = 10 * value + data[i] - _ZERO
    return value


@njit(cache=True, nogil=True)
def _exponent(data: Any, i: int, end: int) -> int:
    """Return the signed exponent that fills the rest of a number; beyond the table if in doubt."""
    down = i < end and data[i] == _MINUS
    if i < end and (data[i] == _MINUS or data[i] == _PLUS):
        i += 1
    size = _integer(data, i, end)
    if size < 0:
        return _DOUBTFUL
    return -size if down else size


@njit(cache=True, nogil=True)
def _number(data: Any, begin: int, end: int) -> float:
    """Return the value of a plain decimal number, correctly rounded; NaN where in doubt."""
    i = begin
    negative = i < end and data[i] == _MINUS
    if i < end and (data[i] == _MINUS or data[i] == _PLUS):
        i += 1
    mantissa = np.int64(0)
    digits = scale = 0
    point = False
    while i < end and mantissa <= _LARGEST_EXACT:
        if _ZERO <= data[i] <= _NINE:
            mantissa = 10 * mantissa + np.int64(data[i] - _ZERO)
            digits += 1
            scale -= point
        elif data[i] == _POINT and not point:
            point = True
        else:
            break
        i += 1
    if i < end and (data[i] == _SMALL_E or data[i] == _LARGE_E):
        scale += _exponent(data, i + 1, end)
        i = end
    if mantissa > _LARGEST_EXACT or digits == 0 or i < end or abs(scale) >= len(_POWERS):
        return np.nan
    value = np.float64(mantissa)
    if scale < 0:
        value /= _POWERS[-scale]
    else:
        value *= _POWERS[scale]
    return -value if negative else value


@njit(cache=True, nogil=True)
def _features(data: Any, begin: int, end: int, labels: Any, sizes: Any, values: Any) -> bool:
    """Read the features column; return whether it is as the labels want it.

    Args:
        data: The block.
        begin: Where the column begins.
        end: The byte after it.
        labels: The labels of the first line with their ``=``, each followed by a space.
        sizes: How many values follow each label.
        values: (F,) filled.
    """
    i = _skip_spaces(data, begin, end)
    at = 0
    count = 0
    for size in sizes:
        while labels[at] != _SPACE:
            if i >= end or data[i] != labels[at]:
                return False
            i += 1
            at += 1
        at += 1
        for _ in range(size):
            i = _skip_spaces(data, i, end)
            stop = _token_end(data, i, end)
            value = _number(data, i, stop)
            if np.isnan(value):
                return False
            values[count] = value
            count += 1
            i = stop
        i = _skip_spaces(data, i, end)
    return i == end


@njit(cache=True, nogil=True)
def _line(
    data: Any, begin: int, end: int, labels: Any, sizes: Any, block: NBestBlock, line: int
) -> bool:
    """Read everything of one line but its words; return whether it is plain."""
    first = _pipes(data, begin, end)
    second = _pipes(data, first + 3, end) if first >= 0 else -1
    third = _pipes(data, second + 3, end) if second >= 0 else -1
    if third < 0:
        return False
    fourth = _pipes(data, third + 3, end)
    if fourth < 0:
        fourth = end
    start, stop = _trim(data, begin, first)
    sentence = _integer(data, start, stop)
    start, stop = _trim(data, third + 3, fourth)
    total = _number(data, start, stop)
    if sentence < 0 or np.isnan(total):
        return False
    if not _features(data, second + 3, third, labels, sizes, block.features[line]):
        return False
    block.sentences[line] = sentence
    block.totals[line] = total
    block.words[line, 0] = first + 3
    block.words[line, 1] = second
    return True


@njit(cache=True, nogil=True)
def scan(data: Any, labels: Any, sizes: Any, vocabulary: WordArrays, block: NBestBlock) -> None:
    """Read whole lines into the arrays of ``block``."""
    begin = 0
    count = 0
    for line in range(len(block.sentences)):
        end = _line_end(data, begin)
        block.doubtful[line] = not _line(data, begin, end, labels, sizes, block, line)
        if not block.doubtful[line]:
            i, stop = block.words[line, 0], block.words[line, 1]
            while True:
                i = _skip_spaces(data, i, stop)
                if i == stop:
                    break
                word_end = _token_end(data, i, stop)
                block.tokens[count] = find_word(vocabulary, data, i, word_end)
                count += 1
                i = word_end
        block.offsets[line + 1] = count
        begin = end + 1
