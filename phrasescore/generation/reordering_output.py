"""The lexicalised reordering table of a generated phrase table.

A decoder gives a pair without a line here the score 0, better than that of any other. So a new pair
gets the mean over its source's lines, which is a distribution over orientations again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.runs.journal import JournaledOutputs
from phrasescore.runs.progress import Progress
from phrasescore.table.block import TableBlock, read_source_runs
from phrasescore.table.phrase_table import SEPARATOR, reordering_format


@dataclass(frozen=True)
class ReorderingCounts:
    """What was written to a reordering table.

    Args:
        kept: Lines of the old one.
        estimated: Lines of new pairs.
        without: Pairs without a line, because the old table has none of their source.
    """

    kept: int = 0
    estimated: int = 0
    without: int = 0

    def __str__(self) -> str:
        text = f"reordering table: {self.kept:,} lines as they were, {self.estimated:,} estimated"
        return text + (f"; {self.without:,} pairs have none" if self.without else "")


def generate_reordering(
    old: str | Path, output: str | Path, phrase_table: str | Path
) -> ReorderingCounts:
    """Write a line for each pair of a phrase table.

    Args:
        old: A plain or gzip reordering table with source and target, sorted.
        output: Where to; gzip if the name ends in ``.gz``.
        phrase_table: A plain or gzip phrase table, sorted.

    Raises:
        InputError: A table cannot be read, breaks its format or is not sorted.
        SettingsError: The output cannot be written.
    """
    kept = estimated = without = 0
    known = _Sources(read_source_runs(old, format_of=reordering_format))
    # quickly made again, so nothing is kept of an interrupted run
    with (
        JournaledOutputs([output], None) as made_lines,
        Progress("writing the reordering table", unit="pairs") as progress,
    ):
        for block in read_source_runs(phrase_table):
            lines: list[bytes] = []
            for source, targets in _runs(block):
                own, mean = known.find(source)
                new = [target for target in targets if target not in own]
                without += 0 if own else len(new)
                estimated += len(new) if own else 0
                kept += len(targets) - len(new)
                for target in targets:
                    if own:
                        made = SEPARATOR.join((source, target, mean)) + b"\n"
                        lines.append(own.get(target, made))
            made_lines.append([b"".join(lines)], {})
            progress.advance(len(block))
        made_lines.finish()
    return ReorderingCounts(kept, estimated, without)


class _Sources:
    """The lines of a sorted reordering table, asked for source by source in its order."""

    def __init__(self, blocks: Iterator[TableBlock]) -> None:
        self._runs = (run for block in blocks for run in _lines_and_means(block))
        self._next = next(self._runs, None)

    def find(self, source: bytes) -> tuple[dict[bytes, bytes], bytes]:
        """Return the line of each target of a source, and the scores of a new one."""
        while self._next is not None and self._next[0] + SEPARATOR < source + SEPARATOR:
            self._next = next(self._runs, None)
        if self._next is None or self._next[0] != source:
            return {}, b""
        return self._next[1:]


def _runs(block: TableBlock) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield each source of a block and its targets, as they are written."""
    spans = block.spans[:, :4].tolist()
    offsets = block.run_offsets.tolist()
    for begin, end in itertools.pairwise(offsets):
        source = block.text[spans[begin][0] : spans[begin][1]]
        yield source, [block.text[row[2] : row[3]] for row in spans[begin:end]]


def _lines_and_means(block: TableBlock) -> Iterator[tuple[bytes, dict[bytes, bytes], bytes]]:
    """Yield each source of a reordering table with its lines and the mean of their scores."""
    lines = [line + b"\n" for line in block.text.removesuffix(b"\n").split(b"\n")]
    means = _means(block)
    for number, (source, targets) in enumerate(_runs(block)):
        begin = int(block.run_offsets[number])
        own = dict(zip(targets, lines[begin : begin + len(targets)], strict=True))
        yield source, own, b" ".join(b"%.6g" % value for value in means[number].tolist())


def _means(block: TableBlock) -> NDArray[np.float64]:
    """(runs, scores) the arithmetic means over the lines of each source."""
    sums = np.add.reduceat(block.score_values, block.run_offsets[:-1], axis=0)
    means: NDArray[np.float64] = sums / np.diff(block.run_offsets)[:, None]
    return means
