"""Blocks of thousands of phrase-table lines; compiled loops find their columns and tokens.

The compiled loops accept only lines that are certainly correct. ``phrase_table.check_line`` checks
every doubtful line, so that the rules and the errors are in one place. Tokens do not become Python
objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError, SettingsError, counted, located, visible
from phrasescore.runs.file_kinds import STANDARD_STREAM, is_stream
from phrasescore.table import scanning
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import (
    GAP,
    INSPECTED_LINES,
    SCORE,
    SEPARATOR,
    Entry,
    Side,
    TableFormat,
    check_line,
    parse_entry,
    scored_tokens,
)
from phrasescore.table.scanning import SCORES, SCORES_END, SOURCE, SOURCE_END, TARGET

LINES_PER_BLOCK = 65_536
# the maximum number of words of a phrase that a model reads; real phrases have at most about 20
MAX_PHRASE = 10_000
Positions = NDArray[np.int64]
# determines the format of a table from its first lines; errors name the path
FormatFinder: TypeAlias = Callable[[Sequence[bytes], "str | Path"], TableFormat]
FaultHandler: TypeAlias = Callable[[PhraseTableError], object]


@dataclass(frozen=True)
class TokenSpans:
    """Positions of the tokens in the phrases of one side, with factors selected and gaps replaced.

    Args:
        data: uint8, the bytes of the block; in a table, the token ``[X]`` for gaps follows.
        begins: (tokens,) int64, the first byte of each token.
        ends: (tokens,) int64, the byte after each token.
        offsets: (lines + 1,) int64; the phrase of line i has the tokens from offsets[i] to
            offsets[i + 1] - 1.
    """

    data: NDArray[np.uint8]
    begins: Positions
    ends: Positions
    offsets: Positions

    @classmethod
    def find(
        cls,
        data: NDArray[np.uint8],
        begins: Positions,
        ends: Positions,
        factor: int = 0,
        *,
        hierarchical: bool = False,
    ) -> tuple[TokenSpans, NDArray[np.bool_]]:
        """Find the tokens of phrases, and the phrases that lack the factor or the label of a rule.

        Args:
            data: uint8, as in the class.
            begins: (lines,) int64, the first byte of each phrase.
            ends: (lines,) int64, the byte after each phrase.
            factor: The factor of a token to use, counted from 0.
            hierarchical: Whether the phrases are sides of rules.

        Returns:
            The tokens, and (lines,) bool: true if a phrase lacks the factor or the label.
        """
        # a token and its separator take at least two bytes
        max_tokens = int((ends - begins + 1).sum()) // 2 + len(begins)
        spans = np.empty((2, max_tokens), np.int64)
        offsets = np.zeros(len(begins) + 1, np.int64)
        doubtful = np.zeros(len(begins), np.bool_)
        places = spans, offsets, doubtful
        count = scanning.find_tokens(data, begins, ends, factor, hierarchical, *places)
        return cls(data, spans[0, :count], spans[1, :count], offsets), doubtful

    @classmethod
    def find_in_texts(
        cls, texts: Sequence[bytes], factor: int
    ) -> tuple[TokenSpans, NDArray[np.bool_]]:
        """Find the tokens of texts, and the texts that lack the factor."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        # a line feed follows each text, because `frombuffer` refuses an empty buffer
        data = np.frombuffer(b"\n".join([*texts, b""]), np.uint8)
        ends = np.cumsum(lengths + 1) - 1
        return cls.find(data, ends - lengths, ends, factor)

    def tokens(self, line: int) -> list[bytes]:
        """Return the tokens of one phrase as bytes."""
        return [
            self.data[self.begins[i] : self.ends[i]].tobytes()
            for i in range(self.offsets[line], self.offsets[line + 1])
        ]


@dataclass(frozen=True)
class TableBlock:
    """Some consecutive lines of a phrase table, which have been checked.

    Args:
        text: The bytes of the lines, line feeds included.
        first_line: The line number of the first line, from 1.
        path: The file, for errors.
        format: The format that all lines of the table have.
        spans: (lines, 6) int64: begin and end of source, target and scores, without blanks around
            them.
    """

    text: bytes
    first_line: int
    path: str | Path
    format: TableFormat
    spans: Positions

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def data(self) -> NDArray[np.uint8]:
        """The text, followed by the token ``[X]`` for gaps, as uint8."""
        return np.frombuffer(self.text + GAP, np.uint8)

    def token_spans(self, side: Side, factor: int = 0) -> TokenSpans:
        """Find the tokens that a model scores (see ``phrase_table.scored_tokens``).

        Raises:
            PhraseTableError: A token lacks the factor, a rule lacks its left-hand side, or a phrase
                is too long for a model to read in reasonable time.
        """
        column = SOURCE if side == "source" else TARGET
        begins, ends = self.spans[:, column], self.spans[:, column + 1]
        hierarchical = self.format.hierarchical
        where = self.data, begins, ends
        tokens, doubtful = TokenSpans.find(*where, factor, hierarchical=hierarchical)
        for row in np.flatnonzero(doubtful):
            phrase = self.text[begins[row] : ends[row]]
            with located(self.path, self.first_line + int(row)):
                scored_tokens(phrase, side, factor, hierarchical=hierarchical)
        lengths = np.diff(tokens.offsets)
        if lengths.max(initial=0) > MAX_PHRASE:
            first = int(np.argmax(lengths > MAX_PHRASE))
            raise self.error(
                first,
                f"the {side} phrase has {lengths[first]:,} words, but a model reads at most "
                f"{MAX_PHRASE:,}",
                "delete the line",
            )
        return tokens

    def source(self, line: int) -> bytes:
        """Return the source phrase of one line, unchanged."""
        begin, end = self.spans[line, :2]
        return self.text[begin:end]

    @cached_property
    def run_offsets(self) -> Positions:
        """(runs + 1,) int64: where each run of equal sources begins; last, the number of lines."""
        starts = np.empty(len(self) + 1, np.int64)
        runs = scanning.find_runs(self.data, self.spans, starts)
        starts[runs] = len(self)
        return starts[: runs + 1]

    @cached_property
    def score_values(self) -> NDArray[np.float64]:
        """(lines, scores) float64: all scores, rounded to the nearest double."""
        values = np.empty((len(self), self.format.scores))
        rounded = np.empty((values.size, 4), np.int64)
        count = scanning.read_scores(self.data, self.spans, values, rounded)
        # Python parses the few numbers that the compiled loop cannot round correctly
        for line, score, begin, end in rounded[:count].tolist():
            values[line, score] = float(self.text[begin:end])
        return values

    def score_column(self, number: int) -> NDArray[np.float64]:
        """Return (lines,) float64: one score of each line.

        Args:
            number: The index of the score, counted from 1.

        Raises:
            SettingsError: The table has no such score.
        """
        if number > self.format.scores:
            raise SettingsError(
                f"there is no score {number} to compare: the lines have "
                f"{counted(self.format.scores, 'score')}",
                path=self.path,
                remedy="choose another --column; scores are counted from 1",
            )
        return self.score_values[:, number - 1]

    def line(self, row: int) -> bytes:
        """Return one line, without its line feed."""
        return self.text[self._line_begin(row) : self._line_begin(row + 1)].removesuffix(b"\n")

    def part(self, begin: int, end: int) -> TableBlock:
        """Return lines ``begin`` to ``end - 1``, at least one line."""
        first = self._line_begin(begin)
        text = self.text[first : self._line_begin(end)]
        spans = self.spans[begin:end] - first
        return TableBlock(text, self.first_line + begin, self.path, self.format, spans)

    def _line_begin(self, line: int) -> int:
        if line == len(self):
            return len(self.text)
        return self.text.rfind(b"\n", 0, int(self.spans[line, SOURCE])) + 1

    def error(self, row: int, problem: str, remedy: str) -> PhraseTableError:
        """Return an error about one line."""
        return PhraseTableError(problem, path=self.path, line=self.first_line + row, remedy=remedy)

    def entry(self, row: int) -> Entry:
        """Return all columns of one line."""
        return parse_entry(self.line(row))

    def with_appended_scores(self, columns: Sequence[Sequence[bytes]]) -> bytes:
        """Return the lines with scores added after the last score; other bytes do not change.

        Args:
            columns: One sequence of scores, as long as the block, for each new column.
        """
        ends = self.spans[:, SCORES_END].tolist()
        added = [b" " + b" ".join(scores) for scores in zip(*columns, strict=True)]
        return _spliced(self.text, ends, ends, added)

    def with_replaced_scores(self, number: int, columns: Sequence[Sequence[bytes]]) -> bytes:
        """Return the lines with some scores replaced, from score ``number`` on.

        Args:
            number: The first score to replace, counted from 1.
            columns: For each replaced score, a sequence with one value for each line.

        Raises:
            SettingsError: There are not enough scores to replace.
        """
        last = number + len(columns) - 1
        if last > self.format.scores:
            problem = f"there is no score {last} to replace: each line has {self.format.scores}"
            remedy = "leave out --replace-column to append the scores"
            raise SettingsError(problem, path=self.path, remedy=remedy)
        places = [
            place.span()
            for begin, end in self.spans[:, SCORES : SCORES_END + 1].tolist()
            for place in itertools.islice(SCORE.finditer(self.text, begin, end), number - 1, last)
        ]
        begins, ends = zip(*places, strict=True)
        return _spliced(self.text, begins, ends, itertools.chain(*zip(*columns, strict=True)))


def _spliced(
    text: bytes, begins: Iterable[int], ends: Iterable[int], new: Iterable[bytes]
) -> bytes:
    parts, position = [], 0
    for begin, end, value in zip(begins, ends, new, strict=True):
        parts += [text[position:begin], value]
        position = end
    return b"".join([*parts, text[position:]])


def read_blocks(
    path: str | Path,
    lines: int = LINES_PER_BLOCK,
    *,
    skip: int = 0,
    first: int | None = None,
    format_of: FormatFinder = TableFormat.from_lines,
    on_fault: FaultHandler | None = None,
) -> Iterator[TableBlock]:
    """Yield a table in blocks of ``lines`` lines; the first blocks and the last may be shorter.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        lines: The number of lines in a block.
        skip: The number of blocks to skip at the beginning; their lines are not checked.
        first: The number of lines in the first block; each next block is four times as long, up
            to ``lines``.
        format_of: Determines the format from the first lines.
        on_fault: Receives the error of each faulty line; the spans of that line are set to 0.
            Without ``on_fault``, the error is raised.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: A line violates the format; the error names the file and the line.
    """
    sizes = block_sizes(lines, first or lines)
    skipped = sum(itertools.islice(sizes, skip))
    return _checked_blocks(path, skipped, lambda: next(sizes), format_of, on_fault)


def block_sizes(max_size: int, first: int | None = None) -> Iterator[int]:
    """Yield block sizes without end; the first blocks are small, so that results come soon.

    Args:
        max_size: The maximum size.
        first: The first size; by default, a sixteenth of ``max_size``. Each next size is four times
            as large.
    """
    size = min(first or -(-max_size // 16), max_size)
    while True:
        yield size
        size = min(4 * size, max_size)


def read_source_runs(
    path: str | Path,
    lines: int = LINES_PER_BLOCK,
    *,
    skip_lines: int = 0,
    format_of: FormatFinder = TableFormat.from_lines,
) -> Iterator[TableBlock]:
    """Yield a table's lines in blocks that do not separate the lines of a source phrase.

    A block has up to ``lines`` lines. If the first source of a block has ``lines`` lines or more,
    the block has all of these and up to ``lines`` lines of the next sources. Sources are compared
    byte by byte. The end of a block depends on the lines of the block and the lines after it, not
    on earlier blocks.

    Moses sorts its tables by the bytes of ``source |||`` (``LC_ALL=C``). In this order, all lines
    of a source are neighbours, which can be checked without keeping all sources in memory. Any
    other order is an error.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        lines: The number of lines to hold at a time.
        skip_lines: The number of lines to skip at the beginning. These lines must be whole blocks;
            they are not checked.
        format_of: Determines the format from the first lines.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: A line violates the format, or the sources are not sorted; the error names
            the file and the line.
    """
    begun: list[TableBlock] = []  # the lines of the last source that have been read so far
    previous = b""

    def room() -> int:
        free = lines - sum(map(len, begun))
        return free if free > 0 else lines

    for block in _checked_blocks(path, skip_lines, room, format_of):
        _refuse_disorder(block, previous)
        cut = int(block.run_offsets[-2])
        if cut == 0 and block.source(0) == (previous or block.source(0)):
            begun.append(block)
        else:
            yield _joined([*begun, block.part(0, cut)] if cut else begun)
            begun = [block.part(cut, len(block))]
        previous = block.source(len(block) - 1)
    if begun:
        yield _joined(begun)


def read_reordering_runs(path: str | Path) -> Iterator[TableBlock]:
    """Yield the lines of a sorted reordering table in blocks, as ``read_source_runs`` does.

    Raises:
        InputError: As in ``read_source_runs``, or the file is not a reordering table.
    """
    return read_source_runs(path, format_of=TableFormat.from_reordering_lines)


def check_reordering(path: str | Path) -> None:
    """Check the beginning of a reordering table before long work; a pipe is not checked.

    Raises:
        InputError: As in ``read_reordering_runs``.
    """
    if str(path) != STANDARD_STREAM and not is_stream(path):
        next(read_reordering_runs(path))


def _checked_blocks(
    path: str | Path,
    skip: int,
    wanted: Callable[[], int],
    format_of: FormatFinder,
    on_fault: FaultHandler | None = None,
) -> Iterator[TableBlock]:
    """Yield the lines after the first ``skip``; ``wanted`` returns the length of the next block."""
    first_line = skip + 1
    with open_input(path) as stream:
        head = list(itertools.islice(stream, INSPECTED_LINES))
        expected = format_of([line.removesuffix(b"\n") for line in head], path)
        lines = itertools.islice(itertools.chain(head, stream), skip, None)
        while taken := list(itertools.islice(lines, wanted())):
            text = b"".join(taken)
            yield checked_block(text, len(taken), first_line, path, expected, on_fault)
            first_line += len(taken)


def checked_block(
    text: bytes,
    lines: int,
    first_line: int,
    path: str | Path,
    expected: TableFormat,
    on_fault: FaultHandler | None = None,
) -> TableBlock:
    """Find the columns of some lines, and check the lines.

    Args:
        text: The lines.
        lines: The number of lines.
        first_line: The line number of the first line, from 1.
        path: The file of the lines, for errors.
        expected: The format of the table.
        on_fault: Receives the error of each faulty line; the spans of that line are set to 0.

    Raises:
        PhraseTableError: A line is faulty, and ``on_fault`` is ``None``.
    """
    spans = np.zeros((lines, 6), np.int64)
    doubtful = np.zeros(lines, np.bool_)
    data = np.frombuffer(text, np.uint8)
    scanning.find_columns(data, expected.scores, expected.hierarchical, spans, doubtful)
    split = text.split(b"\n") if doubtful.any() else []
    for row in np.flatnonzero(doubtful).tolist():
        try:
            check_line(split[row], expected)
        except PhraseTableError as error:
            error.at(path, first_line + row)
            if on_fault is None:
                raise error from None
            spans[row] = 0
            on_fault(error)
    return TableBlock(text, first_line, path, expected, spans)


def _refuse_disorder(block: TableBlock, previous: bytes) -> None:
    """Raise an error unless the previous source and the sources of a block are sorted."""
    row = 0
    if not previous or block.source(0) + SEPARATOR >= previous + SEPARATOR:
        row = scanning.first_out_of_order(block.data, block.spans, block.run_offsets[:-1])
        if row < 0:
            return
        previous = block.source(row - 1)
    here = block.source(row)
    remedy = "sort the table: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz"
    end = int(block.spans[row, SOURCE_END])
    if not block.text.startswith(SEPARATOR, end):
        remedy = f"write the columns with {SEPARATOR.decode()!r} between them, and s{remedy[1:]}"
    raise block.error(
        row,
        f"the source {visible(here, 40)!r} comes after {visible(previous, 40)!r}, but the lines "
        "must be sorted by the bytes of the source",
        remedy,
    )


def _joined(blocks: Sequence[TableBlock]) -> TableBlock:
    if len(blocks) == 1:
        return blocks[0]
    offsets = itertools.accumulate((len(block.text) for block in blocks), initial=0)
    spans = [block.spans + offset for block, offset in zip(blocks, offsets, strict=False)]
    first = blocks[0]
    text = b"".join(block.text for block in blocks)
    return TableBlock(text, first.first_line, first.path, first.format, np.concatenate(spans))
