"""The lines of an ARPA file, read by compiled code: numbers, words, n-grams.

What is wrong with a bad line is not said here: the functions only say which line it is, and
``moses_integration.language_model.arpa`` looks at that one line again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.automaton import LARGEST_LOG10
from phrasescore.compiled import borrowed, compiled
from phrasescore.table.byte_scanning import (
    BLANKS,
    LINE_FEED,
    SPACES_AND_TABS,
    Bytes,
    find_byte,
    parse_decimal,
    same_bytes,
    token_begin,
    token_end,
    trimmed_end,
)
from phrasescore.words.word_table import WordArrays, find_word, intern_word

_BACKSLASH = ord("\\")
# each is <unk>
_UNKNOWN_WORDS = np.frombuffer(b"<unk><UNK>", np.uint8)
_UNKNOWN_LENGTH = 5


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


def room_for(size: int, order: int) -> Rows:
    """Return empty rows for all n-grams of this order that ``size`` bytes can hold, and one more.

    A number, a blank before each word, and a line feed are the least that a line has.
    """
    rows = size // (2 * order + 2) + 1
    return Rows(
        np.zeros((rows, order), np.int32), np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    )


@compiled
def parse_number(block: Bytes, start: int, stop: int) -> tuple[float, bool]:
    """Read the decimal number ``block[start:stop]``; the flag says whether it is a finite one."""
    block = borrowed(block)
    value, end, _ = parse_decimal(block, start, stop)
    return value, start < end == stop and np.isfinite(np.float32(value))


@compiled
def _field(block: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Return where the next field begins and ends; both are ``stop`` where there is none."""
    block = borrowed(block)
    start = token_begin(block, at, stop, SPACES_AND_TABS)
    return start, token_end(block, start, stop, SPACES_AND_TABS)


@compiled
def _log10(block: Bytes, start: int, stop: int) -> tuple[float, int, bool]:
    """Read the probability that a line begins with; return it, its end, and whether it is one."""
    block = borrowed(block)
    start, end = _field(block, start, stop)
    log10, good = parse_number(block, start, end)
    return log10, end, good and -LARGEST_LOG10 <= log10 <= 0.0


@compiled
def _backoff(block: Bytes, at: int, stop: int) -> tuple[float, bool]:
    """Read the back-off weight that may stand at a line's end; tell whether the line is good."""
    block = borrowed(block)
    start, end = _field(block, at, stop)
    if start == end:
        return 0.0, True
    backoff, good = parse_number(block, start, end)
    return backoff, good and abs(backoff) <= LARGEST_LOG10 and end == stop


@compiled
def parse_unigrams(block: Bytes, at: int, words: WordArrays, rows: Rows) -> tuple[int, int, int]:
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
    block, words, rows = borrowed((block, words, rows))
    row = 0
    while at < block.size:
        end = find_byte(block, at, block.size, LINE_FEED)
        stop = trimmed_end(block, at, end, BLANKS)
        if stop == at or block[at] == _BACKSLASH:
            break
        rows.log10[row], after, has_log10 = _log10(block, at, stop)
        start, after = _field(block, after, stop)
        rows.backoff[row], has_end = _backoff(block, after, stop)
        if not (has_log10 and start < after and has_end):
            return at, row, row
        known = words.size[0]
        word = 0 if _is_unknown(block, start, after) else intern_word(words, block, start, after)
        if word != 0 and word != known:
            return at, row, row  # a second time
        rows.words[row, 0] = word
        row += 1
        at = end + 1
    return at, row, -1


@compiled
def _is_unknown(block: Bytes, start: int, stop: int) -> bool:
    """Tell ``<unk>`` and ``<UNK>`` from any other word."""
    return stop - start == _UNKNOWN_LENGTH and (
        same_bytes(block, start, _UNKNOWN_WORDS, 0, _UNKNOWN_LENGTH)
        or same_bytes(block, start, _UNKNOWN_WORDS, _UNKNOWN_LENGTH, _UNKNOWN_LENGTH)
    )


@compiled
def parse_ngrams(
    block: Bytes, at: int, words: WordArrays, rows: Rows, longest: bool
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
    block, words, rows = borrowed((block, words, rows))
    row = 0
    order = rows.words.shape[1]
    while at < block.size:
        end = find_byte(block, at, block.size, LINE_FEED)
        stop = trimmed_end(block, at, end, BLANKS)
        if stop == at or block[at] == _BACKSLASH:
            break
        rows.log10[row], after, has_log10 = _log10(block, at, stop)
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
        rows.backoff[row], has_end = _backoff(block, after, stop)
        if not (has_log10 and has_end) or (longest and rows.backoff[row] != 0.0):
            return at, row, row
        row += 1
        at = end + 1
    return at, row, -1
