"""How often phrases were extracted, where a table says so: its fifth column, read leniently."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.table.block import TableBlock
from phrasescore.table.byte_scanning import (
    BLANKS,
    DASH,
    LINE_FEED,
    column_after,
    find_byte,
    parse_decimal,
    token_begin,
)
from phrasescore.table.phrase_table import GAP, phrase_tokens
from phrasescore.table.scanning import SCORES_END

# columns from the end of the scores to the counts
_TO_COUNTS = 2


@dataclass(frozen=True)
class Counts:
    """The counts of a pair, in Moses's order.

    Args:
        target: How often the target phrase was extracted.
        source: How often the source phrase was.
        pair: How often the two were extracted together; ``None`` where only two counts stand.
    """

    target: float
    source: float
    pair: float | None

    @classmethod
    def parse(cls, column: bytes) -> Counts | None:
        """Read the fifth column of a line; ``None`` if it is no two or three numbers from 0.

        >>> Counts.parse(b"4 242 1")
        Counts(target=4.0, source=242.0, pair=1.0)
        """
        with contextlib.suppress(ValueError):
            numbers = [float(token) for token in phrase_tokens(column)]
            if len(numbers) in (2, 3) and all(0 <= number < math.inf for number in numbers):
                return cls(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None)
        return None


def source_counts(block: TableBlock, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n,) how often the source phrases of some lines were extracted.

    NaN where `Counts.parse` finds none; the last digits of a number that is not whole may differ.

    Args:
        block: Some lines of a table.
        rows: (n,) which of them.
    """
    counts = np.full(len(rows), np.nan)
    _read_source_counts(block.data, block.spans[rows, SCORES_END], counts)
    return counts


@compiled
def _read_source_counts(data: Any, scores_ends: Any, counts: Any) -> None:
    """Fill in the second number of column 5, if two or three stand there and nothing else."""
    data, scores_ends, counts = borrowed((data, scores_ends, counts))
    text_end = len(data) - len(GAP)
    for row in range(len(scores_ends)):
        line_end = find_byte(data, scores_ends[row], text_end, LINE_FEED)
        at, end = column_after(data, scores_ends[row], line_end, _TO_COUNTS)
        found, second = 0, 0.0
        at = token_begin(data, at, end, BLANKS)
        while at < end and 0 <= found <= 3:
            value, stop, _ = parse_decimal(data, at, end)
            after = token_begin(data, stop, end, BLANKS)
            # no number, one that goes on as something else, or one below 0
            if stop == at or (after == stop and after < end) or data[at] == DASH:
                found = -1
            else:
                found += 1
                second = value if found == 2 else second
            at = after
        if found == 2 or found == 3:
            counts[row] = second
