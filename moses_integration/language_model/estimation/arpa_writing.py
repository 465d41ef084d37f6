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
from phrasescore.compiled import borrowed, compiled
from phrasescore.runs.final_names import open_output
from phrasescore.words.word_table import as_array

_TAB, _SPACE, _NEWLINE = 9, 32, 10
_ROWS_AT_ONCE = 1 << 16
_BLOCK = 1 << 20
_WIDTH = 24  # of the longest number
# below these, numpy and KenLM write numbers with an exponent
_LEAST_PLAIN, _LEAST = 1e-4, 1e-6


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
    text, last, texts, lengths, out = borrowed((text, last, texts, lengths, out))
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
    # many n-grams have the same counts, hence the same probability
    distinct, which = np.unique(factors, return_inverse=True)
    logs = np.empty(distinct.size, np.float32)
    _write_logs(distinct, logs)
    texts = logs.astype(f"S{_WIDTH}")
    # numpy gives these an exponent, which KenLM does only below 1e-6
    for row in np.flatnonzero((np.abs(logs) < _LEAST_PLAIN) & (logs != 0)):
        texts[row] = shortest_text(logs[row])
    lengths = np.char.str_len(texts) - len(b".0") * np.char.endswith(texts, b".0")
    shape = factors.shape
    spelt = texts.view(np.uint8).reshape(-1, _WIDTH)[which.ravel()].reshape(*shape, _WIDTH)
    return spelt, lengths.astype(np.uint8)[which.ravel()].reshape(shape)


@lru_cache(maxsize=1 << 12)
def shortest_text(value: np.float32) -> bytes:
    """Write a number near 0, which numpy would write in another notation."""
    if abs(value) >= _LEAST:
        return np.format_float_positional(value, trim="-").encode()
    digits, exponent = np.format_float_scientific(value, trim="-").split("e")
    return f"{digits}e{int(exponent)}".encode()


@compiled
def _write_logs(factors: Any, logs: Any) -> None:
    """Fill ``logs``; numpy's own logarithm may differ in the last digit from lmplz's, the C one."""
    factors, logs = borrowed((factors, logs))
    for row in range(factors.size):
        logs[row] = np.log10(factors[row])
