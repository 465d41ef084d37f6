"""The lines of an ARPA file, read by compiled code: numbers, words, n-grams.

What is wrong with a bad line is not said here: the functions only say which line it is, and
``moses_integration.language_model.arpa`` looks at that one line again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.words.word_table import WordArrays, find_word, intern_word

_NEWLINE, _TAB, _SPACE, _RETURN, _BACKSLASH = 10, 9, 32, 13, 92
_MINUS, _PLUS, _POINT, _ZERO, _NINE, _LOWER_E, _UPPER_E = 45, 43, 46, 48, 57, 101, 69
_MOST_DIGITS = 18  # of a mantissa that fits in 64 bits


class Rows(NamedTuple):
    """Room for the n-grams of one block.

    Attributes:
        words: Word ids, shape (rows, order).
        log10: log10 probabilities, shape (rows,).
        backoff: log10 back-off weights, shape (rows,); 0 where there is none.
    """

    words: NDArray[np.int32]
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]


def room_for(rows: int, order: int) -> Rows:
    """Return empty rows for n-grams of this order."""
    return Rows(
        np.zeros((rows, order), np.int32), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    )


@njit(cache=True)
def parse_number(block: NDArray[np.uint8], start: int, stop: int) -> tuple[float, bool]:
    """Read the decimal number ``block[start:stop]``; the flag says whether it is a finite one."""
    at = start
    negative = at < stop and block[at] == _MINUS
    if at < stop and (block[at] == _MINUS or block[at] == _PLUS):
        at += 1
    mantissa, digits, exponent, after_point, seen = 0, 0, 0, False, False
    while at < stop:
        byte = block[at]
        if _ZERO <= byte <= _NINE:
            seen = True
            if digits < _MOST_DIGITS:
                mantissa = mantissa * 10 + (np.int64(byte) - _ZERO)
                digits += mantissa > 0
                exponent -= after_point
            else:
                exponent += not after_point
        elif byte == _POINT and not after_point:
            after_point = True
        else:
            break
        at += 1
    if at < stop and seen and (block[at] == _LOWER_E or block[at] == _UPPER_E):
        at += 1
        sign = 1
        if at < stop and (block[at] == _MINUS or block[at] == _PLUS):
            sign = -1 if block[at] == _MINUS else 1
            at += 1
        written, seen = 0, False
        while at < stop and _ZERO <= block[at] <= _NINE:
            written = min(written * 10 + (np.int64(block[at]) - _ZERO), 9999)
            seen = True
            at += 1
        exponent += sign * written
    value = _scaled(mantissa, exponent)
    return (-value if negative else value), seen and at == stop and np.isfinite(np.float32(value))


@njit(cache=True)
def _scaled(mantissa: int, exponent: int) -> float:
    """Return mantissa * 10**exponent; exact to the last bit where the power of ten is exact."""
    if mantissa == 0:
        return 0.0
    if exponent < 0:
        return float(mantissa) / 10.0 ** float(-exponent)
    return float(mantissa) * 10.0 ** float(exponent)


@njit(cache=True)
def _field(block: NDArray[np.uint8], at: int, stop: int) -> tuple[int, int]:
    """Return where the next field begins and ends; both are ``stop`` where there is none."""
    while at < stop and (block[at] == _SPACE or block[at] == _TAB):
        at += 1
    start = at
    while at < stop and block[at] != _SPACE and block[at] != _TAB:
        at += 1
    return start, at


@njit(cache=True)
def _line_end(block: NDArray[np.uint8], at: int) -> int:
    while block[at] != _NEWLINE:
        at += 1
    return at


@njit(cache=True)
def _content_end(block: NDArray[np.uint8], at: int, end: int) -> int:
    """Return the end of the line without the carriage return and blanks before its line feed."""
    while end > at and (
        block[end - 1] == _RETURN or block[end - 1] == _SPACE or block[end - 1] == _TAB
    ):
        end -= 1
    return end


@njit(cache=True)
def _weights(
    block: NDArray[np.uint8], first: tuple[int, int], at: int, stop: int, rows: Rows, row: int
) -> bool:
    """Store the probability in field ``first`` and the back-off that may stand from ``at`` on."""
    log10, good = parse_number(block, first[0], first[1])
    start, after = _field(block, at, stop)
    backoff = 0.0
    if good and start < after:
        backoff, good = parse_number(block, start, after)
    rows.log10[row] = log10
    rows.backoff[row] = backoff
    return good and log10 <= 0.0 and after == stop


@njit(cache=True)
def parse_unigrams(
    block: NDArray[np.uint8], at: int, words: WordArrays, rows: Rows
) -> tuple[int, int, int]:
    """Read 1-grams up to an empty line, a line that begins with a backslash, or the block's end.

    Args:
        block: Whole lines, each with its line feed.
        at: Where the first line begins.
        words: Receives the words; id 0 must be ``<unk>`` (``<UNK>`` counts as that).
        rows: Receives the weights; ``words`` the ids.

    Returns:
        Where the first unread line begins, the number of lines read, and the row that is bad
        (its line is the first unread one), or -1.
    """
    row = 0
    while at < block.size:
        end = _line_end(block, at)
        stop = _content_end(block, at, end)
        if stop == at or block[at] == _BACKSLASH:
            break
        first = _field(block, at, stop)
        start, after = _field(block, first[1], stop)
        if start == after or not _weights(block, first, after, stop, rows, row):
            return at, row, row
        known = words.size[0]
        word = 0 if _is_unknown(block, start, after) else intern_word(words, block, start, after)
        if word != 0 and word != known:
            return at, row, row  # a second time
        rows.words[row, 0] = word
        row += 1
        at = end + 1
    return at, row, -1


@njit(cache=True)
def _is_unknown(block: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Tell ``<unk>`` and ``<UNK>`` from any other word."""
    if stop - start != 5 or block[start] != 60 or block[start + 4] != 62:
        return False
    u, n, k = block[start + 1], block[start + 2], block[start + 3]
    return (u == 117 and n == 110 and k == 107) or (u == 85 and n == 78 and k == 75)


@njit(cache=True)
def parse_ngrams(
    block: NDArray[np.uint8], at: int, words: WordArrays, rows: Rows, longest: bool
) -> tuple[int, int, int]:
    """Read n-grams of the order of ``rows``, as `parse_unigrams` does; words must be known.

    Args:
        block: Whole lines, each with its line feed.
        at: Where the first line begins.
        words: The vocabulary.
        rows: Receives the n-grams.
        longest: Whether this is the model's highest order, which may have no back-off but 0.

    Returns:
        As `parse_unigrams`.
    """
    row = 0
    order = rows.words.shape[1]
    while at < block.size:
        end = _line_end(block, at)
        stop = _content_end(block, at, end)
        if stop == at or block[at] == _BACKSLASH:
            break
        first = _field(block, at, stop)
        after = first[1]
        for position in range(order):
            start, after = _field(block, after, stop)
            word = -1
            if start < after:
                word = find_word(words, block, start, after)
                if word < 0 and _is_unknown(block, start, after):
                    word = 0
            if word < 0:
                return at, row, row
            rows.words[row, position] = word
        if not _weights(block, first, after, stop, rows, row):
            return at, row, row
        if longest and rows.backoff[row] != 0.0:
            return at, row, row
        row += 1
        at = end + 1
    return at, row, -1
