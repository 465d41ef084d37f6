"""Appends the scores of another program to a phrase table: one number for each line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import CorpusError, InputError
from phrasescore.runs.stream import BlockStream, StreamReport
from phrasescore.scoring.block_scoring import ScoringCounts, with_columns
from phrasescore.scoring.probability_column import probability_texts
from phrasescore.table.block import TableBlock, read_blocks
from phrasescore.table.phrase_table import FLOOR_LN
from phrasescore.table.text_blocks import numbers_in

Scale = Literal["ln", "log10", "probability"]
# scale -> the smallest and the largest number, and their name
_RANGES: dict[Scale, tuple[float, float, str]] = {
    "ln": (-math.inf, 0, "the ln of a probability, which is at most 0"),
    "log10": (-math.inf, 0, "the log10 of a probability, which is at most 0"),
    "probability": (0, 1, "a probability from 0 to 1"),
}
_ROUNDING = 1e-6  # other programs' rounding can make a logarithm slightly larger than 0
_ONE_EACH = "give one number for each line of the table, in the order of its lines"


def append_given_scores(
    table: str, scores: str, output: str, scale: Scale, replace_column: int | None = None
) -> StreamReport[ScoringCounts]:
    """Write a table with the scores of a file as a new column, or in place of a column.

    Args:
        table: A plain or gzip phrase table, or ``-``.
        scores: A file with one number for each line of the table.
        output: The output; gzip if the name ends in ``.gz``; ``-`` is standard output.
        scale: Whether the numbers are ln p, log10 p or p.
        replace_column: The score to replace, counted from 1; ``None`` appends a score.

    Raises:
        InputError: A file cannot be read, the files have different numbers of lines, or a number is
            no probability in this scale.
        SettingsError: There is no such column, or the output cannot be written.
    """
    numbers = numbers_in(scores)

    def work(block: TableBlock, before: ScoringCounts) -> tuple[bytes, ScoringCounts]:
        ln_p = _ln_p(scores, block, numbers, scale)
        counts = ScoringCounts(
            lines=len(block),
            ln_p_sums=(float(np.maximum(ln_p, FLOOR_LN).sum()),),
            floor_hits=(int((ln_p <= FLOOR_LN).sum()),),
        )
        return with_columns(block, [probability_texts(ln_p)], replace_column), before + counts

    def refuse_more(_: Path, counts: ScoringCounts) -> None:
        if next(numbers, None) is not None:
            problem = f"more numbers than {table} has lines, which are {counts.lines:,}"
            raise InputError(problem, path=scores, remedy=_ONE_EACH)

    return BlockStream(
        [table, scores], None, lambda *_: read_blocks(table), work, ScoringCounts()
    ).write(output, refuse_more)


def _ln_p(
    path: str, block: TableBlock, numbers: Iterator[float], scale: Scale
) -> NDArray[np.float64]:
    """Return (lines,) ln p of the lines of a block, from the next numbers of the file ``path``."""
    values = np.fromiter(itertools.islice(numbers, len(block)), np.float64)
    if len(values) < len(block):
        problem = f"the file ends before line {block.first_line + len(values):,} of {block.path}"
        raise InputError(problem, path=path, remedy=_ONE_EACH)
    low, high, what = _RANGES[scale]
    wrong = (values < low) | (values > high + _ROUNDING)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CorpusError(
            f"{values[row]:g} is not {what}",
            path=path,
            line=block.first_line + row,
            remedy="correct the number, or give another --scores-are",
        )
    with np.errstate(divide="ignore"):
        ln_p: NDArray[np.float64] = np.log(values) if low == 0 else values
    return ln_p * math.log(10) if scale == "log10" else ln_p
