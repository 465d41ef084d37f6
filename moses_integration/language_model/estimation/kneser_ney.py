"""Interpolated modified Kneser-Ney estimation, with the same numbers as KenLM's lmplz.

Sources: Chen and Goodman (1998), section 3, for the estimate; Heafield et al. (2013), "Scalable
Modified Kneser-Ney Language Model Estimation", for the streams. An n-gram a of order n with the
context c (all but its last word) and the suffix s (all but its first word) has

    p(a) = (count(a) - D_n(count(a))) / total(c) + gamma(c) p(s)

where count(a) is the adjusted count: in the highest order and after ``<s>`` the number of
occurrences of a, otherwise the number of different words that precede a; total and gamma sum over
the n-grams with context c; and p of the empty suffix is uniform over the vocabulary with ``<unk>``,
without ``<s>``. All arithmetic is in float32 and in lmplz's order, so that the digits agree.

lmplz --discount_fallback writes the same file, byte for byte; unlike this module, it can sort
corpora that do not fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.estimation.ngram_counting import (
    BEGIN,
    HIGHEST_ORDER,
    Corpus,
    NGramCounts,
    SortedPositions,
    count_ngrams,
    count_types,
    read_corpus,
    sort_positions,
)
from phrasescore.compiled import borrowed, compiled
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.words.word_table import as_array

Discounts = tuple[float, float, float]  # the discounts of counts of 1, of 2, and of 3 or more
FALLBACK: Discounts = (0.5, 1.0, 1.5)  # the discounts of lmplz --discount_fallback
_TAB, _SPACE, _NEWLINE = 9, 32, 10
_ROWS_AT_ONCE = 1 << 18
_BLOCK = 1 << 20
_WIDTH = 24  # bytes of the longest number
# below these, numpy and KenLM write numbers with an exponent
_LEAST_PLAIN, _LEAST = 1e-4, 1e-6


def write_arpa(
    corpus_path: str | Path, order: int, output: str | Path
) -> tuple[tuple[int, ...], tuple[Discounts, ...]]:
    """Estimate a model and write it as lmplz does; a name ending in ``.gz`` is compressed.

    Args:
        corpus_path: One sentence per line, words separated by blanks; plain or gzip.
        order: The longest n-gram, 1 to 20 words.
        output: The ARPA file to write; it gets its name when it is complete.

    Returns:
        For each order, beginning with 1: the number of n-grams in the model, and the discounts.

    Raises:
        CorpusError: The corpus holds no word, or a special word.
    """
    corpus = read_corpus(corpus_path, order)
    by_words = sort_positions(corpus, order)
    types = count_types(corpus, by_words, order)
    discounts: list[Discounts] = []
    with (
        open_output(output) as stream,
        Progress("language model", sum(types), "n-grams") as progress,
    ):
        counts = "".join(f"ngram {length}={number}\n" for length, number in enumerate(types, 1))
        stream.write(f"\\data\\\n{counts}\n".encode())
        writer = _ArpaWriter(stream, corpus)
        below = None
        for length in range(1, order + 1):
            ngrams = count_ngrams(corpus, by_words, length, highest=order)
            count = _adjusted_counts(corpus, ngrams, order)
            discounts.append(_estimate_discounts(ngrams, count, by_words, order))
            weights = _weigh(corpus, ngrams, count, discounts[-1], below)
            if below is not None:
                writer.write(below.ngrams, below.prob, weights.gamma)
                progress.advance(types[length - 2])
            below = weights
        assert below is not None
        writer.write(below.ngrams, below.prob, None)
        stream.write(b"\\end\\\n")
    return types, tuple(discounts)


def _adjusted_counts(corpus: Corpus, ngrams: NGramCounts, order: int) -> NDArray[np.int32]:
    """Return the adjusted counts of n-grams, shape (n-grams,)."""
    if ngrams.order == order:
        return ngrams.occurrences
    after_begin = corpus.ids[ngrams.last - ngrams.order + 1] == BEGIN
    return np.where(after_begin, ngrams.occurrences, ngrams.extensions)


def _estimate_discounts(
    ngrams: NGramCounts, count: NDArray[np.int32], by_words: SortedPositions, order: int
) -> Discounts:
    """Return the closed-form estimates of one order (Chen and Goodman 1998, equation 26).

    Return the fallback for small or artificial data that allow no estimate.
    """
    # numbers of n-grams that occur once, twice, three times, four times
    n = np.bincount(np.minimum(count, 5), minlength=6)
    last = int(ngrams.number_at[by_words.positions[-1]]) if ngrams.order < order else -1
    if last >= 0:
        # lmplz counts the very last n-gram with its raw count; do the same, so that digits are
        # equal
        n[min(int(count[last]), 5)] -= 1
        n[min(int(ngrams.occurrences[last]), 5)] += 1
    if not n[1:4].all():
        return FALLBACK
    single = np.float32
    y = single(n[1]) / single(n[1] + 2.0 * n[2])
    amounts = [single(k) - single(k + 1) * y * single(n[k + 1]) / single(n[k]) for k in range(1, 4)]
    # lmplz keeps a discount of 0, but it may leave a context no weight for unseen words
    if any(not 0 < amount <= k for k, amount in enumerate(amounts, 1)):
        return FALLBACK
    return float(amounts[0]), float(amounts[1]), float(amounts[2])


@dataclass(frozen=True)
class _Weights:
    """The n-grams of one order with their probabilities and the back-off weights of contexts.

    Attributes:
        ngrams: The n-grams.
        prob: The interpolated probability of each n-gram, shape (n-grams,).
        gamma: The weight of the lower order in each context, shape (contexts,); 1 if nothing
            follows the context.
    """

    ngrams: NGramCounts
    prob: NDArray[np.float32]
    gamma: NDArray[np.float32]


def _weigh(
    corpus: Corpus,
    ngrams: NGramCounts,
    count: NDArray[np.int32],
    discounts: Discounts,
    below: _Weights | None,
) -> _Weights:
    """Estimate the probabilities of one order from its counts and the order ``below``."""
    amounts = np.array([0.0, *discounts], np.float32)
    if below is None:
        context = suffix = np.zeros(count.size, np.int32)
        # without <s>, which is never predicted
        lower = np.array([1.0 / float(np.float32(len(corpus.words) - 1))], np.float32)
    else:
        context = below.ngrams.number_at[ngrams.last - 1]
        suffix = below.ngrams.number_at[ngrams.last]
        lower = below.prob
    # for each context: the total count after it, and the mass that discounts leave to lower orders
    total = np.bincount(context, count, lower.size).astype(np.float32)  # exact before the cast
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
    if below is None:
        prob[BEGIN] = 1.0  # as in lmplz, so that scoring <s> costs nothing
    return _Weights(ngrams, prob, gamma)


class _ArpaWriter:
    """Writes the sections of an ARPA file, lowest order first.

    Args:
        stream: The stream to write to.
        corpus: The text, which has the words of the n-grams.
    """

    def __init__(self, stream: BinaryIO, corpus: Corpus) -> None:
        self._stream, self._corpus = stream, corpus
        self._characters = as_array(b"".join(corpus.words))
        self._ends = np.cumsum([0, *map(len, corpus.words)], dtype=np.int64)
        line = HIGHEST_ORDER * (max(map(len, corpus.words)) + 1) + 2 * (_WIDTH + 1)
        self._out = np.empty(_BLOCK + line, np.uint8)

    def write(
        self,
        ngrams: NGramCounts,
        prob: NDArray[np.float32],
        backoff: NDArray[np.float32] | None,
    ) -> None:
        """Write one section.

        Args:
            ngrams: The n-grams of the section.
            prob: The probability of each n-gram, shape (n-grams,).
            backoff: The back-off weight of each n-gram as a factor, shape (n-grams,); ``None`` for
                the last section.
        """
        self._stream.write(f"\\{ngrams.order}-grams:\n".encode())
        factors = [np.minimum(prob, np.float32(1))]  # rounding may exceed 1 by a last digit
        if backoff is not None:
            factors.append(backoff)
        text = self._corpus.ids, self._characters, self._ends
        for start in range(0, prob.size, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            spelt = log10_texts(np.stack([column[part] for column in factors], axis=1))
            last = ngrams.last[part]
            row = 0
            while row < last.size:
                row, size = _write_lines(text, last, row, ngrams.order, spelt, self._out)
                self._stream.write(self._out[:size].data)
        self._stream.write(b"\n")


@compiled
def _write_lines(
    text: Any, last: Any, row: int, order: int, spelt: Any, out: Any
) -> tuple[int, int]:
    """Write a line for each n-gram: a number, its words, another number if there is one.

    Returns:
        The first row that is not written yet, and the number of bytes in use, at most a block and a
        line.
    """
    text, last, spelt, out = borrowed((text, last, spelt, out))
    ids, characters, ends = text
    numbers, lengths, which = spelt
    at = 0
    columns = which.shape[1]
    while row < last.size and at < _BLOCK:
        first = last[row] - order + 1
        for column in range(columns):
            if column > 0:
                out[at] = _TAB
                at += 1
            number = which[row, column]
            for i in range(lengths[number]):
                out[at] = numbers[number, i]
                at += 1
            for position in range(first, first + order * (column == 0)):
                out[at] = _TAB if position == first else _SPACE
                at += 1
                for i in range(ends[ids[position]], ends[ids[position] + 1]):
                    out[at] = characters[i]
                    at += 1
        out[at] = _NEWLINE
        at += 1
        row += 1
    return row, at


def log10_texts(
    factors: NDArray[np.float32],
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.intp]]:
    """Format the log10 of each factor with the fewest digits that read back to the same number.

    The notation is that of double-conversion's ToShortestSingle as KenLM sets it: decimal from
    1e-6 up, otherwise ``1.5e-7``.

    Args:
        factors: Any shape, above 0.

    Returns:
        The texts of distinct factors, (texts, width) uint8; the bytes in use of each, (texts,)
        uint8; and which text each factor has, of its shape.
    """
    # many n-grams have the same counts and so the same probability: format each value once
    distinct, which = np.unique(factors, return_inverse=True)
    logs = np.empty(distinct.size, np.float32)
    _write_logs(distinct, logs)
    texts = logs.astype(f"S{_WIDTH}")
    # numpy writes these with an exponent, KenLM only below 1e-6
    for row in np.flatnonzero((np.abs(logs) < _LEAST_PLAIN) & (logs != 0)):
        texts[row] = shortest_text(logs[row])
    lengths = np.char.str_len(texts) - len(b".0") * np.char.endswith(texts, b".0")
    characters = texts.view(np.uint8).reshape(-1, _WIDTH)
    return characters, lengths.astype(np.uint8), which.reshape(factors.shape)


@lru_cache(maxsize=1 << 12)
def shortest_text(value: np.float32) -> bytes:
    """Format a number near 0, for which numpy and KenLM use different notations."""
    if abs(value) >= _LEAST:
        return np.format_float_positional(value, trim="-").encode()
    digits, exponent = np.format_float_scientific(value, trim="-").split("e")
    return f"{digits}e{int(exponent)}".encode()


@compiled
def _write_logs(factors: Any, logs: Any) -> None:
    """Fill ``logs`` by C's logarithm, as lmplz does; numpy's may differ in the last digit."""
    factors, logs = borrowed((factors, logs))
    for row in range(factors.size):
        logs[row] = np.log10(factors[row])
