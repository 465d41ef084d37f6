"""Compiled loops over a block of table lines: order, markup, alignment, constant scores, digests.

They work on the positions that ``phrasescore.table.scanning.find_columns`` found, of lines that
were checked. A line that was not has all its positions at 0 and is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.table.byte_scanning import (
    BAR,
    BLANKS,
    DASH,
    LINE_FEED,
    Bytes,
    column_after,
    find_byte,
    is_bracketed,
    parse_decimal,
    parse_integer,
    same_bytes,
    token_begin,
    token_end,
)
from phrasescore.table.scanning import SCORES, SCORES_END, SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.hashing import HASH_START, hash_byte, hash_bytes, murmur_mix

# what is wrong with the tokens or the alignment of a line
SOURCE_BAR, SOURCE_LABEL, TARGET_BAR, TARGET_LABEL = 1, 2, 4, 8
NO_ALIGNMENT, BAD_ALIGNMENT = 16, 32
UNSORTED, REPEATED = 64, 128


@compiled
def _phrase(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Count the tokens of a trimmed phrase, and flag bars (1) and bracketed tokens (2) in it."""
    count = flags = 0
    if find_byte(data, at, end, BAR) < end:
        flags = 1
    while at < end:
        stop = token_end(data, at, end, BLANKS)
        if is_bracketed(data, at, stop):
            flags |= 2
        count += 1
        at = token_begin(data, stop, end, BLANKS)
    return count, flags


@compiled
def _links(data: Bytes, at: int, end: int, sources: int, targets: int) -> int:
    """Judge an alignment column: none, one that points outside its pair, or one that is well."""
    at = token_begin(data, at, end, BLANKS)
    if at == end:
        return NO_ALIGNMENT
    while at < end:
        stop = token_end(data, at, end, BLANKS)
        middle = find_byte(data, at, stop, DASH)
        if middle == stop:
            return BAD_ALIGNMENT
        source, target = parse_integer(data, at, middle), parse_integer(data, middle + 1, stop)
        if not (0 <= source < sources and 0 <= target < targets):
            return BAD_ALIGNMENT
        at = token_begin(data, stop, end, BLANKS)
    return 0


@compiled
def _compare(data: Any, first: int, first_end: int, second: int, second_end: int) -> int:
    """Compare two runs of bytes as C does: negative if the first is smaller."""
    for k in range(min(first_end - first, second_end - second)):
        if data[first + k] != data[second + k]:
            return np.int64(data[first + k]) - np.int64(data[second + k])
    return (first_end - first) - (second_end - second)


@compiled
def scan_lines(data: Any, spans: Any, hierarchical: bool, flags: Any, lengths: Any) -> None:
    """Find what is odd about each line, and how many tokens its phrases have.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) int64, from ``find_columns``; all 0 for a line that is not one.
        hierarchical: Whether the lines are rules, whose brackets and links are another matter.
        flags: (lines,) uint8, filled with the sums of the flags above.
        lengths: (lines, 2) int64, filled: tokens of source and target.
    """
    data, spans, flags, lengths = borrowed((data, spans, flags, lengths))
    begin, before, before_end = 0, -1, -1
    for line in range(len(spans)):
        end = find_byte(data, begin, len(data), LINE_FEED)
        row, found = spans[line], 0
        if before >= 0 and _compare(data, before, before_end, begin, end) > 0:
            found |= UNSORTED
        if row[SOURCE_END] > row[SOURCE]:
            sources, source_flags = _phrase(data, row[SOURCE], row[SOURCE_END])
            targets, target_flags = _phrase(data, row[TARGET], row[TARGET_END])
            lengths[line, 0], lengths[line, 1] = sources, targets
            if not hierarchical:
                found |= source_flags * SOURCE_BAR | target_flags * TARGET_BAR
                first, last = column_after(data, row[SCORES_END], end, 1)
                found |= _links(data, first, last, sources, targets)
            if line and _same_pair(data, spans[line - 1], row):
                found |= REPEATED
        flags[line] = found
        before, before_end, begin = begin, end, end + 1


@compiled
def _same_pair(data: Any, one: Any, other: Any) -> bool:
    return (
        _compare(data, one[SOURCE], one[SOURCE_END], other[SOURCE], other[SOURCE_END]) == 0
        and _compare(data, one[TARGET], one[TARGET_END], other[TARGET], other[TARGET_END]) == 0
    )


@compiled
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
    data, spans, pattern, bounds, varies, above = borrowed(
        (data, spans, pattern, bounds, varies, above)
    )
    for line in range(len(spans)):
        i, end = spans[line, SCORES], spans[line, SCORES_END]
        for score in range(len(varies)):
            stop = token_end(data, i, end, BLANKS)
            if not varies[score]:
                first, length = bounds[score, 0], bounds[score, 1] - bounds[score, 0]
                same = length == stop - i and same_bytes(data, i, pattern, first, length)
                varies[score] = end > spans[line, SCORES] and not same
            if parse_decimal(data, i, stop)[0] > 1:
                above[score] += 1
            i = token_begin(data, stop, end, BLANKS)


@compiled
def pair_digests(data: Any, spans: Any, digests: Any) -> None:
    """Digest source and target of each line; (lines,) uint64, 0 for a line that is not one."""
    for line in range(len(spans)):
        row, value = spans[line], HASH_START
        for column in (SOURCE, TARGET):
            value = hash_bytes(data, row[column], row[column + 1], value)
            value = hash_byte(value, LINE_FEED)
        digests[line] = murmur_mix(value) if row[SOURCE_END] > row[SOURCE] else np.uint64(0)


_MOST_PAIRS = 1 << 22


class PairSample:
    """Keeps the pairs whose digests are divisible by 2^k, with k as small as memory allows.

    Whether a pair is kept depends on the pair alone, so the samples of two tables are comparable.

    Args:
        most: How many digests to keep at most.
    """

    def __init__(self, most: int = _MOST_PAIRS) -> None:
        self._most = most
        self._parts: list[NDArray[np.uint64]] = []
        self._kept = 0
        self.shift = 0

    def add(self, digests: NDArray[np.uint64]) -> None:
        """Take in some pairs; all digests are non-zero."""
        part = _divisible(digests, self.shift)
        self._parts.append(part)
        self._kept += len(part)
        while self._kept > self._most:
            self.shift += 1
            self._parts = [_divisible(np.concatenate(self._parts), self.shift)]
            self._kept = len(self._parts[0])

    def missing_in(self, other: PairSample) -> tuple[int, int]:
        """Return how many pairs were compared, and how many of them the other table lacks."""
        shift = max(self.shift, other.shift)
        mine, theirs = self._digests(shift), other._digests(shift)
        return len(mine), int((~np.isin(mine, theirs)).sum())

    def _digests(self, shift: int) -> NDArray[np.uint64]:
        parts = self._parts or [np.zeros(0, np.uint64)]
        return np.unique(_divisible(np.concatenate(parts), shift))


def _divisible(digests: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    return digests[digests & np.uint64((1 << shift) - 1) == 0]
