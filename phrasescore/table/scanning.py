"""The compiled loops that find columns, scores and tokens in a block of phrase-table lines.

They mirror the rules of ``phrasescore.table.phrase_table`` and mark every line they are not sure of
as doubtful. Positions are byte offsets into the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from phrasescore.table.phrase_table import GAP

_LINE_FEED, _SPACE, _TAB, _RETURN = 10, 32, 9, 13
_PIPE, _POINT, _MINUS, _E = ord("|"), ord("."), ord("-"), ord("e")
_ZERO, _NINE, _OPEN, _CLOSE = ord("0"), ord("9"), ord("["), ord("]")
# a longer number might overflow: the slow path decides
_LONGEST_PLAIN_SCORE = 300


@njit(cache=True, nogil=True)
def _pipes(data: Any, begin: int, end: int) -> int:
    for i in range(begin, end - 2):
        if data[i] == _PIPE and data[i + 1] == _PIPE and data[i + 2] == _PIPE:
            return i
    return -1


@njit(cache=True, nogil=True)
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB, _RETURN)


@njit(cache=True, nogil=True)
def _trim(data: Any, begin: int, end: int) -> tuple[int, int]:
    while begin < end and _is_blank(data[begin]):
        begin += 1
    while end > begin and _is_blank(data[end - 1]):
        end -= 1
    return begin, end


@njit(cache=True, nogil=True)
def _skip_digits(data: Any, i: int, end: int) -> int:
    while i < end and _ZERO <= data[i] <= _NINE:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _skip_blanks(data: Any, i: int, end: int) -> int:
    while i < end and _is_blank(data[i]):
        i += 1
    return i


@njit(cache=True, nogil=True)
def _skip_plain_score(data: Any, begin: int, end: int) -> int:
    """Return the end of a score like 1, 0.5 or 8.4e-05 that begins here, or -1."""
    i = _skip_digits(data, begin, end)
    if i == begin:
        return -1
    if i < end and data[i] == _POINT:
        i = _skip_digits(data, i + 1, end)
    if i < end and data[i] == _E:
        # a positive exponent could overflow
        if i + 1 == end or data[i + 1] != _MINUS:
            return -1
        digits = i + 2
        i = _skip_digits(data, digits, end)
        if i == digits:
            return -1
    if i - begin > _LONGEST_PLAIN_SCORE or (i < end and not _is_blank(data[i])):
        return -1
    return i


@njit(cache=True, nogil=True)
def _plain_scores(data: Any, begin: int, end: int) -> int:
    """Count the scores of a trimmed column, or return -1 if one is not plain."""
    count = 0
    i = begin
    while i < end:
        i = _skip_plain_score(data, i, end)
        if i < 0:
            return -1
        i = _skip_blanks(data, i, end)
        count += 1
    return count


@njit(cache=True, nogil=True)
def _may_be_rule(data: Any, row: Any) -> bool:
    """Whether both sides end in a bracket and the source has something before its label."""
    if row[2] == row[3] or data[row[1] - 1] != _CLOSE or data[row[3] - 1] != _CLOSE:
        return False
    for i in range(row[0], row[1]):  # noqa: SIM110 - compiled, and a generator is not
        if data[i] == _SPACE or data[i] == _TAB:
            return True
    return False


@njit(cache=True, nogil=True)
def find_columns(data: Any, scores: int, hierarchical: bool, spans: Any, doubtful: Any) -> None:
    """Find source, target and scores of every line.

    Args:
        data: uint8, whole lines.
        scores: How many scores a line of this table has.
        hierarchical: Whether its lines are rules.
        spans: (lines, 6) int64, filled: begin and end of the three columns, blanks trimmed.
        doubtful: (lines,) bool, filled: whether a line must be checked the slow way.
    """
    line_begin = 0
    for line in range(len(spans)):
        line_end = line_begin
        while line_end < len(data) and data[line_end] != _LINE_FEED:
            line_end += 1
        first = _pipes(data, line_begin, line_end)
        second = _pipes(data, first + 3, line_end) if first >= 0 else -1
        if second < 0:
            doubtful[line] = True
        else:
            third = _pipes(data, second + 3, line_end)
            if third < 0:
                third = line_end
            row = spans[line]
            row[0], row[1] = _trim(data, line_begin, first)
            row[2], row[3] = _trim(data, first + 3, second)
            row[4], row[5] = _trim(data, second + 3, third)
            count = _plain_scores(data, row[4], row[5])
            doubtful[line] = (
                row[0] == row[1]
                or count != scores
                or (hierarchical and not _may_be_rule(data, row))
            )
        line_begin = line_end + 1


@njit(cache=True, nogil=True)
def _factor_span(data: Any, begin: int, end: int, factor: int) -> tuple[int, int]:
    """Narrow a token to one factor; an empty one leaves it whole; (-1, -1) if there is none."""
    start = begin
    for _ in range(factor):
        while start < end and data[start] != _PIPE:
            start += 1
        if start == end:
            return -1, -1
        start += 1
    stop = start
    while stop < end and data[stop] != _PIPE:
        stop += 1
    if stop == start:
        return begin, end
    return start, stop


@njit(cache=True, nogil=True)
def _is_gap(data: Any, begin: int, end: int) -> bool:
    if data[begin] != _OPEN or data[end - 1] != _CLOSE:
        return False
    for i in range(begin, end - 1):  # noqa: SIM110 - compiled, and a generator is not
        if data[i] == _CLOSE and data[i + 1] == _OPEN:
            return True
    return False


@njit(cache=True, nogil=True)
def _last_token(data: Any, begin: int, end: int) -> int:
    while end > begin and data[end - 1] != _SPACE and data[end - 1] != _TAB:
        end -= 1
    return end


@njit(cache=True, nogil=True)
def find_tokens(
    data: Any,
    begins: Any,
    ends: Any,
    factor: int,
    hierarchical: bool,
    spans: Any,
    offsets: Any,
    doubtful: Any,
) -> int:
    """Find the tokens of one side and return how many there are.

    Args:
        data: uint8, whole lines and then the gap token.
        begins: (lines,) int64, where each phrase begins.
        ends: (lines,) int64, where it ends.
        factor: Which factor of a token counts, from 0.
        hierarchical: Whether the phrases are sides of rules.
        spans: (2, enough) int64, filled: begin and end of every token.
        offsets: (lines + 1,) int64, filled: the first token of each phrase.
        doubtful: (lines,) bool, filled: whether a token or a label is missing.
    """
    gap_begin = len(data) - len(GAP)
    count = 0
    for line in range(len(begins)):
        i, end = begins[line], ends[line]
        if hierarchical:
            label = _last_token(data, i, end)
            doubtful[line] = end - label < 2 or data[label] != _OPEN or data[end - 1] != _CLOSE
            end = label
        while i < end:
            while i < end and (data[i] == _SPACE or data[i] == _TAB):
                i += 1
            start = i
            while i < end and data[i] != _SPACE and data[i] != _TAB:
                i += 1
            if i == start:
                break
            if hierarchical and _is_gap(data, start, i):
                spans[0, count], spans[1, count] = gap_begin, len(data)
            else:
                spans[0, count], spans[1, count] = _factor_span(data, start, i, factor)
                if spans[0, count] < 0:
                    doubtful[line] = True
            count += 1
        offsets[line + 1] = count
    return count


@njit(cache=True, nogil=True)
def find_scores(data: Any, spans: Any, first: int, count: int) -> Any:
    """(lines * count, 2) int64: where some consecutive scores of every line are."""
    places = np.empty((len(spans) * count, 2), np.int64)
    for line in range(len(spans)):
        i, end = spans[line, 4], spans[line, 5]
        for number in range(first + count):
            start = _skip_blanks(data, i, end)
            i = start
            while i < end and not _is_blank(data[i]):
                i += 1
            if number >= first:
                places[line * count + number - first, 0] = start
                places[line * count + number - first, 1] = i
    return places


@njit(cache=True, nogil=True)
def count_runs(data: Any, spans: Any) -> int:
    """Count the first line and every line whose source differs from that of the line before."""
    runs = 1
    for line in range(1, len(spans)):
        begin, length = spans[line, 0], spans[line, 1] - spans[line, 0]
        before = spans[line - 1, 0]
        same = spans[line - 1, 1] - before == length
        i = 0
        while same and i < length:
            same = data[begin + i] == data[before + i]
            i += 1
        if not same:
            runs += 1
    return runs
