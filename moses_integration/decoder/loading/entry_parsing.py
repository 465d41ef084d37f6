"""The compiled loops that turn lines of a phrase or reordering table into arrays.

They see lines whose first three columns ``phrasescore.table.block`` has found and checked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading.source_phrases import PhraseTrie, child
from phrasescore.compiled import leaf
from phrasescore.words.word_table import WordArrays, find_word, intern_word

_LINE_FEED, _SPACE, _TAB, _RETURN = 10, 32, 9, 13
_BAR, _OPEN, _CLOSE, _DASH = ord("|"), ord("["), ord("]"), ord("-")
_POINT, _ZERO, _NINE, _MINUS, _PLUS = ord("."), ord("0"), ord("9"), ord("-"), ord("+")
_ALIGNMENT, _SPARSE = 3, 5
_MOST_DIGITS = 18  # more would overflow 64 bits
LOWEST_LN = np.float32(-100.0)  # Moses's floor

FINE, FACTORS, LABEL, BAD_ALIGNMENT, SPARSE_SCORES = 0, 1, 2, 3, 4


class ParsedLines(NamedTuple):
    """Where `parse_lines` writes; long enough for any lines of the block.

    Attributes:
        scores: ln of each score, floored, shape (lines, scores).
        word_ends: The target words after each line, shape (lines,).
        words: Target word ids.
        link_ends: The alignment links after each line, shape (lines,).
        links: Source and target position of each link, shape (links, 2).
        problem: Two numbers: the first bad line or -1, and what is wrong with it.
    """

    scores: NDArray[np.float32]
    word_ends: NDArray[np.int64]
    words: NDArray[np.int32]
    link_ends: NDArray[np.int64]
    links: NDArray[np.int16]
    problem: NDArray[np.int64]


@leaf
def _is_blank(byte: int) -> bool:
    return byte in (_SPACE, _TAB, _RETURN)


@leaf
def _token_end(data: NDArray[np.uint8], at: int, end: int) -> int:
    while at < end and not _is_blank(data[at]):
        at += 1
    return at


@leaf
def _token_start(data: NDArray[np.uint8], at: int, end: int) -> int:
    while at < end and _is_blank(data[at]):
        at += 1
    return at


@leaf
def match_sources(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    words: WordArrays,
    trie: PhraseTrie,
    phrases: NDArray[np.int32],
) -> None:
    """Find the source phrase of every line.

    Args:
        data: The bytes of the lines.
        spans: Begin and end of the columns of each line, shape (lines, 6).
        words: The words of the input.
        trie: Its phrases.
        phrases: Filled: the phrase's number, -1 where the input does not have it, shape (lines,).
    """
    for line in range(phrases.size):
        at, end = spans[line, 0], spans[line, 1]
        phrase = np.int64(0)
        while phrase >= 0:
            at = _token_start(data, at, end)
            if at == end:
                break
            stop = _token_end(data, at, end)
            word = find_word(words, data, at, stop)
            phrase = child(trie, phrase, word) if word >= 0 else -1
            at = stop
        phrases[line] = phrase if phrase > 0 else -1


@leaf
def _number(data: NDArray[np.uint8], at: int, end: int) -> float:
    """Read a number that has been checked: digits, a point, an exponent."""
    mantissa, scale, digits, negative = 0, 0, 0, data[at] == _MINUS
    if data[at] == _MINUS or data[at] == _PLUS:
        at += 1
    behind_point = False
    while at < end and (data[at] == _POINT or _ZERO <= data[at] <= _NINE):
        if data[at] == _POINT:
            behind_point = True
        elif digits < _MOST_DIGITS:
            mantissa = 10 * mantissa + data[at] - _ZERO
            digits += mantissa > 0
            scale -= behind_point
        else:
            scale += not behind_point
        at += 1
    if at < end:
        at += 1
        sign = 1
        if data[at] == _MINUS or data[at] == _PLUS:
            sign = -1 if data[at] == _MINUS else 1
            at += 1
        exponent = 0
        while at < end:
            exponent = min(10 * exponent + data[at] - _ZERO, 10_000)
            at += 1
        scale += sign * exponent
    value = float(mantissa)
    # two steps, since 10**-320 alone has few digits left
    if scale < -300:
        value = value / 1e300 / 10.0 ** min(-scale - 300, 300)
    elif scale < 0:
        value = value / 10.0**-scale
    else:
        value = value * 10.0 ** min(scale, 300)
    return -value if negative else value


@leaf
def _parse_scores(data: NDArray[np.uint8], at: int, end: int, scores: NDArray[np.float32]) -> None:
    for i in range(scores.size):
        at = _token_start(data, at, end)
        stop = _token_end(data, at, end)
        probability = np.float64(np.float32(_number(data, at, stop)))
        ln = np.float32(np.log(probability)) if probability > 0 else LOWEST_LN
        scores[i] = max(ln, LOWEST_LN)
        at = stop


@leaf
def _column(data: NDArray[np.uint8], at: int, number: int) -> tuple[int, int]:
    """Find a column; ``at`` is the end of column 2. Empty where the line has no such column."""
    column = 2
    begin = at
    while at < data.size and data[at] != _LINE_FEED:
        if (
            at + 2 < data.size
            and data[at] == _BAR
            and data[at + 1] == _BAR
            and data[at + 2] == _BAR
        ):
            if column == number:
                return begin, at
            column += 1
            at += 3
            begin = at
        else:
            at += 1
    if column == number:
        return begin, at
    return at, at


@leaf
def _parse_target(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    target: WordArrays,
    words: NDArray[np.int32],
    count: int,
) -> tuple[int, int]:
    """Append the target words; return how many there are then, and what is wrong."""
    while True:
        at = _token_start(data, at, end)
        if at == end:
            return count, FINE
        stop = _token_end(data, at, end)
        for i in range(at, stop):
            if data[i] == _BAR:
                return count, FACTORS
        if stop - at > 1 and data[at] == _OPEN and data[stop - 1] == _CLOSE:
            return count, LABEL
        words[count] = intern_word(target, data, at, stop)
        count += 1
        at = stop


@leaf
def _position(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """Read digits; return the number, -1 where there is none, and where it ends."""
    begin, value = at, 0
    while at < end and _ZERO <= data[at] <= _NINE and at - begin < 5:
        value = 10 * value + data[at] - _ZERO
        at += 1
    return (value if at > begin else -1), at


@leaf
def _parse_links(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    target_words: int,
    links: NDArray[np.int16],
    count: int,
) -> int:
    """Append the links of a phrase, sorted by source, then target; return the count, -1 if bad."""
    first = count
    while True:
        at = _token_start(data, at, end)
        if at == end:
            return count
        source, at = _position(data, at, end)
        if source < 0 or at == end or data[at] != _DASH:
            return -1
        goal, at = _position(data, at + 1, end)
        if goal < 0 or goal >= target_words or (at < end and not _is_blank(data[at])):
            return -1
        place = count
        while place > first and (
            links[place - 1, 0] > source
            or (links[place - 1, 0] == source and links[place - 1, 1] > goal)
        ):
            links[place, 0] = links[place - 1, 0]
            links[place, 1] = links[place - 1, 1]
            place -= 1
        links[place, 0], links[place, 1] = source, goal
        count += 1


@leaf
def parse_lines(
    data: NDArray[np.uint8],
    spans: NDArray[np.int64],
    lines: NDArray[np.int64],
    target: WordArrays,
    parsed: ParsedLines,
) -> None:
    """Parse the lines that are kept.

    Args:
        data: The bytes of the block.
        spans: Begin and end of source, target and scores of each of its lines, shape (all, 6).
        lines: Which lines to parse, shape (lines,).
        target: The target words, with room for more.
        parsed: Filled.
    """
    words = links = 0
    parsed.problem[0] = -1
    for row in range(lines.size):
        line = lines[row]
        first_word = words
        words, problem = _parse_target(
            data, spans[line, 2], spans[line, 3], target, parsed.words, words
        )
        _parse_scores(data, spans[line, 4], spans[line, 5], parsed.scores[row])
        begin, end = _column(data, spans[line, 5], _ALIGNMENT)
        links = _parse_links(data, begin, end, words - first_word, parsed.links, links)
        begin, end = _column(data, spans[line, 5], _SPARSE)
        if links < 0:
            problem = BAD_ALIGNMENT
        if _token_start(data, begin, end) < end:
            problem = SPARSE_SCORES
        if problem != FINE:
            parsed.problem[0], parsed.problem[1] = line, problem
            return
        parsed.word_ends[row], parsed.link_ends[row] = words, links
