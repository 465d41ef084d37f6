"""Whole n-best lists as arrays, without a Python object a line.

The rules are those of ``moses_integration.nbest.format``, which also reads the lines that the
compiled loop is not sure of. All lines of a list must have the dense features of its first one.
Sparse features (``TranslationModel0_name=`` after ``TranslationModel0=``) are not tuned: they
enter as one sum.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.nbest.format import CUT_REMEDY, CUT_SHORT, NBestEntry, parse_entry
from moses_integration.nbest.plain_lines import up_to_short_line, without_blank_lines
from moses_integration.nbest.scanning import NBestBlock, scan
from phrasescore.errors import NBestError, did_you_mean
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.words.word_table import WordTable, as_array

_BLOCK = 1 << 23


@dataclass(frozen=True)
class Candidates:
    """N candidate translations of a list, in its order; F dense feature values each.

    Args:
        sizes: How many values each dense feature has, by name, in the list's order.
        sentences: (N,) which sentence each translates, from 0.
        lines: (N,) the number of each one's line, from 1.
        features: (N, F) unweighted values: float32 of a whole list, float64 of a sentence.
        sparse: (N,) weighted sum of the sparse features whose weights were given.
        totals: (N,) the model scores as printed.
        tokens: Word ids, -1 for words that the vocabulary does not have.
        offsets: (N + 1,) where each candidate begins in ``tokens``.
        words: The words of each, one space between them; empty unless they were asked for.
    """

    sizes: Mapping[str, int]
    sentences: NDArray[np.int32]
    lines: NDArray[np.int64]
    features: NDArray[np.floating[Any]]
    sparse: NDArray[np.float64]
    totals: NDArray[np.float64]
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: Sequence[bytes] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def part(self, begin: int, end: int) -> Candidates:
        """Return the candidates from ``begin`` to ``end``."""
        tokens = slice(self.offsets[begin], self.offsets[end])
        return Candidates(
            self.sizes,
            self.sentences[begin:end],
            self.lines[begin:end],
            self.features[begin:end],
            self.sparse[begin:end],
            self.totals[begin:end],
            self.tokens[tokens],
            self.offsets[begin : end + 1] - self.offsets[begin],
            self.words[begin:end],
        )


def _offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _joined(parts: Sequence[Candidates]) -> Candidates:
    """Put parts of one list together, at least one."""
    if len(parts) == 1:
        return parts[0]
    return Candidates(
        parts[0].sizes,
        np.concatenate([part.sentences for part in parts]),
        np.concatenate([part.lines for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.sparse for part in parts]),
        np.concatenate([part.totals for part in parts]),
        np.concatenate([part.tokens for part in parts]),
        _offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        [words for part in parts for words in part.words],
    )


class NBestReader:
    """Reads one n-best list, plain or gzip, into arrays.

    Args:
        path: The list.
        vocabulary: Which words have which id.
        sparse_weights: Weights of single sparse features; others count as 0.
        with_words: Whether to return the words themselves too.
        block_size: How many bytes to read at a time.

    Attributes:
        unweighted: The first sparse feature met that has no weight, if any.
    """

    def __init__(
        self,
        path: str | Path,
        vocabulary: WordTable,
        *,
        sparse_weights: Mapping[str, float] | None = None,
        with_words: bool = False,
        block_size: int = _BLOCK,
    ) -> None:
        self.unweighted: str | None = None
        self._path = path
        self._vocabulary = vocabulary
        self._sparse_weights = sparse_weights or {}
        self._with_words = with_words
        self._block_size = block_size
        self._sizes: dict[str, int] = {}
        self._line = 0
        self._sentence = 0

    def read(self) -> Candidates:
        """Read the whole list.

        Raises:
            NBestError: The list is empty or cut short, a line breaks the format or lacks a
                feature, or sentences go backwards.
        """
        # beyond float32 is infinite; who adds the candidates to a pool refuses that
        with np.errstate(over="ignore"):
            return _joined(
                [
                    replace(block, features=block.features.astype(np.float32))
                    for block in self._blocks()
                ]
            )

    def sentences(self) -> Iterator[Candidates]:
        """Yield the candidates of one sentence after the other; no more is held than a block.

        Raises:
            NBestError: As ``read`` does, at the place in question.
        """
        held: list[Candidates] = []
        for block in self._blocks():
            begins = (np.flatnonzero(np.diff(block.sentences)) + 1).tolist()
            for begin, end in itertools.pairwise([0, *begins, len(block)]):
                if held and held[0].sentences[0] != block.sentences[begin]:
                    yield _joined(held)
                    held = []
                held.append(block.part(begin, end))
        yield _joined(held)

    def _blocks(self) -> Iterator[Candidates]:
        with open_input(self._path) as stream:
            yield from self._read_blocks(stream)
        if not self._sizes:
            raise NBestError(
                "the list is empty",
                path=self._path,
                remedy="look at what the decoder said; it found no translation at all",
            )

    def _read_blocks(self, stream: BinaryIO) -> Iterator[Candidates]:
        for data in line_blocks(stream, self._block_size):
            end = data.rfind(b"\n") + 1
            whole, numbers = without_blank_lines(data[:end])
            if whole:
                yield self._block(whole, self._line + numbers)
            self._line += data.count(b"\n")
            if end < len(data):
                raise NBestError(CUT_SHORT, path=self._path, line=self._line + 1, remedy=CUT_REMEDY)

    def _block(self, data: bytes, numbers: NDArray[np.int64]) -> Candidates:
        if not self._sizes:
            self._take_layout(data[: data.index(b"\n")], int(numbers[0]))
        labels = b"".join(name.encode("utf-8", "surrogateescape") + b"= " for name in self._sizes)
        sizes = np.array(list(self._sizes.values()), np.int64)
        data = up_to_short_line(data, 2 * int(sizes.sum()))
        lines = data.count(b"\n")
        numbers = numbers[:lines]
        block = NBestBlock(
            np.empty(lines, np.int32),
            np.empty((lines, int(sizes.sum()))),
            np.empty(lines),
            np.empty(data.count(b" ") + lines, np.int32),
            np.zeros(lines + 1, np.int64),
            np.empty((lines, 2), np.int64),
            np.zeros(lines, np.bool_),
        )
        scan(as_array(data), as_array(labels), sizes, self._vocabulary.arrays, block)
        return self._finished(data, numbers, block)

    def _take_layout(self, line: bytes, number: int) -> None:
        try:
            entry = parse_entry(line)
        except NBestError as error:
            raise error.at(self._path, number) from None
        for name, values in entry.features.items():
            if name.partition("_")[0] not in self._sizes:
                self._sizes[name] = len(values)
        if not sum(self._sizes.values()):
            raise NBestError(
                "the line has no feature values",
                path=self._path,
                line=number,
                remedy="decode with at least one tuneable feature, and with labels",
            )

    def _finished(self, data: bytes, numbers: NDArray[np.int64], block: NBestBlock) -> Candidates:
        """Read the doubtful lines again, check the order, and take the words."""
        sparse = np.zeros(len(block.sentences))
        tokens, offsets = block.tokens[: block.offsets[-1]], block.offsets
        lines = data.split(b"\n") if self._with_words or block.doubtful.any() else []
        if block.doubtful.any():
            tokens, offsets = self._read_doubtful(lines, numbers, block, sparse)
        words: list[bytes] = []
        if self._with_words:
            columns = (line.split(b"|||", 2)[1] for line in lines[:-1])
            words = [b" ".join([w for w in column.split(b" ") if w]) for column in columns]
        self._check_order(block.sentences, numbers)
        return Candidates(
            self._sizes,
            block.sentences,
            numbers,
            # so that equal values are equal bits: minus zero becomes zero
            block.features + 0.0,
            sparse,
            block.totals,
            tokens,
            offsets,
            words,
        )

    def _read_doubtful(
        self,
        lines: list[bytes],
        numbers: NDArray[np.int64],
        block: NBestBlock,
        sparse: NDArray[np.float64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        pieces = []
        lengths = np.diff(block.offsets)
        for line in range(len(block.sentences)):
            piece = block.tokens[block.offsets[line] : block.offsets[line + 1]]
            if block.doubtful[line]:
                try:
                    entry = parse_entry(lines[line])
                    block.features[line] = self._dense_values(entry)
                except NBestError as error:
                    raise error.at(self._path, int(numbers[line])) from None
                block.sentences[line], block.totals[line] = entry.sentence, entry.total
                sparse[line] = self._sparse_sum(entry)
                ids = [self._vocabulary.id_of(word) for word in entry.words.split(b" ") if word]
                piece = np.array([-1 if word is None else word for word in ids], np.int32)
                lengths[line] = len(piece)
            pieces.append(piece)
        return np.concatenate(pieces), _offsets_of(lengths)

    def _dense_values(self, entry: NBestEntry) -> list[float]:
        values: list[float] = []
        for name, size in self._sizes.items():
            if name not in entry.features:
                raise NBestError(
                    f"the line has no feature {name}, which the list's first line has",
                    remedy="do not mix lists of different systems in one file",
                )
            if len(entry.features[name]) != size:
                raise NBestError(
                    f"{len(entry.features[name])} values of {name}, "
                    f"where the list's first line has {size}",
                    remedy=CUT_REMEDY,
                )
            values += entry.features[name]
        for name in entry.features:
            if name not in self._sizes and name.partition("_")[0] not in self._sizes:
                raise NBestError(
                    f"the feature {name} is not in the list's first line"
                    f"{did_you_mean(name, self._sizes)}",
                    remedy="do not mix lists of different systems in one file",
                )
        return values

    def _sparse_sum(self, entry: NBestEntry) -> float:
        total = 0.0
        for name, values in entry.features.items():
            if name not in self._sizes:
                if name not in self._sparse_weights:
                    self.unweighted = self.unweighted or name
                total += self._sparse_weights.get(name, 0.0) * sum(values)
        return total

    def _check_order(self, sentences: NDArray[np.int32], numbers: NDArray[np.int64]) -> None:
        before = np.concatenate([np.array([self._sentence], np.int32), sentences[:-1]])
        wrong = np.flatnonzero(sentences < before)
        if len(wrong):
            raise NBestError(
                f"sentence {sentences[wrong[0]]} stands after sentence {before[wrong[0]]}",
                path=self._path,
                line=int(numbers[wrong[0]]),
                remedy="give each list its own file; candidates of a sentence stand together, "
                "sentences in rising order",
            )
        self._sentence = int(sentences[-1])
