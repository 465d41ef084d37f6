"""The compiled loop that reads a block of n-best lines into arrays.

It mirrors ``moses_integration.nbest.format.parse_entry`` for lines that are plain: labels exactly
as in the list's first line, numbers that a double holds exactly before scaling. Every other line is
marked, for the slow reader to decide.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.table.byte_scanning import (
    LINE_FEED,
    SPACE,
    SPACE_ONLY,
    Bytes,
    find_bars,
    find_byte,
    parse_decimal,
    parse_integer,
    same_bytes,
    token_begin,
    token_end,
    trim,
)
from phrasescore.words.word_table import WordArrays, number_words


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


@compiled
def _number(data: Bytes, at: int, end: int) -> float:
    """Return the value of a plain decimal number, correctly rounded; NaN where in doubt."""
    data = borrowed(data)
    value, stop, exact = parse_decimal(data, at, end)
    return value if exact and stop == end else np.nan


@compiled
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
    data, labels, sizes, values = borrowed((data, labels, sizes, values))
    i = token_begin(data, begin, end, SPACE_ONLY)
    at = count = 0
    for size in sizes:
        label_end = find_byte(labels, at, len(labels), SPACE)
        length = label_end - at
        if i + length > end or not same_bytes(data, i, labels, at, length):
            return False
        i += length
        at = label_end + 1
        for _ in range(size):
            i = token_begin(data, i, end, SPACE_ONLY)
            stop = token_end(data, i, end, SPACE_ONLY)
            value = _number(data, i, stop)
            if np.isnan(value):
                return False
            values[count] = value
            count += 1
            i = stop
        i = token_begin(data, i, end, SPACE_ONLY)
    return i == end


@compiled
def _line(
    data: Any, begin: int, end: int, labels: Any, sizes: Any, block: NBestBlock, line: int
) -> bool:
    """Read everything of one line but its words; return whether it is plain."""
    data, labels, sizes, block = borrowed((data, labels, sizes, block))
    first = find_bars(data, begin, end)
    second = find_bars(data, first + 3, end) if first >= 0 else -1
    third = find_bars(data, second + 3, end) if second >= 0 else -1
    if third < 0:
        return False
    fourth = find_bars(data, third + 3, end)
    if fourth < 0:
        fourth = end
    start, stop = trim(data, begin, first, SPACE_ONLY)
    sentence = parse_integer(data, start, stop)
    start, stop = trim(data, third + 3, fourth, SPACE_ONLY)
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


@compiled
def scan(data: Any, labels: Any, sizes: Any, vocabulary: WordArrays, block: NBestBlock) -> None:
    """Read whole lines into the arrays of ``block``."""
    data, labels, sizes, vocabulary, block = borrowed((data, labels, sizes, vocabulary, block))
    begin = 0
    count = 0
    for line in range(len(block.sentences)):
        end = find_byte(data, begin, len(data), LINE_FEED)
        block.doubtful[line] = not _line(data, begin, end, labels, sizes, block, line)
        if not block.doubtful[line]:
            first, stop = block.words[line]
            count = number_words(
                vocabulary, data, first, stop, SPACE_ONLY, False, block.tokens, count
            )
        block.offsets[line + 1] = count
        begin = end + 1
