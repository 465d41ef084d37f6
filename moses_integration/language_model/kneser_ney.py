"""Interpolated modified Kneser-Ney estimation, with the same numbers as KenLM's lmplz.

Sources: Chen and Goodman (1998), section 3, for the estimate; Heafield et al. (2013), "Scalable
Modified Kneser-Ney Language Model Estimation", for the adjusted counts. For an n-gram ``a`` of
order n with the context ``c`` (all words but the last) and the suffix ``s`` (all but the first),

    p(a) = (count(a) - D_n(count(a))) / total(c) + gamma(c) p(s)

where count(a) is the adjusted count. In the highest order, and for n-grams that begin with
``<s>``, it is the number of occurrences of ``a``; otherwise it is the number of different words
that precede ``a``. D_n are the discounts of order n. Over the n-grams with context ``c``, total(c)
is the sum of the counts, and gamma(c) is the sum of the discounts divided by total(c). The
distribution p of the empty suffix is uniform over the vocabulary with ``<unk>`` and without
``<s>``. All arithmetic is in float32 and in lmplz's order, so that the digits agree.

lmplz --discount_fallback writes the same file, byte for byte, unless an estimated discount is 0:
lmplz keeps this discount, but this module uses the fallback discounts for that order. Unlike this
module, lmplz can sort corpora that do not fit in memory.

The text is an array of word ids. Its positions are sorted by the words read backwards from each
position. Then the occurrences of each n-gram are neighbours, and the n-grams are in the order in
which lmplz writes them. Memory is about 20 bytes per running word, plus the n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.byte_scanning import BLANKS
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.table.line_assembly import ColumnTexts, Phrases, assembled_lines
from phrasescore.words.token_sequences import sorted_by_words
from phrasescore.words.word_table import WordTable

Discounts = tuple[float, float, float]  # the discounts of counts of 1, of 2, and of 3 or more
FALLBACK: Discounts = (0.5, 1.0, 1.5)  # the discounts of lmplz --discount_fallback
_ROWS_AT_ONCE = 1 << 18
_WIDTH = 25  # bytes of the longest number and the byte after it
# numpy writes numbers below the first bound with an exponent, KenLM only numbers below the second
_LEAST_PLAIN, _LEAST = 1e-4, 1e-6
UNKNOWN, BEGIN, END = 0, 1, 2
SPECIAL_WORDS = [b"<unk>", b"<s>", b"</s>"]
_SEPARATORS = BLANKS | 1  # blanks and zero bytes
_BLOCK = 1 << 20
_MAX_POSITIONS = (1 << 31) - 1


@dataclass(frozen=True)
class Corpus:
    """A corpus as word ids.

    Attributes:
        words: The vocabulary in order of appearance, after the three special words.
        ids: One ``<unk>``, which would not occur otherwise. Then for each sentence: ``<s>``
            repeated order - 1 times (at least once), the words, and ``</s>``.
    """

    words: list[bytes]
    ids: NDArray[np.int32]


def read_corpus(path: str | Path, order: int) -> Corpus:
    """Read a plain or gzip corpus, one sentence per line, for n-grams up to ``order`` words.

    As in lmplz, blanks, tabs, NUL and carriage returns separate words, and an empty line is an
    empty sentence. The caller makes sure that the corpus contains no special words.

    Raises:
        CorpusError: The corpus contains no word, or is too long.
    """
    table = WordTable(SPECIAL_WORDS)
    padding = max(order - 1, 1)
    marks = np.array([BEGIN] * padding + [END], np.int32)
    parts = [np.array([UNKNOWN], np.int32)]
    running = 0
    with open_input(path, is_text=False) as stream:
        for data in line_blocks(stream, _BLOCK):
            whole = data if data.endswith(b"\n") else data + b"\n"
            ids, offsets = table.encode_lines(whole, grow=True, separators=_SEPARATORS)
            # the positions of each sentence's begin marks, and of its end
            places = np.repeat(offsets[:-1, None], padding + 1, axis=1)
            places[:, -1] = offsets[1:]
            parts.append(np.insert(ids, places.ravel(), np.tile(marks, len(places))))
            running += len(ids)
    together = np.concatenate(parts)
    if not running:
        raise CorpusError("the corpus contains no words, so no model can be estimated", path=path)
    if together.size > _MAX_POSITIONS:
        raise CorpusError(
            f"the corpus has {running:,} words, more than this estimator can sort",
            path=path,
            remedy="take fewer sentences, or estimate the model with KenLM's lmplz",
        )
    return Corpus(table.words(), together)


class SortedPositions(NamedTuple):
    """The positions of a corpus in the order of the words read backwards.

    Attributes:
        positions: The positions of words and ``</s>`` in ``ids``, shape (positions,).
        shared: How many words, read backwards, a position has in common with the previous position
            in this sequence, at most the order; shape (positions,).
        longest: The number of words of the longest n-gram that ends at a position, at most the
            order. An n-gram may begin with ``<s>``; any further ``<s>`` before it is padding.
    """

    positions: NDArray[np.int32]
    shared: NDArray[np.uint8]
    longest: NDArray[np.uint8]


def sort_positions(corpus: Corpus, order: int) -> SortedPositions:
    """Sort by the last word, then by the word before it, and so on for ``order`` words."""
    positions = np.flatnonzero(corpus.ids > BEGIN).astype(np.int32)
    back = range(0, -order, -1)
    positions, shared = sorted_by_words(corpus.ids, positions, len(corpus.words), back)
    places = np.arange(corpus.ids.size, dtype=np.int32)
    begins = np.maximum.accumulate(np.where(corpus.ids == BEGIN, places, 0))
    longest = np.minimum(places - begins + 1, order).astype(np.uint8)
    return SortedPositions(positions, shared, longest[positions])


def count_types(corpus: Corpus, by_words: SortedPositions, order: int) -> tuple[int, ...]:
    """Return how many different n-grams of 1, 2, ... ``order`` words there are."""
    is_there = ((by_words.shared < n) & (by_words.longest >= n) for n in range(2, order + 1))
    return (len(corpus.words), *map(int, map(np.count_nonzero, is_there)))


@dataclass(frozen=True)
class NGramCounts:
    """The n-grams of one order, sorted by the ids of their words read backwards.

    Attributes:
        order: The number of words of each n-gram.
        last: The position of the last word in one occurrence of each n-gram, shape (n-grams,).
        occurrences: The number of occurrences of each n-gram, shape (n-grams,).
        adjusted: The adjusted count of each n-gram, shape (n-grams,).
        number_at: For each position of the text, the index of the n-gram that ends there, or -1 if
            none does; empty in the highest order.
    """

    order: int
    last: NDArray[np.int32]
    occurrences: NDArray[np.int32]
    adjusted: NDArray[np.int32]
    number_at: NDArray[np.int32]


def count_ngrams(
    corpus: Corpus, by_words: SortedPositions, order: int, *, highest: int
) -> NGramCounts:
    """Count the n-grams of ``order`` words; only their first word may be ``<s>``.

    Args:
        corpus: The text.
        by_words: The positions of the text, sorted by at least ``order`` words.
        order: The number of words of an n-gram.
        highest: The highest order of the model; its n-grams need no indexes, because no higher
            order looks them up.
    """
    is_there = by_words.longest >= order
    positions, shared = by_words.positions[is_there], by_words.shared[is_there]
    is_first = shared < order
    firsts = np.flatnonzero(is_first)
    last = positions[firsts]
    occurrences = adjusted = np.diff(firsts, append=positions.size).astype(np.int32)
    number_at = np.empty(0, np.int32)
    if order < highest:
        different_before = np.add.reduceat(shared <= order, firsts, dtype=np.int32)
        after_begin = corpus.ids[last - order + 1] == BEGIN
        adjusted = np.where(after_begin, occurrences, different_before)
        number_at = np.full(corpus.ids.size, -1, np.int32)
        number_at[positions] = np.cumsum(is_first, dtype=np.int32) - 1
    if order == 1:
        # <unk> and <s> are never counted; position 0 is <unk>, position 1 always <s>
        last = np.insert(last, 0, [UNKNOWN, BEGIN])
        occurrences, adjusted = np.insert(occurrences, 0, [0, 0]), np.insert(adjusted, 0, [0, 0])
        number_at = corpus.ids
    return NGramCounts(order, last, occurrences, adjusted, number_at)


def write_arpa(
    corpus_path: str | Path, order: int, output: str | Path
) -> tuple[tuple[int, ...], tuple[Discounts, ...]]:
    """Estimate a model and write lmplz's ARPA file, as gzip if the name ends in ``.gz``.

    Args:
        corpus_path: One sentence per line, words separated by blanks; plain or gzip.
        order: The number of words of the longest n-gram, 1 to 20.
        output: The ARPA file to write, which appears when it is complete.

    Returns:
        For each order, beginning with 1: the number of n-grams in the model, and the discounts.

    Raises:
        CorpusError: The corpus contains no word, or is too long.
    """
    corpus = read_corpus(corpus_path, order)
    by_words = sort_positions(corpus, order)
    types = count_types(corpus, by_words, order)
    discounts: list[Discounts] = []
    with (
        open_output(output) as stream,
        Progress("estimating the language model", sum(types), "n-grams") as progress,
    ):
        counts = "".join(f"ngram {length}={number}\n" for length, number in enumerate(types, 1))
        stream.write(f"\\data\\\n{counts}\n".encode())
        text = Phrases.of_text(corpus.ids, corpus.words)
        # order 0 is the empty n-gram; <s> has no part of its probability: it is never predicted
        none, number_at = np.empty(0, np.int32), np.zeros(corpus.ids.size, np.int32)
        below = NGramCounts(0, none, none, none, number_at)
        prob = np.array([1.0 / float(np.float32(len(corpus.words) - 1))], np.float32)
        for length in range(1, order + 1):
            ngrams = count_ngrams(corpus, by_words, length, highest=order)
            discounts.append(_estimate_discounts(ngrams, by_words))
            longer_prob, gamma = _weigh(ngrams, discounts[-1], below, prob)
            if length > 1:
                _write_section(stream, text, below, prob, gamma)
                progress.advance(types[length - 2])
            below, prob = ngrams, longer_prob
        _write_section(stream, text, below, prob, None)
        stream.write(b"\\end\\\n")
    return types, tuple(discounts)


def _estimate_discounts(ngrams: NGramCounts, by_words: SortedPositions) -> Discounts:
    """Estimate the discounts of one order in closed form (Chen and Goodman 1998, equation 26).

    The result is the fallback if the data are too small or artificial for an estimate.
    """
    # how many n-grams occur once, twice, three times, four times
    n = np.bincount(np.minimum(ngrams.adjusted, 5), minlength=6)
    last = int(ngrams.number_at[by_words.positions[-1]]) if ngrams.number_at.size else -1
    if last >= 0:
        # lmplz uses the raw count of the very last n-gram; do the same, so that the digits agree
        n[min(int(ngrams.adjusted[last]), 5)] -= 1
        n[min(int(ngrams.occurrences[last]), 5)] += 1
    if not n[1:4].all():
        return FALLBACK
    single = np.float32
    y = single(n[1]) / single(n[1] + 2.0 * n[2])
    amounts = [single(k) - single(k + 1) * y * single(n[k + 1]) / single(n[k]) for k in range(1, 4)]
    # lmplz keeps a discount of 0, but then a context may have no weight left for unseen words
    if any(not 0 < amount <= k for k, amount in enumerate(amounts, 1)):
        return FALLBACK
    return float(amounts[0]), float(amounts[1]), float(amounts[2])


def _weigh(
    ngrams: NGramCounts, discounts: Discounts, below: NGramCounts, lower: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Estimate the probabilities of one order from its counts and the order below.

    Args:
        ngrams: The n-grams.
        discounts: The discounts of their order.
        below: The n-grams of the order below.
        lower: The interpolated probabilities of ``below``.

    Returns:
        The interpolated probability of each n-gram, shape (n-grams,). The weight of the lower order
        in each context, shape (contexts,); 1 if nothing follows the context.
    """
    count, amounts = ngrams.adjusted, np.array([0.0, *discounts], np.float32)
    context, suffix = below.number_at[ngrams.last - 1], below.number_at[ngrams.last]
    # for each context: the total count after it, and the mass that discounts leave to lower orders
    total = np.bincount(context, count, lower.size).astype(np.float32)  # sums are exact in float64
    mass = np.zeros(lower.size, np.float32)
    for kind in range(1, 4):  # n-grams seen once, twice, more often
        chosen = context[count == kind if kind < 3 else count >= kind]
        mass += amounts[kind] * np.bincount(chosen, minlength=lower.size).astype(np.float32)
    gamma = np.ones(lower.size, np.float32)
    np.divide(mass, total, out=gamma, where=total > 0)
    prob = count.astype(np.float32)
    prob -= amounts[np.minimum(count, 3)]
    prob /= total[context]
    prob += gamma[context] * lower[suffix]
    if ngrams.order == 1:
        prob[BEGIN] = 1.0  # as in lmplz, so that scoring <s> costs nothing
    return prob, gamma


def _write_section(
    stream: BinaryIO,
    text: Phrases,
    ngrams: NGramCounts,
    prob: NDArray[np.float32],
    gamma: NDArray[np.float32] | None,
) -> None:
    """Write the n-grams of one order; ``gamma`` holds their back-off weights, if any."""
    stream.write(f"\\{ngrams.order}-grams:\n".encode())
    prob = np.minimum(prob, np.float32(1))  # a rounded value may exceed 1 in the last digit
    separator = b"\n" if gamma is None else b"\t"
    for start in range(0, prob.size, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        first = ngrams.last[part] - np.int32(ngrams.order - 1)
        lengths = np.full(first.size, ngrams.order, np.uint8)
        phrases = text._replace(positions=first, lengths=lengths)
        columns = [log10_texts(prob[part], b"\t")]
        if gamma is not None:
            columns.append(log10_texts(gamma[part], b"\n"))
        stream.writelines(assembled_lines((phrases,), separator, columns, before=1))
    stream.write(b"\n")


def log10_texts(factors: NDArray[np.float32], end: bytes) -> ColumnTexts:
    """Format the log10 of each factor with the fewest digits that read back to the same number.

    The notation is that of double-conversion's ToShortestSingle as KenLM configures it: decimal
    from 1e-6 up, and with an exponent below, such as ``1.5e-7``.

    Args:
        factors: The factors, all above 0, shape (rows,).
        end: The byte to write after each text.
    """
    # many n-grams have the same counts, hence the same probability: format each value once
    distinct, rows = np.unique(factors, return_inverse=True)
    logs = np.empty(distinct.size, np.float32)
    _write_logs(distinct, logs)
    texts = logs.astype(f"S{_WIDTH}")
    # numpy writes these values with an exponent, KenLM only values below 1e-6
    for row in np.flatnonzero((np.abs(logs) < _LEAST_PLAIN) & (logs != 0)):
        texts[row] = shortest_text(logs[row])
    lengths = np.char.str_len(texts) - len(b".0") * np.char.endswith(texts, b".0")
    begins = _WIDTH * np.arange(len(texts))
    characters = texts.view(np.uint8)
    characters[begins + lengths] = end[0]
    return ColumnTexts(characters, begins, begins + lengths + 1, rows)


def shortest_text(value: np.float32) -> bytes:
    """Format a number near 0, for which numpy and KenLM use different notations."""
    if abs(value) >= _LEAST:
        return np.format_float_positional(value, trim="-").encode()
    digits, exponent = np.format_float_scientific(value, trim="-").split("e")
    return f"{digits}e{int(exponent)}".encode()


@compiled
def _write_logs(factors: NDArray[np.float32], logs: NDArray[np.float32]) -> None:
    """Fill ``logs`` with C's log10, as lmplz does; numpy's log10 may differ in the last digit."""
    factors, logs = borrowed((factors, logs))
    for row in range(factors.size):
        logs[row] = np.log10(factors[row])
