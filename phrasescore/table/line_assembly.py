"""Assembles lines from phrases and formatted numbers in a compiled loop.

Millions of lines contain few distinct numbers. Each distinct number is formatted once, and lines
refer to the formatted texts by index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from phrasescore.table.byte_scanning import SPACE, Bytes

_BLOCK = 1 << 20


class Phrases(NamedTuple):
    """A phrase for each line; all phrases are parts of one text.

    Args:
        ids: The word ids of the text.
        characters: uint8, the words in the order of their ids, one after the other.
        ends: (words + 1,) int64; word i is ``characters[ends[i] : ends[i + 1]]``.
        positions: (lines,) int32, where each phrase begins in the text.
        lengths: (lines,) uint8, the number of words of each phrase.
    """

    ids: NDArray[np.int32]
    characters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    positions: NDArray[np.int32]
    lengths: NDArray[np.uint8]

    @classmethod
    def of_text(cls, ids: NDArray[np.int32], words: Sequence[bytes]) -> Phrases:
        """Prepare the words of a text; the caller must replace ``positions`` and ``lengths``."""
        characters = np.frombuffer(bytearray(b"".join(words)), np.uint8)
        ends = np.cumsum([0, *map(len, words)], dtype=np.int64)
        return cls(ids, characters, ends, np.zeros(0, np.int32), np.zeros(0, np.uint8))


class ColumnTexts(NamedTuple):
    """The texts of one column of a table, or of several adjacent columns.

    Args:
        characters: uint8, all texts, perhaps with other bytes between them.
        begins: (texts,) int64, where each text begins.
        ends: (texts,) int64, the byte after each text.
        rows: (lines,) int64, the index of each line's text.
    """

    characters: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]


def assembled_lines(
    phrases: tuple[Phrases, ...], separator: bytes, columns: Sequence[ColumnTexts], before: int = 0
) -> Iterator[memoryview]:
    """Yield lines in blocks of about a mebibyte.

    Args:
        phrases: The phrases of a line, one or more.
        separator: The bytes after each phrase.
        columns: The texts of a line, line feed included.
        before: The number of columns before the phrases; the other columns follow the phrases.
    """
    rows = len(columns[0].rows)
    pieces = np.empty((rows, len(columns)), np.int32)
    begins, ends = [], []
    texts = characters = longest = 0
    for place, column in enumerate(columns):
        pieces[:, place] = column.rows + texts
        longest += int((column.ends - column.begins).max(initial=0))
        begins.append(column.begins + characters)
        ends.append(column.ends + characters)
        texts += len(column.begins)
        characters += len(column.characters)
    for each in phrases:
        longest_word = int(np.diff(each.ends).max(initial=0))
        longest += int(each.lengths.max(initial=0)) * (longest_word + 1) + len(separator)
    together = np.concatenate([column.characters for column in columns])
    spans = together, np.concatenate(begins), np.concatenate(ends)
    between = np.frombuffer(bytearray(separator), np.uint8)
    row = 0
    while row < rows:
        out = np.empty(_BLOCK + longest, np.uint8)
        row, size = _write_lines(phrases, between, spans, pieces, before, row, out)
        yield out[:size].data


@compiled
def _write_lines(
    phrases: tuple[Phrases, ...],
    separator: Bytes,
    texts: tuple[Bytes, NDArray[np.int64], NDArray[np.int64]],
    pieces: NDArray[np.int32],
    before: int,
    row: int,
    out: Bytes,
) -> tuple[int, int]:
    """Write lines from ``row`` on; return the first row not written, and the number of bytes."""
    phrases, separator, texts, pieces, out = borrowed((phrases, separator, texts, pieces, out))
    at = np.int64(0)
    while row < pieces.shape[0] and at < _BLOCK:
        for column in range(before):
            piece = pieces[row, column]
            at = _copy(texts[0], texts[1][piece], texts[2][piece], out, at)
        for phrase in phrases:
            first = np.int64(phrase.positions[row])
            for position in range(first, first + phrase.lengths[row]):
                if position > first:
                    out[at] = SPACE
                    at += 1
                word = phrase.ids[position]
                at = _copy(phrase.characters, phrase.ends[word], phrase.ends[word + 1], out, at)
            at = _copy(separator, 0, separator.size, out, at)
        for column in range(before, pieces.shape[1]):
            piece = pieces[row, column]
            at = _copy(texts[0], texts[1][piece], texts[2][piece], out, at)
        row += 1
    return row, at


@inlined
def _copy(source: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    for i in range(begin, end):
        out[at] = source[i]
        at += 1
    return at
