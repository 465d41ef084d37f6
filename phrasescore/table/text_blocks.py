r"""Blocks of lines with texts or pairs of texts, in columns of one file or in parallel files.

In a single file, the texts of a line are its first columns, separated by tabs; further columns are
kept unchanged. In parallel files, line i of each file is a text, and tabs separate tokens.
Lines end at ``\n``, tokens at a space or a tab. A carriage return at the beginning or end of a text
is ignored, as in a phrase table. Blocks have a maximum number of lines and of bytes; where they end
depends only on the input.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, PhraseTableError, visible
from phrasescore.table.block import LINES_PER_BLOCK, MAX_PHRASE, TokenSpans, block_sizes
from phrasescore.table.input_files import finite_number, read_lines
from phrasescore.table.phrase_table import BLANKS, SIDES, Side, scored_tokens

BYTES_PER_BLOCK = 1 << 20
MAX_SCORE = 1e9  # the maximum absolute value of a score; records of results have the same limit

# one line of each file, without line feeds; None after the end of a file
Lines = tuple["bytes | None", ...]

# the reasons why a line cannot be scored; if several apply, the first of these is reported
_FINE, _NO_COUNTERPART, _NO_TAB, _EMPTY, _NO_FACTOR, _BINARY = range(6)
# descriptions and remedies, if they need no detail of the line
_FAULTS = {
    _NO_TAB: (
        "no tab, where a source, a tab and a target were expected",
        "separate source and target by a tab",
    ),
    _EMPTY: ("the source is empty", "delete the line"),
}


@dataclass(frozen=True)
class TextBlock:
    r"""Some consecutive lines.

    Args:
        lines: The bytes of the lines without line feeds; texts of several files have a tab between
            them.
        first_line: The line number of the first line, from 1.
        path: The file, or the first of parallel files, for errors.
        tokens: The tokens of each text; meaningless for faulty lines.
        faulty: (lines,) bool, true if a line cannot be scored.
    """

    lines: Sequence[bytes]
    first_line: int
    path: str | Path
    tokens: tuple[TokenSpans, ...]
    faulty: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.lines)

    def phrases(self) -> TokenSpans:
        """Return the tokens of the first text, whose lines are phrases to read.

        Raises:
            CorpusError: A phrase is empty, or too long for a model to read.
        """
        words = np.diff(self.tokens[0].offsets)
        wrong = np.flatnonzero((words == 0) | (words > MAX_PHRASE))
        if len(wrong):
            row = int(wrong[0])
            problem = f"a phrase of {words[row]:,} words, but a model reads 1 to {MAX_PHRASE:,}"
            raise self.error(row, problem, "delete the line")
        return self.tokens[0]

    def error(self, row: int, problem: str, remedy: str) -> CorpusError:
        """Return an error about one line."""
        return CorpusError(problem, path=self.path, line=self.first_line + row, remedy=remedy)

    def with_columns(self, columns: Sequence[Sequence[bytes]]) -> bytes:
        """Return the lines with columns added at their ends; other bytes do not change.

        Args:
            columns: One sequence of fields, as long as the block, for each new column.
        """
        parts = []
        for line, *fields in zip(self.lines, *columns, strict=True):
            end = b"\r\n" if line.endswith(b"\r") else b"\n"
            parts += [b"\t".join([line.removesuffix(b"\r"), *fields]), end]
        return b"".join(parts)


@dataclass(frozen=True)
class Texts:
    """The texts to read, and how to read them.

    Args:
        paths: One file with all texts in columns, or one file for each text; plain, gzip or ``-``.
        columns: The number of texts of a line: 2 for source and target, otherwise 1.
        factor: The factor of a token to use, counted from 0.
        skips: Whether faulty lines are marked and returned; otherwise they are errors.
        empties: Whether a source may be empty.
        alone: The side that a single text is, for errors.
        whole_lines: Whether a line of a single file is one text, in which tabs separate tokens.
        lines_per_block: The maximum number of lines in a block.
        bytes_per_block: A block ends after the line that makes it this large; the first blocks are
            smaller.
    """

    paths: tuple[str | Path, ...]
    columns: int = 2
    factor: int = 0
    skips: bool = False
    empties: bool = False
    alone: Side = "source"
    whole_lines: bool = False
    lines_per_block: int = LINES_PER_BLOCK
    bytes_per_block: int = BYTES_PER_BLOCK

    @property
    def side_by_side(self) -> bool:
        """Whether each text has a separate file."""
        return len(self.paths) > 1 or self.whole_lines

    def blocks(self, skip: int = 0) -> Iterator[TextBlock]:
        """Yield the lines in blocks.

        Args:
            skip: The number of blocks to skip at the beginning; their lines are not checked.

        Raises:
            InputError: A file cannot be read.
            CorpusError: A line cannot be scored, and ``skips`` is false.
        """
        first_line = 1
        files = [read_lines(path, is_text=not self.skips) for path in self.paths]
        for number, taken in enumerate(self._cut(itertools.zip_longest(*files))):
            if number >= skip:
                yield self._block(taken, first_line)
            first_line += len(taken)

    def _cut(self, rows: Iterator[Lines]) -> Iterator[list[Lines]]:
        sizes = block_sizes(self.lines_per_block), block_sizes(self.bytes_per_block)
        for max_lines, max_bytes in zip(*sizes, strict=True):
            taken, size = list[Lines](), 0
            for row in itertools.islice(rows, max_lines):
                taken.append(row)
                # count tabs and line feeds, so that the same texts in one file or in two give the
                # same blocks
                size += sum(len(line or b"") + 1 for line in row)
                if size >= max_bytes:
                    break
            if not taken:
                return
            yield taken

    def _block(self, rows: list[Lines], first_line: int) -> TextBlock:
        columns, faults = self._columns(rows)
        tokens = []
        for column in columns:
            found, lacks_factor = TokenSpans.find_in_texts(column, self.factor)
            tokens.append(found)
            faults[lacks_factor & (faults == _FINE)] = _NO_FACTOR
        faulty = faults != _FINE
        if faulty.any() and not self.skips:
            number = int(np.argmax(faulty))
            texts = [column[number] for column in columns]
            raise self._error(int(faults[number]), rows[number], texts, first_line + number)
        lines = [b"\t".join([line or b"" for line in row]) for row in rows]
        return TextBlock(lines, first_line, self.paths[0], tuple(tokens), faulty)

    def _columns(self, rows: list[Lines]) -> tuple[list[list[bytes]], NDArray[np.int64]]:
        """Return the texts of lines, trimmed, and the fault of each line."""
        if self.side_by_side:
            fields = [[line or b"" for line in row] for row in rows]
        else:
            fields = [(row[0] or b"").split(b"\t", self.columns)[: self.columns] for row in rows]
        # an additional line of empty texts guarantees the number of columns, even if all lines
        # have fewer
        padded = itertools.zip_longest(*fields, [b""] * self.columns, fillvalue=b"")
        columns = [[field.strip(BLANKS) for field in column[:-1]] for column in padded]
        faults = np.full(len(rows), _FINE)
        if self.columns > 1 and not self.empties:
            faults[[not text for text in columns[0]]] = _EMPTY
        faults[[len(row) < self.columns for row in fields]] = _NO_TAB
        faults[[None in row for row in rows]] = _NO_COUNTERPART
        if self.skips:  # otherwise reading stops at a zero byte
            faults[[any(b"\0" in (line or b"") for line in row) for row in rows]] = _BINARY
        return columns, faults

    def _error(self, fault: int, row: Lines, texts: Sequence[bytes], line: int) -> CorpusError:
        """Return the error for a faulty line."""
        if fault == _NO_FACTOR:
            return self._factor_error(texts, line)
        if fault == _NO_COUNTERPART:
            longer, shorter = self.paths[::-1] if row[0] is None else self.paths
            return CorpusError(
                f"line {line:,} has no counterpart: {shorter} ends before it",
                path=longer,
                line=line,
                remedy="give two files whose lines with equal numbers belong together",
            )
        problem, remedy = _FAULTS[fault]
        return CorpusError(problem, path=self.paths[0], line=line, remedy=remedy)

    def _factor_error(self, texts: Sequence[bytes], line: int) -> CorpusError:
        named = SIDES if len(texts) > 1 else (self.alone,)
        for number, (side, text) in enumerate(zip(named, texts, strict=True)):
            try:
                scored_tokens(text, side, self.factor)
            except PhraseTableError as error:
                where = self.paths[number if self.side_by_side else 0]
                return CorpusError(error.problem, path=where, line=line, remedy=error.remedy)
        raise AssertionError("no token of this line lacks the factor")


def numbers_in(path: str | Path) -> Iterator[float]:
    """Yield the numbers that another program wrote, one in each line.

    Args:
        path: Plain or gzip; ``-`` is standard input.

    Raises:
        InputError: The file cannot be read.
        CorpusError: A line is not one number from -1e9 to 1e9.
    """
    for line, text in enumerate(read_lines(path), 1):
        value = finite_number(text.strip(BLANKS))
        if value is None or abs(value) > MAX_SCORE:
            raise CorpusError(
                f"{visible(text, 30)!r} is not a number from -1e9 to 1e9",
                path=path,
                line=line,
                remedy="write one number in each line, such as -12.5",
            )
        yield value


def read_numbers(path: str | Path) -> NDArray[np.float64]:
    """Return the numbers of `numbers_in`, ``(lines,)``."""
    return np.fromiter(numbers_in(path), np.float64)
