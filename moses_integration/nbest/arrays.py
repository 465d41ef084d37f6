"""Reads complete n-best lists into arrays, without a Python object for each line.

The rules are those of ``moses_integration.nbest.format``. A compiled loop reads plain lines: lines
with exactly the labels of the first line, and with numbers whose digits a double holds exactly. The
loop marks all other lines as doubtful, and ``format.parse_entry`` reads these lines again. All
lines of a list must have the dense features of its first line. Sparse features
(``TranslationModel0_name=`` after ``TranslationModel0=``) are not tuned: only their weighted sum is
kept. Marks of phrases, such as ``|0-1|``, are not words of a translation and are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.nbest import format as nbest_format
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import NBestError, did_you_mean, located
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
from phrasescore.table.input_files import line_blocks, open_input
from phrasescore.table.phrase_table import words_of
from phrasescore.words.token_sequences import joined_offsets
from phrasescore.words.word_table import WordArrays, WordTable, as_array, number_words

_BLOCK = 1 << 23
_MIXED = "do not mix lists of different systems in one file"
_ROWS = ("sentences", "lines", "features", "sparse", "totals")  # the arrays with a row a candidate
Offsets: TypeAlias = NDArray[np.int64]


class NBestBlock(NamedTuple):
    """The arrays that the loop fills for the L lines of a block; F is the number of feature values.

    Attributes:
        sentences: (L,) the sentence number of each candidate, from 0.
        features: (L, F) the feature values.
        totals: (L,) the model scores.
        words: (L, 2) the begin and the end of the words column in the block.
        doubtful: (L,) whether ``parse_entry`` must read the line again. For such a line only
            ``words`` is valid, and only if the line has enough columns.
    """

    sentences: NDArray[np.int32]
    features: NDArray[np.float64]
    totals: NDArray[np.float64]
    words: NDArray[np.int64]
    doubtful: NDArray[np.bool_]


@compiled
def _number(data: Bytes, at: int, end: int) -> float:
    """Return the correctly rounded value of a plain decimal number; NaN for any other text."""
    data = borrowed(data)
    value, stop, exact = parse_decimal(data, at, end)
    return value if exact and stop == end else np.nan


@compiled
def _features(
    data: Bytes, begin: int, end: int, labels: Bytes, sizes: Offsets, values: NDArray[np.float64]
) -> bool:
    """Read the features column; return whether it has exactly the expected labels and sizes.

    Args:
        data: The block.
        begin: The first byte of the column.
        end: The byte after the column.
        labels: The labels of the first line with their ``=``, each followed by a space.
        sizes: The number of values of each label.
        values: (F,) receives the values.
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
    data: Bytes, begin: int, end: int, labels: Bytes, sizes: Offsets, block: NBestBlock, line: int
) -> bool:
    """Read a line into the arrays; return whether it is plain."""
    data, labels, sizes, block = borrowed((data, labels, sizes, block))
    first = find_bars(data, begin, end)
    second = find_bars(data, first + 3, end) if first >= 0 else -1
    third = find_bars(data, second + 3, end) if second >= 0 else -1
    if third < 0:
        return False
    block.words[line, 0], block.words[line, 1] = first + 3, second
    fourth = find_bars(data, third + 3, end)
    if fourth < 0:
        fourth = end
    start, stop = trim(data, begin, first, SPACE_ONLY)
    block.sentences[line] = sentence = parse_integer(data, start, stop)
    start, stop = trim(data, third + 3, fourth, SPACE_ONLY)
    block.totals[line] = total = _number(data, start, stop)
    if sentence < 0 or np.isnan(total):
        return False
    return _features(data, second + 3, third, labels, sizes, block.features[line])


@compiled
def scan(data: Bytes, labels: Bytes, sizes: Offsets, block: NBestBlock) -> None:
    """Read complete lines into the arrays of ``block``."""
    data, labels, sizes, block = borrowed((data, labels, sizes, block))
    begin = 0
    for line in range(len(block.sentences)):
        end = find_byte(data, begin, len(data), LINE_FEED)
        block.doubtful[line] = not _line(data, begin, end, labels, sizes, block, line)
        begin = end + 1


@compiled
def number_columns(
    data: Bytes, spans: NDArray[np.int64], vocabulary: WordArrays, max_words: int
) -> tuple[NDArray[np.int32], Offsets]:
    """Return the ids of the words in each line's span, and ``(L + 1,)`` where they begin."""
    data, spans, vocabulary = borrowed((data, spans, vocabulary))
    tokens, offsets = np.empty(max_words, np.int32), np.zeros(len(spans) + 1, np.int64)
    for line in range(len(spans)):
        offsets[line + 1] = number_words(
            vocabulary, data, spans[line, 0], spans[line, 1], SPACE_ONLY, False, tokens,
            offsets[line],
        )  # fmt: skip
    return tokens[: offsets[-1]], offsets


def up_to_short_line(data: bytes, min_length: int) -> bytes:
    """Cut a block after its first line that is too short to have all values.

    Such a line is an error. Without the cut, many short lines after a first line with thousands of
    features would need arrays far larger than the file.

    Args:
        data: The lines.
        min_length: The minimum length of a line with all values: two bytes (a blank and a digit)
            for each value.
    """
    if data.count(b"\n") * min_length <= len(data):
        return data
    begin = 0
    while (end := data.index(b"\n", begin)) - begin >= min_length:
        begin = end + 1
    return data[: end + 1]


@dataclass(frozen=True)
class Candidates:
    """N candidate translations in the order of their list, each with F dense feature values.

    Args:
        sizes: The number of values of each dense feature, by name, in the list's order.
        sentences: (N,) the sentence number of each candidate, from 0.
        lines: (N,) the 1-based line number of each candidate.
        features: (N, F) unweighted values: float32 from ``NBestReader.read``, else float64.
        sparse: (N,) weighted sum of the sparse features whose weights were given.
        totals: (N,) the model scores as printed.
        tokens: Word ids, -1 for words outside the vocabulary.
        offsets: (N + 1,) the index of the first token of each candidate, then the token count.
        words: The words of each candidate with one space between them; empty unless requested.
    """

    sizes: Mapping[str, int]
    sentences: NDArray[np.int32]
    lines: NDArray[np.int64]
    features: NDArray[np.floating]
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
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        rows = {name: getattr(self, name)[begin:end] for name in (*_ROWS, "words")}
        return replace(self, tokens=self.tokens[tokens], offsets=offsets, **rows)


def _joined(parts: Sequence[Candidates]) -> Candidates:
    """Join parts of one list, at least one."""
    if len(parts) == 1:
        return parts[0]
    return Candidates(
        sizes=parts[0].sizes,
        offsets=joined_offsets([part.offsets for part in parts]),
        words=[words for part in parts for words in part.words],
        tokens=np.concatenate([part.tokens for part in parts]),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ROWS},
    )


class NBestReader:
    """Reads one n-best list, plain or gzip, into arrays.

    Args:
        path: The list.
        vocabulary: The ids of words.
        sparse_weights: Weights of single sparse features; all other sparse features have weight 0.
        with_words: Whether to return the words themselves, too.

    Attributes:
        unweighted: The first sparse feature in the list that has no weight, if any.
    """

    def __init__(
        self,
        path: str | Path,
        vocabulary: WordTable,
        *,
        sparse_weights: Mapping[str, float] | None = None,
        with_words: bool = False,
    ) -> None:
        self.unweighted: str | None = None
        self._path, self._vocabulary, self._with_words = path, vocabulary, with_words
        self._sparse_weights = sparse_weights or {}
        self._sizes: dict[str, int] = {}
        self._line = self._sentence = 0

    def read(self) -> Candidates:
        """Read the whole list.

        Raises:
            NBestError: The list is empty or cut short, a line violates the format or lacks a
                feature, or sentence numbers decrease.
        """
        # values beyond float32 become infinite, which the pool of candidates refuses
        with np.errstate(over="ignore"):
            blocks = self._blocks()
            return _joined([replace(each, features=np.float32(each.features)) for each in blocks])

    def sentences(self) -> Iterator[Candidates]:
        """Yield the candidates of each sentence in turn, with only one block in memory.

        Raises:
            NBestError: As in ``read``; raised when the reader reaches the faulty line.
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
            for data in line_blocks(stream, _BLOCK):
                whole = data[: data.rfind(b"\n") + 1]
                if whole:
                    yield self._block(nbest_format.without_marks(whole))
                self._line += whole.count(b"\n")
                if len(whole) < len(data):
                    raise nbest_format.cut_short().at(self._path, self._line + 1)
        if not self._sizes:
            remedy = "the decoder printed no translation: read its messages"
            raise NBestError("the list is empty", path=self._path, remedy=remedy)

    def _block(self, data: bytes) -> Candidates:
        if not self._sizes:
            self._take_layout(data[: data.index(b"\n")])
        labels = b"".join(name.encode("utf-8", "surrogateescape") + b"= " for name in self._sizes)
        sizes = np.array(list(self._sizes.values()), np.int64)
        data = up_to_short_line(data, 2 * int(sizes.sum()))
        lines = data.count(b"\n")
        block = NBestBlock(
            np.empty(lines, np.int32),
            np.empty((lines, int(sizes.sum()))),
            np.empty(lines),
            np.empty((lines, 2), np.int64),
            np.zeros(lines, np.bool_),
        )
        scan(as_array(data), as_array(labels), sizes, block)
        sparse = self._read_doubtful(data, block)
        self._check_order(block.sentences)
        max_words, arrays = data.count(b" ") + lines, self._vocabulary.arrays
        tokens, offsets = number_columns(as_array(data), block.words, arrays, max_words)
        columns = block.words.tolist() if self._with_words else []
        return Candidates(
            self._sizes,
            block.sentences,
            np.arange(self._line + 1, self._line + lines + 1),
            # adding 0.0 turns minus zero into zero, so that equal values have equal bits
            block.features + 0.0,
            sparse,
            block.totals,
            tokens,
            offsets,
            [b" ".join(words_of(data[begin:end])) for begin, end in columns],
        )

    def _take_layout(self, line: bytes) -> None:
        with located(self._path, 1):
            entry = nbest_format.parse_entry(line)
        for name, values in entry.features.items():
            if name.partition("_")[0] not in self._sizes:
                self._sizes[name] = len(values)
        if not sum(self._sizes.values()):
            remedy = "decode with at least one tuneable feature, and with labels"
            raise NBestError("the line has no feature values", remedy=remedy).at(self._path, 1)

    def _read_doubtful(self, data: bytes, block: NBestBlock) -> NDArray[np.float64]:
        """Read the doubtful lines again; return the sum of each line's sparse features."""
        sparse = np.zeros(len(block.sentences))
        doubtful = np.flatnonzero(block.doubtful).tolist()
        lines = data.split(b"\n") if doubtful else []
        for row in doubtful:
            with located(self._path, self._line + row + 1):
                entry = nbest_format.parse_entry(lines[row])
                block.features[row] = self._dense_values(entry)
            block.sentences[row], block.totals[row] = entry.sentence, entry.total
            sparse[row] = self._sparse_sum(entry)
        return sparse

    def _dense_values(self, entry: nbest_format.NBestEntry) -> list[float]:
        values: list[float] = []
        for name, size in self._sizes.items():
            if name not in entry.features:
                problem = f"the line has no feature {name}, but the first line of the list has it"
                raise NBestError(problem, remedy=_MIXED)
            if len(entry.features[name]) != size:
                found = f"{len(entry.features[name])} values of {name}"
                problem = f"{found}, but the first line of the list has {size}"
                raise NBestError(problem, remedy=nbest_format.CUT_REMEDY)
            values += entry.features[name]
        for name in entry.features:
            if name not in self._sizes and name.partition("_")[0] not in self._sizes:
                guess = did_you_mean(name, self._sizes)
                problem = f"the feature {name} is not in the list's first line{guess}"
                raise NBestError(problem, remedy=_MIXED)
        return values

    def _sparse_sum(self, entry: nbest_format.NBestEntry) -> float:
        total = 0.0
        for name, values in entry.features.items():
            if name not in self._sizes:
                if name not in self._sparse_weights:
                    self.unweighted = self.unweighted or name
                total += self._sparse_weights.get(name, 0.0) * sum(values)
        return total

    def _check_order(self, sentences: NDArray[np.int32]) -> None:
        before = np.concatenate([np.array([self._sentence], np.int32), sentences[:-1]])
        for row in np.flatnonzero(sentences < before)[:1].tolist():
            error = nbest_format.out_of_order(int(sentences[row]), int(before[row]))
            raise error.at(self._path, self._line + row + 1)
        self._sentence = int(sentences[-1])
