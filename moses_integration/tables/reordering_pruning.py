"""Cuts a lexicalised reordering table to the pairs that a pruned phrase table still has.

Both tables are sorted by ``source |||``, so one parallel walk is enough, and memory stays constant.
A line is kept if its pair, byte for byte, is in the phrase table; Moses would never look up other
lines. Pairs that the reordering table lacks get Moses's default, as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.tables.filtering import LineCounts
from phrasescore.compiled import borrowed, compiled
from phrasescore.runs.file_kinds import can_be_read_again
from phrasescore.table.block import TableBlock, read_source_runs
from phrasescore.table.block_stream import BlockStream
from phrasescore.table.byte_scanning import Bytes
from phrasescore.table.phrase_table import INSPECTED_LINES, TableFormat
from phrasescore.table.scanning import SOURCE, TARGET, compare_phrases

Positions: TypeAlias = NDArray[np.int64]
# bytes, (lines, 6) columns, and (runs + 1,) first lines of runs with the same source
_Runs: TypeAlias = tuple[Bytes, Positions, Positions]


def check_reordering(path: str | Path) -> None:
    """Check the beginning of a reordering table before its phrase table takes hours.

    A pipe is not checked, because it cannot be read again.

    Raises:
        InputError: The file cannot be read, or is not a reordering table.
    """
    if can_be_read_again(path):
        next(
            read_source_runs(path, INSPECTED_LINES, format_of=TableFormat.from_reordering_lines),
            None,
        )


def prune_reordering(
    reordering: str | Path, output: str | Path, phrase_table: str | Path
) -> LineCounts:
    """Copy the lines of a reordering table whose pairs are in a phrase table.

    Args:
        reordering: A plain or gzip reordering table with source and target, sorted.
        output: The cut table; gzip if the name ends in ``.gz``.
        phrase_table: A plain or gzip phrase table, sorted.

    Raises:
        InputError: A table cannot be read, breaks its format or is not sorted.
        SettingsError: The output cannot be written.
    """
    pairs = _Pairs(read_source_runs(phrase_table))

    def work(block: TableBlock, counts: LineCounts) -> tuple[bytes, LineCounts]:
        kept = pairs.find(block)
        left = counts.kept + int(np.count_nonzero(kept))
        return chosen_lines(block, kept), LineCounts(counts.lines + len(block), left)

    stream = BlockStream(
        [reordering],
        None,
        lambda _, done: read_source_runs(reordering, format_of=TableFormat.from_reordering_lines),
        work,
        LineCounts(),
        what="cutting the reordering table",
        unit="lines",
    )
    return stream.write(output).counts


def chosen_lines(block: TableBlock, chosen: NDArray[np.bool_]) -> bytes:
    """Return the bytes of the chosen lines."""
    data = np.frombuffer(block.text, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if len(ends) < len(block):
        ends = np.append(ends, len(data))
    return data[np.repeat(chosen, np.diff(ends, prepend=0))].tobytes()


class _Pairs:
    """The pairs of a sorted table, which is read forward as pairs are looked up."""

    def __init__(self, blocks: Iterator[TableBlock]) -> None:
        self._blocks = blocks
        self._block = next(blocks, None)
        self._run = 0

    def find(self, wanted: TableBlock) -> NDArray[np.bool_]:
        """Return (lines,) bool: whether the pair of each line is in the table.

        Each call must look up later sources than the previous one.
        """
        found = np.zeros(len(wanted), np.bool_)
        run = 0
        while self._block is not None and run < len(wanted.run_offsets) - 1:
            here = self._block
            run, self._run = _match(
                (wanted.data, wanted.spans, wanted.run_offsets),
                (here.data, here.spans, here.run_offsets),
                run,
                self._run,
                found,
            )
            if self._run == len(here.run_offsets) - 1:
                self._block, self._run = next(self._blocks, None), 0
        return found


@compiled
def _match(
    wanted: _Runs, table: _Runs, run: int, table_run: int, found: NDArray[np.bool_]
) -> tuple[int, int]:
    """Walk over two lists of runs until one ends; return the position in each.

    Args:
        wanted: The lines to look up.
        table: The lines to search.
        run: The first run to look up.
        table_run: The first run to search.
        found: (lines,) set to True where the table has a line's pair.
    """
    wanted, table, found = borrowed((wanted, table, found))
    data, spans, offsets = wanted
    other, other_spans, other_offsets = table
    while run < len(offsets) - 1 and table_run < len(other_offsets) - 1:
        begin, other_begin = offsets[run], other_offsets[table_run]
        order = compare_phrases(data, spans[begin], other, other_spans[other_begin], SOURCE)
        if order == 0:
            targets = other_spans[other_begin : other_offsets[table_run + 1]]
            ordered = _are_ordered(other, targets)
            for line in range(begin, offsets[run + 1]):
                found[line] = _has_target(data, spans[line], other, targets, ordered)
        if order <= 0:
            run += 1
        if order >= 0:
            table_run += 1
    return run, table_run


@compiled
def _are_ordered(data: Bytes, rows: Positions) -> bool:
    """Return whether the targets of some lines are sorted, as Moses writes them."""
    for line in range(1, len(rows)):
        if compare_phrases(data, rows[line], data, rows[line - 1], TARGET) < 0:
            return False
    return True


@compiled
def _has_target(data: Bytes, row: Positions, other: Bytes, rows: Positions, ordered: bool) -> bool:
    """Return whether one of the lines ``rows`` of ``other`` has the target of a line."""
    low, high = 0, len(rows)
    # binary search in sorted targets; otherwise `middle` is `low`, a linear scan
    while low < high:
        middle = (low + high) // 2 if ordered else low
        order = compare_phrases(data, row, other, rows[middle], TARGET)
        if order == 0:
            return True
        if order > 0 or not ordered:
            low = middle + 1
        else:
            high = middle
    return False
