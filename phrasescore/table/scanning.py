"""Compiled loops that find columns, scores and tokens in a block of phrase-table lines.

The loops implement the rules of ``phrasescore.table.phrase_table``. They mark a line as doubtful
unless it is certainly correct. Positions are byte offsets into the block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.table.byte_scanning import (
    BAR,
    BLANKS,
    CLOSE,
    DASH,
    LINE_FEED,
    OPEN,
    SPACE,
    SPACES_AND_TABS,
    Bytes,
    find_bars,
    find_byte,
    is_bracketed,
    last_token,
    parse_decimal,
    same_bytes,
    token_begin,
    token_end,
    trim,
)
from phrasescore.table.phrase_table import GAP

Positions = NDArray[np.int64]
Flags = NDArray[np.bool_]

# the columns of the spans of a line
SOURCE, SOURCE_END, TARGET, TARGET_END, SCORES, SCORES_END = range(6)
# larger scores may overflow a double, so Python checks a line with such a score
_MAX_PLAIN_SCORE = 1e300


@compiled
def _plain_scores(data: Bytes, begin: int, end: int) -> int:
    """Return the number of scores in a trimmed column, or -1 if one is doubtful."""
    data = borrowed(data)
    count = 0
    at = begin
    while at < end:
        value, stop, _ = parse_decimal(data, at, end)
        if stop == at or data[at] == DASH or value > _MAX_PLAIN_SCORE:
            return -1
        at = token_begin(data, stop, end, BLANKS)
        if at == stop and at < end:
            return -1
        count += 1
    return count


@compiled
def _may_be_rule(data: Bytes, row: Positions) -> bool:
    """Tell whether both sides end with a bracket and the source is more than its label."""
    if (
        row[SOURCE] == row[SOURCE_END]
        or row[TARGET] == row[TARGET_END]
        or data[row[SOURCE_END] - 1] != CLOSE
        or data[row[TARGET_END] - 1] != CLOSE
    ):
        return False
    return token_end(data, row[SOURCE], row[SOURCE_END], SPACES_AND_TABS) < row[SOURCE_END]


@compiled
def find_columns(
    data: Bytes, scores: int, hierarchical: bool, spans: Positions, doubtful: Flags
) -> None:
    """Find source, target and scores of every line.

    Args:
        data: uint8, whole lines.
        scores: The number of scores of a line in this table.
        hierarchical: Whether the lines are rules.
        spans: (lines, 6) int64, filled: begin and end of the three columns, without blanks around
            them.
        doubtful: (lines,) bool, filled: whether Python must check a line.
    """
    data, spans, doubtful = borrowed((data, spans, doubtful))
    line_begin = 0
    for line in range(len(spans)):
        line_end = find_byte(data, line_begin, len(data), LINE_FEED)
        first = find_bars(data, line_begin, line_end)
        second = find_bars(data, first + 3, line_end) if first >= 0 else -1
        if second < 0:
            doubtful[line] = True
        else:
            third = find_bars(data, second + 3, line_end)
            if third < 0:
                third = line_end
            row = spans[line]
            row[SOURCE], row[SOURCE_END] = trim(data, line_begin, first, BLANKS)
            row[TARGET], row[TARGET_END] = trim(data, first + 3, second, BLANKS)
            row[SCORES], row[SCORES_END] = trim(data, second + 3, third, BLANKS)
            count = _plain_scores(data, row[SCORES], row[SCORES_END])
            doubtful[line] = (
                row[SOURCE] == row[SOURCE_END]
                or count != scores
                or (hierarchical and not _may_be_rule(data, row))
            )
        line_begin = line_end + 1


@compiled
def _factor_span(data: Bytes, begin: int, end: int, factor: int) -> tuple[int, int]:
    """Return the span of a factor: (-1, -1) if there is none, the whole token if it is empty."""
    data = borrowed(data)
    start = begin
    for _ in range(factor):
        start = find_byte(data, start, end, BAR)
        if start == end:
            return -1, -1
        start += 1
    stop = find_byte(data, start, end, BAR)
    if stop == start:
        return begin, end
    return start, stop


@compiled
def _is_gap(data: Bytes, begin: int, end: int) -> bool:
    if data[begin] != OPEN or data[end - 1] != CLOSE:
        return False
    for i in range(begin, end - 1):  # noqa: SIM110 - a generator would not be compiled
        if data[i] == CLOSE and data[i + 1] == OPEN:
            return True
    return False


@compiled
def find_tokens(
    data: Bytes,
    begins: Positions,
    ends: Positions,
    factor: int,
    hierarchical: bool,
    spans: Positions,
    offsets: Positions,
    doubtful: Flags,
) -> int:
    """Find the tokens of one side; return how many tokens there are.

    Args:
        data: uint8, whole lines and then the gap token ``[X]``.
        begins: (lines,) int64, the first byte of each phrase.
        ends: (lines,) int64, the byte after each phrase.
        factor: The factor of a token to use, counted from 0.
        hierarchical: Whether the phrases are sides of rules.
        spans: (2, enough) int64, filled: begin and end of every token.
        offsets: (lines + 1,) int64, filled: the first token of each phrase.
        doubtful: (lines,) bool, filled: whether a factor or a label is missing.
    """
    data, begins, ends, spans, offsets, doubtful = borrowed(
        (data, begins, ends, spans, offsets, doubtful)
    )
    gap_begin = len(data) - len(GAP)
    count = 0
    for line in range(len(begins)):
        i, end = begins[line], ends[line]
        if hierarchical:
            label = last_token(data, i, end, SPACES_AND_TABS)
            doubtful[line] = not is_bracketed(data, label, end)
            end = label
        while True:
            start = token_begin(data, i, end, SPACES_AND_TABS)
            if start == end:
                break
            i = token_end(data, start, end, SPACES_AND_TABS)
            if hierarchical and _is_gap(data, start, i):
                spans[0, count], spans[1, count] = gap_begin, len(data)
            else:
                spans[0, count], spans[1, count] = _factor_span(data, start, i, factor)
                if spans[0, count] < 0:
                    doubtful[line] = True
            count += 1
        offsets[line + 1] = count
    return count


@compiled
def find_runs(data: Bytes, spans: Positions, starts: Positions) -> int:
    """Find lines whose source differs from the previous line's; return how many there are.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64, from `find_columns`.
        starts: (lines,) int64, filled: the lines found, beginning with the first line.
    """
    data, spans, starts = borrowed((data, spans, starts))
    runs = 0
    for line in range(len(spans)):
        begin, length = spans[line, SOURCE], spans[line, SOURCE_END] - spans[line, SOURCE]
        if line > 0:
            before = spans[line - 1, SOURCE]
            equal = spans[line - 1, SOURCE_END] - before == length
            if equal and same_bytes(data, begin, data, before, length):
                continue
        starts[runs] = line
        runs += 1
    return runs


@compiled
def first_out_of_order(data: Bytes, spans: Positions, starts: Positions) -> int:
    """Return the first line whose source sorts before the source of the line above it, or -1.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64, from `find_columns`.
        starts: (runs,) int64, the first lines of the runs of equal sources.
    """
    data, spans, starts = borrowed((data, spans, starts))
    for run in range(1, len(starts)):
        line = starts[run]
        if _sorts_before(data, spans[line], spans[line - 1]):
            return line
    return -1


@compiled
def _sorts_before(data: Bytes, row: Positions, above: Positions) -> bool:
    """Tell whether the source of a line sorts before the source of the line above it.

    As in Moses, sources are compared byte by byte, with `` |||`` after each source.
    """
    data, row, above = borrowed((data, row, above))
    at, end = row[SOURCE], row[SOURCE_END]
    there, there_end = above[SOURCE], above[SOURCE_END]
    while at < end and there < there_end and data[at] == data[there]:
        at += 1
        there += 1
    # if one source is a prefix of the other, compare the separator after it
    for place in range(4):
        ours = _byte_or_bar(data, at + place, end)
        theirs = _byte_or_bar(data, there + place, there_end)
        if ours != theirs:
            return ours < theirs
    return False


@compiled
def _byte_or_bar(data: Bytes, at: int, end: int) -> int:
    """Return a byte of a phrase, or of the `` |||`` after it."""
    if at < end:
        return np.int64(data[at])
    return SPACE if at == end else BAR


@compiled
def read_scores(
    data: Bytes, spans: Positions, values: NDArray[np.float64], rounded: Positions
) -> int:
    """Read all scores; return how many of them may not be the nearest double.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64, from `find_columns`.
        values: (lines, scores) float64, filled.
        rounded: (lines * scores, 4) int64, filled for each score that may not be the nearest
            double: line, score (from 0), start and end.
    """
    data, spans, values, rounded = borrowed((data, spans, values, rounded))
    count = 0
    for line in range(len(spans)):
        begin, end = spans[line, SCORES], spans[line, SCORES_END]
        for score in range(values.shape[1]):
            value, stop, exact = parse_decimal(data, begin, end)
            values[line, score] = value
            if not exact:
                rounded[count, 0], rounded[count, 1] = line, score
                rounded[count, 2], rounded[count, 3] = begin, stop
                count += 1
            begin = token_begin(data, stop, end, BLANKS)
    return count
