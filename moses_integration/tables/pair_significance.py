"""Fisher's exact test on the counts of a phrase table, to find pairs that may be due to chance.

Johnson, Martin, Foster and Kuhn (2007) count the sentence pairs that contain the source phrase, the
target phrase, and both. The upper tail p of the hypergeometric distribution is the probability that
two unrelated phrases would occur together at least as often as observed. The authors keep a pair if
-ln p is above a level. If the pair and both of its phrases occur only once (1-1-1), p = 1/N for N
sentences.

This module takes the counts of the table's fifth column, ``C(target) C(source) C(pair)``, which say
how often phrases were extracted, not in how many sentences they occur. A phrase that occurs twice
in a sentence, or is extracted with several partners, counts more than once, so frequent phrases may
have been extracted more often than there are sentences. If N is too small for the counts of a pair,
the test uses C(source) + C(target) instead of N, so that the two phrases need not occur together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import SettingsError, visible
from phrasescore.table.block import TableBlock
from phrasescore.table.byte_scanning import (
    BLANKS,
    LINE_FEED,
    Bytes,
    column_after,
    find_byte,
    parse_decimal,
    token_begin,
)
from phrasescore.table.input_files import finite_number
from phrasescore.table.phrase_table import GAP
from phrasescore.table.scanning import SCORES_END

# the distance of the named levels from ln N, as in Moses's contrib/sigtest-filter
_EPSILON = 0.001
_NAMED = {"a+e": _EPSILON, "a-e": -_EPSILON}
# the counts are this many columns after the scores
_TO_COUNTS = 2
# above this, some whole numbers are not doubles
_LARGEST_COUNT = 2.0**53
_ENOUGH = 1e-17  # terms smaller than this share of their sum change nothing in double precision


@dataclass(frozen=True)
class SignificanceLevel:
    """The condition for a significant pair.

    Args:
        level: The limit that -ln p must exceed.
        sentences: The number of sentence pairs that the phrases were extracted from.
    """

    level: float
    sentences: int

    @classmethod
    def parse(cls, text: str, sentences: int) -> SignificanceLevel:
        """Parse a level as a user writes it.

        Args:
            text: A number, or ``a+e`` (just above alpha = ln N, to drop 1-1-1 pairs), or ``a-e``
                (just below alpha, to keep them).
            sentences: N, the number of sentence pairs.

        Raises:
            SettingsError: The text is none of these.
        """
        if text in _NAMED:
            return cls(math.log(sentences) + _NAMED[text], sentences)
        level = finite_number(text)
        if level is None or level < 0.0:
            raise SettingsError(
                f"the significance level is {text!r}, expected a number of at least 0, a+e or a-e"
            )
        return cls(level, sentences)

    def find(self, block: TableBlock) -> tuple[NDArray[np.bool_], int]:
        """Test the pairs of some lines.

        Returns:
            (lines,) bool: whether each pair is significant; and for how many pairs N was too small.

        Raises:
            PhraseTableError: A line has no valid counts.
        """
        counts = pair_counts(block)
        values = np.empty(len(block))
        cramped = _test_all(counts, float(self.sentences), values)
        return values > self.level, int(cramped)


def pair_counts(block: TableBlock) -> NDArray[np.float64]:
    """Return (lines, 3) float64: how often target, source and pair were extracted.

    Raises:
        PhraseTableError: The fifth column of a line is not three whole numbers, the last of them at
            least 1 and not greater than the other two.
    """
    counts = np.zeros((len(block), 3))
    row = int(_read_counts(block.data, block.spans, counts))
    if row >= 0:
        raise block.error(
            row,
            f"column 5 is {visible(block.entry(row).counts, 40)!r}, but the significance test "
            "needs three whole counts: of the target, of the source, and of the pair (at least 1, "
            "and not above the others)",
            "make the table with Moses's score (rules: extract --NoFractionalCounting) or "
            "with build, or prune by other conditions",
        )
    return counts


@compiled
def _read_counts(data: Bytes, spans: NDArray[np.int64], counts: NDArray[np.float64]) -> int:
    """Fill in the counts of all lines; return the index of the first bad line, or -1."""
    data, spans, counts = borrowed((data, spans, counts))
    text_end = len(data) - len(GAP)  # the last line need not end in a line feed
    for line in range(len(spans)):
        scores_end = spans[line, SCORES_END]
        line_end = find_byte(data, scores_end, text_end, LINE_FEED)
        at, end = column_after(data, scores_end, line_end, _TO_COUNTS)
        found = 0
        at = token_begin(data, at, end, BLANKS)
        while at < end:
            value, stop, _ = parse_decimal(data, at, end)
            at = token_begin(data, stop, end, BLANKS)
            if found == 3 or (at == stop and at < end) or not 1 <= value <= _LARGEST_COUNT:
                return line
            if value != math.floor(value):
                return line
            counts[line, found] = value
            found += 1
        if found != 3 or counts[line, 2] > min(counts[line, 0], counts[line, 1]):
            return line
    return -1


@compiled
def _test_all(counts: NDArray[np.float64], sentences: float, values: NDArray[np.float64]) -> int:
    """Fill in -ln p of all pairs; return for how many ``sentences`` was too small."""
    cramped = 0
    for line in range(len(counts)):
        target, source, pair = counts[line, 0], counts[line, 1], counts[line, 2]
        total = sentences
        if target + source - pair > sentences:
            total = target + source
            cramped += 1
        values[line] = minus_ln_p(pair, source, target, total)
    return cramped


@compiled
def minus_ln_p(pair: float, source: float, target: float, total: float) -> float:
    """Return -ln p, where p is the probability of at least ``pair`` joint occurrences by chance.

    Args:
        pair: The number of sentence pairs with both phrases.
        source: The number of sentence pairs with the source phrase, at least ``pair``.
        target: The number of sentence pairs with the target phrase, at least ``pair``.
        total: The number of sentence pairs, at least ``source + target - pair``.
    """
    # the four cells of the contingency table: both phrases, only one, only the other, neither
    both, one, other = pair, source - pair, target - pair
    neither = total - source - target + pair
    mode = math.floor((source + 1) * (target + 1) / (total + 2))
    if both > mode:
        term = share = 1.0
        first = _ln_term(both, one, other, neither)
        # beyond the mode every term of the upper tail is smaller than the previous one
        while one > 0 and other > 0 and term > _ENOUGH * share:
            term *= one * other / ((both + 1) * (neither + 1))
            share += term
            both, one, other, neither = both + 1, one - 1, other - 1, neither + 1
        return -(first + math.log(share))
    if both == 0 or neither == 0:
        return 0.0  # fewer joint occurrences are impossible, so p is 1
    # the upper tail is most of the distribution: sum the lower tail, and take p = 1 - sum
    both, one, other, neither = both - 1, one + 1, other + 1, neither - 1
    term = share = 1.0
    first = _ln_term(both, one, other, neither)
    while both > 0 and neither > 0 and term > _ENOUGH * share:
        term *= both * neither / ((one + 1) * (other + 1))
        share += term
        both, one, other, neither = both - 1, one + 1, other + 1, neither - 1
    return -math.log1p(-math.exp(first) * share)


@compiled
def _ln_term(both: float, one: float, other: float, neither: float) -> float:
    """Return ln of the probability of the contingency table with these cells, given its margins."""
    return (
        math.lgamma(both + one + 1)
        + math.lgamma(other + neither + 1)
        + math.lgamma(both + other + 1)
        + math.lgamma(one + neither + 1)
        - math.lgamma(both + one + other + neither + 1)
        - math.lgamma(both + 1)
        - math.lgamma(one + 1)
        - math.lgamma(other + 1)
        - math.lgamma(neither + 1)
    )
