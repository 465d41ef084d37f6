"""ARPA files written by compiled code: the layout, the order and the digits of KenLM's lmplz."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moses_integration.language_model.estimation.ngram_counting import Corpus, NGramCounts
from phrasescore.files.byte_streams import open_output
from phrasescore.words.word_table import WordArrays

_MINUS, _POINT, _ZERO, _E, _TAB, _SPACE, _NEWLINE = 45, 46, 48, 101, 9, 32, 10
_ROWS_AT_ONCE = 1 << 16
_LONGEST_NUMBER = 24
_FLOAT32_DIGITS = 9  # that always suffice
_LOWEST_DECIMAL_EXPONENT = -6  # below it, numbers are written with an exponent


@contextlib.contextmanager
def open_arpa_writer(
    path: str | Path, corpus: Corpus, types: Sequence[int]
) -> Iterator[ArpaWriter]:
    """Open ``path`` for the n-grams of a corpus, of which there are ``types`` per order."""
    with open_output(path) as stream:
        counts = "".join(f"ngram {order}={number}\n" for order, number in enumerate(types, 1))
        stream.write(f"\\data\\\n{counts}\n".encode())
        yield ArpaWriter(stream, corpus)
        stream.write(b"\\end\\\n")


class ArpaWriter:
    """Writes the sections of an ARPA file, lowest order first.

    Args:
        stream: Where to.
        corpus: The text, in whose words the n-grams are spelt.
    """

    def __init__(self, stream: BinaryIO, corpus: Corpus) -> None:
        self._stream, self._corpus = stream, corpus

    def write(
        self,
        ngrams: NGramCounts,
        prob: NDArray[np.float32],
        backoff: NDArray[np.float32] | None,
    ) -> None:
        """Write one section.

        Args:
            ngrams: Its n-grams.
            prob: Their probabilities, shape (n-grams,).
            backoff: Their back-off weights, as factors, shape (n-grams,); none in the last section.
        """
        self._stream.write(f"\\{ngrams.order}-grams:\n".encode())
        no_backoff = np.empty(0, np.float32)
        for start in range(0, prob.size, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            lines = _format_lines(
                self._corpus.words.arrays,
                self._corpus.ids,
                ngrams.last[part],
                ngrams.order,
                prob[part],
                no_backoff if backoff is None else backoff[part],
            )
            self._stream.write(lines.data)
        self._stream.write(b"\n")


@njit(cache=True)
def _format_lines(
    words: WordArrays,
    ids: NDArray[np.int32],
    last: NDArray[np.int32],
    order: int,
    prob: NDArray[np.float32],
    backoff: NDArray[np.float32],
) -> NDArray[np.uint8]:
    size = 0
    for row in range(last.size):
        for position in range(last[row] - order + 1, last[row] + 1):
            size += words.ends[ids[position] + 1] - words.ends[ids[position]] + 1
    out = np.empty(size + last.size * 2 * (_LONGEST_NUMBER + 1), np.uint8)
    at = 0
    for row in range(last.size):
        # rounding may leave a probability a last digit above 1
        at = format_float32(min(np.log10(prob[row]), np.float32(0.0)), out, at)
        separator = _TAB
        for position in range(last[row] - order + 1, last[row] + 1):
            out[at] = separator
            at += 1
            for byte in range(words.ends[ids[position]], words.ends[ids[position] + 1]):
                out[at] = words.text[byte]
                at += 1
            separator = _SPACE
        if backoff.size:
            out[at] = _TAB
            at = format_float32(np.log10(backoff[row]), out, at + 1)
        out[at] = _NEWLINE
        at += 1
    return out[:at]


@njit(cache=True)
def format_float32(value: np.float32, out: NDArray[np.uint8], at: int) -> int:
    """Write the shortest decimal number that reads back as ``value``; return where it ends.

    The notation is that of double-conversion's ToShortestSingle as KenLM sets it: decimal from
    1e-6 up, otherwise ``1.5e-7``.
    """
    if value < 0:
        out[at] = _MINUS
        at += 1
    magnitude = abs(np.float64(value))
    if magnitude == 0.0:
        out[at] = _ZERO
        return at + 1
    digits, exponent = _shortest_digits(magnitude)
    if exponent < _LOWEST_DECIMAL_EXPONENT:
        at = _write_digits(digits, 1, out, at)
        out[at] = _E
        out[at + 1] = _MINUS
        return _write_digits(-exponent, 2 if exponent <= -10 else 1, out, at + 2)
    return _write_digits(digits, exponent + 1, out, at)


@njit(cache=True)
def _shortest_digits(magnitude: float) -> tuple[int, int]:
    """Return the digits as one integer without zeros at its end, and the exponent of the first."""
    exponent = np.int64(np.floor(np.log10(magnitude)))
    digits = np.int64(0)
    for length in range(1, _FLOAT32_DIGITS + 1):
        power = length - 1 - exponent
        digits = np.int64(np.rint(magnitude * 10.0**power))
        if np.float32(digits / 10.0**power) == np.float32(magnitude):
            break
    if digits >= 10**length:  # 9.99... was rounded up
        exponent += 1
    while digits % 10 == 0:
        digits //= 10
    return digits, exponent


@njit(cache=True)
def _write_digits(digits: int, whole: int, out: NDArray[np.uint8], at: int) -> int:
    """Write ``digits`` with the point after ``whole`` of them, which may be none or too many."""
    length = 1
    while digits >= 10**length:
        length += 1
    if whole <= 0:
        out[at] = _ZERO
        out[at + 1] = _POINT
        at += 2
        for _ in range(-whole):
            out[at] = _ZERO
            at += 1
    for place in range(length):
        if place == whole and place > 0:
            out[at] = _POINT
            at += 1
        out[at] = _ZERO + digits // 10 ** (length - 1 - place) % 10
        at += 1
    for _ in range(whole - length):
        out[at] = _ZERO
        at += 1
    return at
