r"""Pairs of texts in blocks of lines: columns of one file, or files side by side.

A line of one file has its texts in its first columns, separated by tabs; further columns are
carried along. Side by side, line i of each file is a text, in which a tab separates tokens. Lines
end at ``\n``, tokens at a space or a tab, and a carriage return counts only inside a text, as in
a phrase table. Blocks hold so many lines or bytes; where they are cut depends on the input alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from phrasescore.errors import CorpusError, PhraseTableError
from phrasescore.table.block import LINES_PER_BLOCK, TokenSpans
from phrasescore.table.byte_scanning import BLANKS, RETURN, TAB, find_byte, trim
from phrasescore.table.input_files import open_input, truncation_named
from phrasescore.table.phrase_table import Side, scored_tokens

BYTES_PER_BLOCK = 1 << 20
# the first block is this many times smaller, the next is four times larger, up to a whole one
_FIRST = 16

# one line of each file, without line feeds; None after the end of a file
Lines = tuple["bytes | None", ...]
Positions = NDArray[np.int64]

# why a line cannot be scored, the first reason that applies
_FINE, _NO_COUNTERPART, _NO_TAB, _EMPTY, _NO_FACTOR = range(5)


@dataclass(frozen=True)
class TextBlock:
    r"""Some consecutive lines.

    Args:
        text: Their bytes as they are written, a ``\n`` after each; texts of several files have a
            tab between them.
        first_line: The 1-based number of the first.
        path: The file, or that of the first texts, for errors.
        ends: (lines,) where new columns go, before a carriage return at the end of a line.
        tokens: The tokens of each text that a model sees; those of faulty lines mean nothing.
        faulty: (lines,) bool, whether a line cannot be scored.
    """

    text: bytes
    first_line: int
    path: str | Path
    ends: Positions
    tokens: tuple[TokenSpans, ...]
    faulty: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ends)

    def with_columns(self, columns: Sequence[Sequence[bytes]]) -> bytes:
        """Return the lines with columns added at their ends, every other byte as it was.

        Args:
            columns: One sequence of fields, as long as the block, for each new column.
        """
        parts, position = [], 0
        for end, fields in zip(self.ends.tolist(), zip(*columns, strict=True), strict=True):
            parts += [self.text[position:end], b"\t", b"\t".join(fields)]
            position = end
        parts.append(self.text[position:])
        return b"".join(parts)


@dataclass(frozen=True)
class Texts:
    """The texts to read, and how.

    Args:
        paths: One file with all texts in columns, or one file for each; plain, gzip or ``-``.
        columns: Source and target: 2; what a model without a source reads: 1.
        factor: Which factor of a token counts, from 0.
        skips: Whether a line that cannot be scored is passed on; otherwise it is an error.
        empties: Whether an empty source is as good as any.
        whole_lines: Whether all of a line is a text, in one file too; then a tab separates tokens.
        advice: What else helps against a line that cannot be scored, the end of an error's remedy.
        lines_per_block: How many lines a block has at most.
        bytes_per_block: How many bytes end it: the line that reaches this is its last.
    """

    paths: tuple[str | Path, ...]
    columns: int = 2
    factor: int = 0
    skips: bool = False
    empties: bool = False
    whole_lines: bool = False
    advice: str = ""
    lines_per_block: int = LINES_PER_BLOCK
    bytes_per_block: int = BYTES_PER_BLOCK

    @property
    def side_by_side(self) -> bool:
        """Whether each text has a file of its own."""
        return len(self.paths) > 1 or self.whole_lines

    def blocks(self, skip: int = 0) -> Iterator[TextBlock]:
        """Yield the lines in blocks.

        Args:
            skip: How many blocks to pass over at the beginning, their lines unchecked.

        Raises:
            InputError: A file cannot be read.
            CorpusError: A line cannot be scored, and such lines are not skipped.
        """
        first_line = 1
        rows = itertools.zip_longest(*(_read_lines(path) for path in self.paths))
        for number, taken in enumerate(self._cut(rows)):
            if number >= skip:
                yield self._block(taken, first_line)
            first_line += len(taken)

    def _cut(self, rows: Iterator[Lines]) -> Iterator[list[Lines]]:
        part = _FIRST
        while True:
            most, size = -(-self.bytes_per_block // part), 0
            taken: list[Lines] = []
            for row in itertools.islice(rows, -(-self.lines_per_block // part)):
                taken.append(row)
                # with tabs and line feeds, so that both forms of the same texts are cut alike
                size += sum(len(line or b"") + 1 for line in row)
                if size >= most:
                    break
            if not taken:
                return
            yield taken
            part = max(part // 4, 1)

    def _block(self, rows: list[Lines], first_line: int) -> TextBlock:
        text = b"".join(b"\t".join([line or b"" for line in row]) + b"\n" for row in rows)
        data = np.frombuffer(text, np.uint8)
        spans, ends, faults = self._spans(data, rows)
        tokens = []
        for column in range(self.columns):
            found, lacks_factor = self._tokens(data, spans, column)
            tokens.append(found)
            faults[lacks_factor & (faults == _FINE)] = _NO_FACTOR
        faulty = faults != _FINE
        if faulty.any() and not self.skips:
            row = int(np.argmax(faulty))
            texts = [text[begin:end] for begin, end in spans[row].reshape(-1, 2).tolist()]
            raise self._error(int(faults[row]), rows[row], texts, first_line + row)
        return TextBlock(text, first_line, self.paths[0], ends, tuple(tokens), faulty)

    def _spans(
        self, data: NDArray[np.uint8], rows: list[Lines]
    ) -> tuple[Positions, Positions, NDArray[np.int64]]:
        """Find the texts of some lines, where each line ends, and whether it lacks a text."""
        lengths = np.array([[len(line or b"") for line in row] for row in rows], np.int64)
        # behind each line of a file stands a tab or the line feed
        stops = np.cumsum(lengths + 1).reshape(lengths.shape) - 1
        spans = np.zeros((len(rows), 2 * self.columns), np.int64)
        ends, faults = np.empty(len(rows), np.int64), np.full(len(rows), _FINE)
        lacks_tab = np.zeros(len(rows), np.bool_)
        if self.side_by_side:
            spans[:, 0::2], spans[:, 1::2] = stops - lengths, stops
        else:
            _find_columns(data, stops[:, 0] - lengths[:, 0], stops[:, 0], spans, lacks_tab)
        _trim(data, spans)
        _before_return(data, stops[:, -1], ends)
        if self.columns > 1 and not self.empties:
            faults[spans[:, 0] == spans[:, 1]] = _EMPTY
        faults[lacks_tab] = _NO_TAB
        faults[[None in row for row in rows]] = _NO_COUNTERPART
        return spans, ends, faults

    def _tokens(
        self, data: NDArray[np.uint8], spans: Positions, column: int
    ) -> tuple[TokenSpans, NDArray[np.bool_]]:
        """Find the tokens of one text of all lines, and the lines in which a factor is missing."""
        begins, ends = spans[:, 2 * column], spans[:, 2 * column + 1]
        return TokenSpans.of(data, begins, ends, self.factor)

    def _error(self, fault: int, row: Lines, texts: Sequence[bytes], line: int) -> CorpusError:
        """Say why a line cannot be scored."""
        where = self.paths[0]
        if fault == _NO_COUNTERPART:
            longer, shorter = self.paths if row[1] is None else self.paths[::-1]
            return CorpusError(
                f"line {line:,} has no counterpart: {shorter} ends before it, so this text is "
                "the longer one",
                path=longer,
                line=line,
                remedy="give two files in which line i of one belongs to line i of the other"
                + self.advice,
            )
        if fault == _NO_TAB:
            problem = "no tab, where a source, a tab and a target were expected"
            remedy = f"write them so{self.advice}"
            return CorpusError(problem, path=where, line=line, remedy=remedy)
        if fault == _EMPTY:
            remedy = f"delete the line{self.advice}"
            return CorpusError("the source is empty", path=where, line=line, remedy=remedy)
        return self._factor_error(texts, line)

    def _factor_error(self, texts: Sequence[bytes], line: int) -> CorpusError:
        sides: tuple[Side, ...] = ("source", "target")
        # a text alone is what a model predicts, or whole lines, which one reads
        named = sides[: len(texts)] if self.whole_lines else sides[-len(texts) :]
        for number, (side, text) in enumerate(zip(named, texts, strict=True)):
            try:
                scored_tokens(text, side, self.factor)
            except PhraseTableError as error:
                where = self.paths[number if self.side_by_side else 0]
                remedy = f"{error.remedy}{self.advice}"
                return CorpusError(error.problem, path=where, line=line, remedy=remedy)
        raise AssertionError("a line is called faulty that is not")


def _read_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of one file; a generator of its own, so that errors name the right file."""
    with open_input(path) as stream, truncation_named(path):
        for line in stream:
            yield line.removesuffix(b"\n")


@compiled
def _find_columns(data: Any, begins: Any, ends: Any, spans: Any, lacks_tab: Any) -> None:
    """Find the first columns of every line.

    Args:
        data: uint8.
        begins: (lines,) where each line begins.
        ends: (lines,) where it ends.
        spans: (lines, 2 * columns), filled: begin and end of each column.
        lacks_tab: (lines,) bool, filled: whether a column is missing; its span is empty.
    """
    for line in range(len(spans)):
        at, end = begins[line], ends[line]
        for column in range(0, spans.shape[1], 2):
            if at > end:
                lacks_tab[line] = True
                at = end
            stop = find_byte(data, at, end, TAB)
            spans[line, column], spans[line, column + 1] = at, stop
            at = stop + 1


@compiled
def _trim(data: Any, spans: Any) -> None:
    """Leave out the blanks around every text."""
    for line in range(len(spans)):
        for column in range(0, spans.shape[1], 2):
            begin, end = trim(data, spans[line, column], spans[line, column + 1], BLANKS)
            spans[line, column], spans[line, column + 1] = begin, end


@compiled
def _before_return(data: Any, stops: Any, ends: Any) -> None:
    """Fill in where each line ends without its line feed and the carriage return before that."""
    begin = 0
    for line in range(len(stops)):
        stop = stops[line]
        ends[line] = stop - 1 if stop > begin and data[stop - 1] == RETURN else stop
        begin = stop + 1
