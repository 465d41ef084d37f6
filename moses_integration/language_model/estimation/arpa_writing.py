"""ARPA files written by compiled code: the layout, the order and the digits of KenLM's lmplz."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.estimation.ngram_counting import (
    HIGHEST_ORDER,
    Corpus,
    NGramCounts,
)
from phrasescore.compiled import compiled
from phrasescore.runs.final_names import open_output
from phrasescore.words.word_table import as_array

_MINUS, _POINT, _ZERO, _TAB, _SPACE, _NEWLINE = 45, 46, 48, 9, 32, 10
_ROWS_AT_ONCE = 1 << 14
_BLOCK = 1 << 20
_WIDTH = 24  # of the longest number
_DIGITS = 9  # of a float32, which always suffice
# what the compiled loop writes; the few numbers nearer 0 are left to numpy
_LEAST, _GREATEST = 1e-6, 100.0
_TENS = 10.0 ** np.arange(1, -7, -1)
# half the distance of two float32 at the largest power of two up to each of these
_HALVES = 2.0 ** (np.floor(np.log2(_TENS)) - 24)
# exact, and so are half a distance and nearly all float32 times one of them
_SCALES = 10.0 ** np.arange(7, 15)
_DOUBT = 1e-6
_STEPS = 2.0**24


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
            ngrams: Its n-grams.
            prob: Their probabilities, shape (n-grams,).
            backoff: Their back-off weights, as factors, shape (n-grams,); none in the last section.
        """
        self._stream.write(f"\\{ngrams.order}-grams:\n".encode())
        factors = [np.minimum(prob, np.float32(1))]  # rounding may leave it a last digit above 1
        if backoff is not None:
            factors.append(backoff)
        text = self._corpus.ids, self._characters, self._ends
        for start in range(0, prob.size, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            texts, lengths = log10_texts(np.stack([column[part] for column in factors], axis=1))
            last = ngrams.last[part]
            row = 0
            while row < last.size:
                row, size = _write_lines(text, last, row, ngrams.order, texts, lengths, self._out)
                self._stream.write(self._out[:size].data)
        self._stream.write(b"\n")


@compiled
def _write_lines(
    text: Any, last: Any, row: int, order: int, texts: Any, lengths: Any, out: Any
) -> tuple[int, int]:
    """Write a line for each n-gram: a number, its words, another number if there is one.

    Returns:
        The first row that is not written yet, and the bytes in use: a block and a line at most.
    """
    ids, characters, ends = text
    at = 0
    columns = lengths.shape[1]
    while row < last.size and at < _BLOCK:
        first = last[row] - order + 1
        for column in range(columns):
            if column > 0:
                out[at] = _TAB
                at += 1
            for i in range(lengths[row, column]):
                out[at] = texts[row, column, i]
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


def log10_texts(factors: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Write the log10 of each factor with as few digits as it takes to read it back.

    The notation is that of double-conversion's ToShortestSingle as KenLM sets it: decimal from
    1e-6 up, otherwise ``1.5e-7``.

    Args:
        factors: Any shape, above 0.

    Returns:
        The texts, uint8 of that shape and the widest text's, and the bytes in use, of that shape.
    """
    texts = np.empty((factors.size, _WIDTH), np.uint8)
    lengths = np.zeros(factors.size, np.uint8)
    logs = np.empty(factors.size, np.float32)
    _write_logs(factors.ravel(), logs, texts, lengths)
    for row in np.flatnonzero(lengths == 0):
        text = shortest_text(logs[row])
        texts[row, : len(text)] = np.frombuffer(text, np.uint8)
        lengths[row] = len(text)
    return texts.reshape(*factors.shape, _WIDTH), lengths.reshape(factors.shape)


@lru_cache(maxsize=1 << 12)
def shortest_text(value: np.float32) -> bytes:
    """Write a number that the compiled loop does not."""
    if abs(value) >= _LEAST:
        return np.format_float_positional(value, trim="-").encode()
    digits, exponent = np.format_float_scientific(value, trim="-").split("e")
    return f"{digits}e{int(exponent)}".encode()


@compiled
def _write_logs(factors: Any, logs: Any, texts: Any, lengths: Any) -> None:
    """Write numbers whose log10 is 0, or negative and of a usual size; 0 bytes of all others.

    A number is scaled to nine digits before the point, exactly; then digits are dropped for as long
    as what is left lies within half a distance of two float32.
    """
    for row in range(factors.size):
        logs[row] = np.log10(factors[row])
        value = -np.float64(logs[row])
        if value == 0:
            texts[row, 0] = _ZERO
            lengths[row] = 1
        if not _LEAST <= value < _GREATEST:
            continue
        place = 0
        while value < _TENS[place]:
            place += 1
        half = _HALVES[place]
        while value >= 2 * half * _STEPS:
            half *= 2
        scaled = value * _SCALES[place]
        # below a power of two, float32 are half as far apart
        room = half * _SCALES[place] * (0.5 if value == half * _STEPS else 1.0)
        kept, unit, length, error = np.rint(scaled), 1.0, _DIGITS, 0.0
        while True:
            nearest = np.rint(scaled / (10 * unit)) * (10 * unit)
            error = abs(nearest - scaled)
            if error >= room - _DOUBT:
                break
            kept = nearest
            unit *= 10
            length -= 1
        if error <= room + _DOUBT:
            continue
        whole = 2 - place
        if kept >= 1e9:  # 9.99... was rounded up
            length += 1
            whole += 1
        texts[row, 0] = _MINUS
        lengths[row] = _write_digits(np.int64(kept / unit), length, whole, texts, row)


@compiled
def _write_digits(digits: int, length: int, whole: int, texts: Any, row: int) -> int:
    """Write digits behind the sign, the point after ``whole`` of them; return the text's length."""
    if whole < 1:  # zeros in front
        length += 1 - whole
        whole = 1
    while length < whole:  # a zero before the point
        digits *= 10
        length += 1
    size = 1 + length + (length > whole)
    at = size - 1
    for left in range(length, 0, -1):
        if left == whole and length > whole:
            texts[row, at] = _POINT
            at -= 1
        texts[row, at] = _ZERO + digits % 10
        digits //= 10
        at -= 1
    return size
