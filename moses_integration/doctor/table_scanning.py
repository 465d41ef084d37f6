"""Compiled loops over a block of table lines: order, markup, alignment, constant scores, digests.

They work on the positions that ``phrasescore.table.scanning.find_columns`` found, of lines that
were checked. A line that was not has all its positions at 0 and is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LINE_FEED, _SPACE, _TAB, _RETURN = 10, 32, 9, 13
_PIPE, _MINUS, _POINT, _SMALL_E = ord("|"), ord("-"), ord("."), ord("e")
_OPEN, _CLOSE, _ZERO, _ONE, _NINE = ord("["), ord("]"), ord("0"), ord("1"), ord("9")
# what is wrong with the tokens or the alignment of a line
SOURCE_BAR, SOURCE_LABEL, TARGET_BAR, TARGET_LABEL = 1, 2, 4, 8
NO_ALIGNMENT, BAD_ALIGNMENT = 16, 32
UNSORTED, REPEATED = 64, 128
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


@njit(cache=True, nogil=True)
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB, _RETURN)


@njit(cache=True, nogil=True)
def _token_end(data: Any, i: int, end: int) -> int:
    while i < end and not _is_blank(data[i]):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _blanks_end(data: Any, i: int, end: int) -> int:
    while i < end and _is_blank(data[i]):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _phrase(data: Any, begin: int, end: int, flags: Any) -> tuple[int, int]:
    """Count the tokens of a trimmed phrase, and flag bars (1) and bracketed tokens (2) in it."""
    count, i = 0, begin
    while i < end:
        stop = _token_end(data, i, end)
        for j in range(i, stop):
            if data[j] == _PIPE:
                flags |= 1
        if data[i] == _OPEN and data[stop - 1] == _CLOSE and stop - i > 1:
            flags |= 2
        count += 1
        i = _blanks_end(data, stop, end)
    return count, flags


@njit(cache=True, nogil=True)
def _number(data: Any, begin: int, end: int) -> int:
    """Return the position that stands here, or -1."""
    if begin == end or end - begin > 9:
        return -1
    value = 0
    for i in range(begin, end):
        if not _ZERO <= data[i] <= _NINE:
            return -1
        value = 10 * value + data[i] - _ZERO
    return value


@njit(cache=True, nogil=True)
def _links(data: Any, begin: int, end: int, sources: int, targets: int) -> int:
    """Judge an alignment column: none, one that points outside its pair, or one that is well."""
    i = _blanks_end(data, begin, end)
    if i == end:
        return NO_ALIGNMENT
    while i < end:
        stop = _token_end(data, i, end)
        middle = i
        while middle < stop and data[middle] != _MINUS:
            middle += 1
        source, target = _number(data, i, middle), _number(data, middle + 1, stop)
        if middle == stop or not (0 <= source < sources and 0 <= target < targets):
            return BAD_ALIGNMENT
        i = _blanks_end(data, stop, end)
    return 0


@njit(cache=True, nogil=True)
def _fourth_column(data: Any, begin: int, end: int) -> tuple[int, int]:
    """Find the column after the scores, which end at ``begin``."""
    i = begin
    while i < end and data[i] != _PIPE:
        i += 1
    first = min(i + 3, end)
    i = first
    while i < end and data[i] != _PIPE:
        i += 1
    return first, i


@njit(cache=True, nogil=True)
def _compare(data: Any, first: int, first_end: int, second: int, second_end: int) -> int:
    """Compare two runs of bytes as C does: negative if the first is smaller."""
    for k in range(min(first_end - first, second_end - second)):
        if data[first + k] != data[second + k]:
            return np.int64(data[first + k]) - np.int64(data[second + k])
    return (first_end - first) - (second_end - second)


@njit(cache=True, nogil=True)
def scan_lines(data: Any, spans: Any, hierarchical: bool, flags: Any, lengths: Any) -> None:
    """Find what is odd about each line, and how many tokens its phrases have.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64, from ``find_columns``; all 0 for a line that is not one.
        hierarchical: Whether the lines are rules, whose brackets and links are another matter.
        flags: (lines,) uint8, filled with the sums of the flags above.
        lengths: (lines, 2) int64, filled: tokens of source and target.
    """
    begin, before, before_end = 0, -1, -1
    for line in range(len(spans)):
        end = begin
        while end < len(data) and data[end] != _LINE_FEED:
            end += 1
        row, found = spans[line], 0
        if before >= 0 and _compare(data, before, before_end, begin, end) > 0:
            found |= UNSORTED
        if row[1] > row[0]:
            sources, source_flags = _phrase(data, row[0], row[1], 0)
            targets, target_flags = _phrase(data, row[2], row[3], 0)
            lengths[line, 0], lengths[line, 1] = sources, targets
            if not hierarchical:
                found |= source_flags * SOURCE_BAR | target_flags * TARGET_BAR
                first, last = _fourth_column(data, row[5], end)
                found |= _links(data, first, last, sources, targets)
            if line and _same_pair(data, spans[line - 1], row):
                found |= REPEATED
        flags[line] = found
        before, before_end, begin = begin, end, end + 1


@njit(cache=True, nogil=True)
def _same_pair(data: Any, one: Any, other: Any) -> bool:
    return (
        _compare(data, one[0], one[1], other[0], other[1]) == 0
        and _compare(data, one[2], one[3], other[2], other[3]) == 0
    )


@njit(cache=True, nogil=True)
def _above_one(data: Any, begin: int, end: int) -> bool:
    """Whether a plain number is more than 1; one with an exponent is not checked."""
    i = begin
    while i < end and data[i] == _ZERO:
        i += 1
    digits = i
    while i < end and data[i] != _POINT:
        if data[i] == _SMALL_E:
            return False
        i += 1
    more = i - digits > 1 or (i - digits == 1 and data[digits] > _ONE)
    one = i - digits == 1 and data[digits] == _ONE
    for j in range(i + 1, end):
        if data[j] == _SMALL_E:
            return False
        more = more or (one and data[j] != _ZERO)
    return more


@njit(cache=True, nogil=True)
def scan_scores(data: Any, spans: Any, pattern: Any, bounds: Any, varies: Any, above: Any) -> None:
    """Find which scores are the same text in every line, and count those above 1.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64 as for ``scan_lines``.
        pattern: uint8, the bytes of the scores of the first line.
        bounds: (scores, 2) int64, begin and end of each there.
        varies: (scores,) bool, set for each score that has another text somewhere.
        above: (scores,) int64, raised by the number of lines in which it is above 1.
    """
    for line in range(len(spans)):
        i, end = spans[line, 4], spans[line, 5]
        for score in range(len(varies)):
            stop = _token_end(data, i, end)
            if not varies[score]:
                first = bounds[score, 0]
                same = bounds[score, 1] - first == stop - i
                for k in range(stop - i):
                    same = same and data[i + k] == pattern[first + k]
                varies[score] = end > spans[line, 4] and not same
            if _above_one(data, i, stop):
                above[score] += 1
            i = _blanks_end(data, stop, end)


@njit(cache=True, nogil=True)
def pair_digests(data: Any, spans: Any, digests: Any) -> None:
    """Digest source and target of each line; (lines,) uint64, 0 for a line that is not one."""
    for line in range(len(spans)):
        value = _FNV_OFFSET
        for column in (0, 2):
            for i in range(spans[line, column], spans[line, column + 1]):
                value = (value ^ np.uint64(data[i])) * _FNV_PRIME
            value = (value ^ np.uint64(_LINE_FEED)) * _FNV_PRIME
        value = (value ^ (value >> _SHIFT)) * _MIX_1
        value = (value ^ (value >> _SHIFT)) * _MIX_2
        value ^= value >> _SHIFT
        digests[line] = value if spans[line, 1] > spans[line, 0] else np.uint64(0)
