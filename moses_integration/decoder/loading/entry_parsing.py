"""The compiled loops that turn lines of a phrase or reordering table into arrays.

They see lines whose first three columns ``phrasescore.table.block`` has found and checked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading.source_phrases import PhraseTrie, child
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
    token_begin,
    token_end,
)
from phrasescore.table.scanning import SCORES, SCORES_END, SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.word_table import WordArrays, find_word, intern_word

# how many columns behind the scores
_ALIGNMENT, _SPARSE = 1, 3
_MOST_POSITION = np.iinfo(np.int16).max
_MOST_LINKS = 10_000  # of a phrase; they are sorted one by one
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


@compiled
def match_sources(
    data: Bytes,
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
    data, spans, words, trie, phrases = borrowed((data, spans, words, trie, phrases))
    for line in range(phrases.size):
        at, end = spans[line, SOURCE], spans[line, SOURCE_END]
        phrase = np.int64(0)
        while phrase >= 0:
            at = token_begin(data, at, end, BLANKS)
            if at == end:
                break
            stop = token_end(data, at, end, BLANKS)
            word = find_word(words, data, at, stop)
            phrase = child(trie, phrase, word) if word >= 0 else -1
            at = stop
        phrases[line] = phrase if phrase > 0 else -1


@compiled
def _parse_scores(data: Bytes, at: int, end: int, scores: NDArray[np.float32]) -> None:
    data, scores = borrowed((data, scores))
    for i in range(scores.size):
        at = token_begin(data, at, end, BLANKS)
        stop = token_end(data, at, end, BLANKS)
        probability = np.float64(np.float32(parse_decimal(data, at, stop)[0]))
        ln = np.float32(np.log(probability)) if probability > 0 else LOWEST_LN
        scores[i] = max(ln, LOWEST_LN)
        at = stop


@compiled
def _parse_target(
    data: Bytes,
    at: int,
    end: int,
    target: WordArrays,
    words: NDArray[np.int32],
    count: int,
) -> tuple[int, int]:
    """Append the target words; return how many there are then, and what is wrong."""
    data, target, words = borrowed((data, target, words))
    while True:
        at = token_begin(data, at, end, BLANKS)
        if at == end:
            return count, FINE
        stop = token_end(data, at, end, BLANKS)
        if find_byte(data, at, stop, BAR) < stop:
            return count, FACTORS
        if is_bracketed(data, at, stop):
            return count, LABEL
        words[count] = intern_word(target, data, at, stop)
        count += 1
        at = stop


@compiled
def _parse_links(
    data: Bytes,
    at: int,
    end: int,
    target_words: int,
    links: NDArray[np.int16],
    count: int,
) -> int:
    """Append the links of a phrase, sorted by source, then target; return the count, -1 if bad."""
    data, links = borrowed((data, links))
    first = count
    while True:
        at = token_begin(data, at, end, BLANKS)
        if at == end:
            return count
        stop = token_end(data, at, end, BLANKS)
        middle = find_byte(data, at, stop, DASH)
        source = parse_integer(data, at, middle)
        goal = parse_integer(data, min(middle + 1, stop), stop)
        inside = 0 <= source <= _MOST_POSITION and 0 <= goal < min(target_words, _MOST_POSITION + 1)
        if not inside or count - first == _MOST_LINKS:
            return -1
        at = stop
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


@compiled
def parse_lines(
    data: Bytes,
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
    data, spans, lines, target, parsed = borrowed((data, spans, lines, target, parsed))
    words = links = 0
    parsed.problem[0] = -1
    for row in range(lines.size):
        line = lines[row]
        first_word = words
        words, problem = _parse_target(
            data, spans[line, TARGET], spans[line, TARGET_END], target, parsed.words, words
        )
        _parse_scores(data, spans[line, SCORES], spans[line, SCORES_END], parsed.scores[row])
        scores_end = spans[line, SCORES_END]
        line_end = find_byte(data, scores_end, data.size, LINE_FEED)
        begin, end = column_after(data, scores_end, line_end, _ALIGNMENT)
        links = _parse_links(data, begin, end, words - first_word, parsed.links, links)
        begin, end = column_after(data, scores_end, line_end, _SPARSE)
        if links < 0:
            problem = BAD_ALIGNMENT
        if token_begin(data, begin, end, BLANKS) < end:
            problem = SPARSE_SCORES
        if problem != FINE:
            parsed.problem[0], parsed.problem[1] = line, problem
            return
        parsed.word_ends[row], parsed.link_ends[row] = words, links
