"""A phrase table in blocks that never part the lines of one source phrase.

Whoever compares the targets of a source with each other needs all of them at once. That takes a
table in which the lines of a source are neighbours. Moses sorts its tables by the bytes of
``source |||`` (``LC_ALL=C``), and in this order a source that comes again is seen at once, without
keeping all sources in memory: so the order is a condition.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from phrasescore.errors import PhraseTableError, visible
from phrasescore.runs.byte_streams import open_input
from phrasescore.table.block import (
    LINES_PER_BLOCK,
    FormatFinder,
    TableBlock,
    checked_block,
    opened_table,
    truncation_named,
)
from phrasescore.table.phrase_table import SEPARATOR, TableFormat
from phrasescore.table.scanning import SOURCE, SOURCE_END, first_out_of_order

_SHOWN_LETTERS = 40


def read_source_runs(
    path: str | Path,
    lines: int = LINES_PER_BLOCK,
    *,
    skip_lines: int = 0,
    format_of: FormatFinder = TableFormat.of,
) -> Iterator[TableBlock]:
    """Yield a table's lines in blocks that end where the lines of a source phrase end.

    A block has up to ``lines`` lines. Where its first source alone has as many, it has all of that
    source and up to ``lines`` more. Sources are compared byte by byte. Where a block ends depends
    on its own lines and the next ones, not on the blocks before it.

    Args:
        path: A plain or gzip phrase table, or ``-``.
        lines: How many lines to hold at a time.
        skip_lines: How many lines to pass over at the beginning, unchecked; a block must have
            ended there.
        format_of: What finds the format from the first lines; a reordering table has another one.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: It breaks the format, or its sources are not sorted; the error names the
            file and the line.
    """
    begun: list[TableBlock] = []  # lines of the last source so far, which may go on
    previous = b""
    first_line = skip_lines + 1
    with open_input(path) as stream:
        expected, rest = opened_table(stream, path, format_of)
        with truncation_named(path):
            deque(itertools.islice(rest, skip_lines), maxlen=0)
        while True:
            room = lines - sum(map(len, begun))
            with truncation_named(path):
                taken = list(itertools.islice(rest, room if room > 0 else lines))
            if not taken:
                break
            block = checked_block(b"".join(taken), len(taken), first_line, path, expected)
            _refuse_disorder(block, previous)
            first_line += len(block)
            cut = int(block.run_offsets[-2])
            if cut == 0 and _source(block, 0) == (previous or _source(block, 0)):
                begun.append(block)
            else:
                yield _joined([*begun, _part(block, 0, cut)] if cut else begun)
                begun = [_part(block, cut, len(block))]
            previous = _source(block, len(block) - 1)
    if begun:
        yield _joined(begun)


def _refuse_disorder(block: TableBlock, previous: bytes) -> None:
    """Raise unless the sources of a block, and the one before it, are sorted."""
    if previous and _source(block, 0) + SEPARATOR < previous + SEPARATOR:
        row = 0
    else:
        row = first_out_of_order(block.data, block.spans, block.run_offsets[:-1])
        if row < 0:
            return
        previous = _source(block, row - 1)
    here = _source(block, row)
    remedy = "sort the table: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz"
    end = int(block.spans[row, SOURCE_END])
    if not block.text.startswith(SEPARATOR, end):
        remedy = f"write the columns with {SEPARATOR.decode()!r} between them, and s{remedy[1:]}"
    raise PhraseTableError(
        f"the source {visible(here, _SHOWN_LETTERS)!r} comes after "
        f"{visible(previous, _SHOWN_LETTERS)!r}, but all lines of a source must be neighbours, "
        "in the order of bytes",
        path=block.path,
        line=block.first_line + row,
        remedy=remedy,
    )


def _source(block: TableBlock, line: int) -> bytes:
    return block.text[block.spans[line, SOURCE] : block.spans[line, SOURCE_END]]


def _part(block: TableBlock, begin: int, end: int) -> TableBlock:
    """Return lines ``begin`` to ``end``, at least one."""
    first = _line_begin(block, begin)
    text = block.text[first : _line_begin(block, end)]
    spans = block.spans[begin:end] - first
    return TableBlock(text, block.first_line + begin, block.path, block.format, spans)


def _line_begin(block: TableBlock, line: int) -> int:
    if line == len(block):
        return len(block.text)
    return block.text.rfind(b"\n", 0, int(block.spans[line, SOURCE])) + 1


def _joined(blocks: Sequence[TableBlock]) -> TableBlock:
    if len(blocks) == 1:
        return blocks[0]
    offsets = itertools.accumulate((len(block.text) for block in blocks), initial=0)
    spans = [block.spans + offset for block, offset in zip(blocks, offsets, strict=False)]
    first = blocks[0]
    text = b"".join(block.text for block in blocks)
    return TableBlock(text, first.first_line, first.path, first.format, np.concatenate(spans))
