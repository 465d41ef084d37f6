"""Lines of a phrase table as the analyses read them: probabilities, counts, uniform samples."""

from __future__ import annotations

import contextlib
import heapq
import math
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError
from phrasescore.scoring.probability_column import FLOOR_LN
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import phrase_tokens

Item = TypeVar("Item")

# digits were rounded when a table was written
_MAX_PROBABILITY = 1.0001
# splitmix64: the increment, the two multipliers of its finaliser, and its shifts
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def probabilities(block: TableBlock, column: int) -> NDArray[np.float64]:
    """Return (lines,) the score ``column``, counted from 1, of each line.

    Raises:
        SettingsError: The table has no such score.
        PhraseTableError: One is above 1.
    """
    values = block.score_column(column)
    above = np.flatnonzero(values > _MAX_PROBABILITY)
    if len(above):
        row = int(above[0])
        raise PhraseTableError(
            f"score {column} is {values[row]:g}, which is no probability",
            path=block.path,
            line=block.first_line + row,
            remedy="name another score",
        )
    return values


def logarithms(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) ln p of probabilities, at least Moses's floor of -100 and at most 0."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(p), FLOOR_LN, 0.0)


@dataclass(frozen=True)
class Counts:
    """The counts of a pair, in Moses's order.

    Args:
        target: How often the target phrase was extracted.
        source: How often the source phrase was.
        pair: How often the two were extracted together; ``None`` where the table has two counts.
    """

    target: float
    source: float
    pair: float | None

    @classmethod
    def parse(cls, column: bytes) -> Counts | None:
        """Read the fifth column of a line; ``None`` unless it holds two or three numbers from 0.

        >>> Counts.parse(b"4 242 1")
        Counts(target=4.0, source=242.0, pair=1.0)
        """
        with contextlib.suppress(ValueError):
            numbers = [float(token) for token in phrase_tokens(column)]
            if len(numbers) in (2, 3) and all(0 <= number < math.inf for number in numbers):
                return cls(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else None)
        return None


def source_counts(block: TableBlock, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n,) how often the source phrases of some lines were extracted, NaN without counts.

    Args:
        block: Some lines of a table.
        rows: (n,) which of them.
    """
    found = (Counts.parse(block.entry(row).counts) for row in rows.tolist())
    return np.array([math.nan if each is None else each.source for each in found], np.float64)


def random_numbers(lines: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return (N,) numbers in [0, 1) that depend on the seed and the line number alone.

    The lines with the lowest numbers are a uniform sample without replacement, whatever the blocks
    in which a table is read. The generator is splitmix64, applied to the seed and to the line.

    Args:
        lines: (N,) line numbers.
        seed: From 0.
    """
    key = _mixed(np.array([seed], np.uint64) * _GOLDEN + _GOLDEN)
    mixed = _mixed((lines.astype(np.uint64) + np.uint64(1)) * _GOLDEN + key)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> _SHIFTS[0])) * _MIX_1
    values = (values ^ (values >> _SHIFTS[1])) * _MIX_2
    return values ^ (values >> _SHIFTS[2])


class LowestItems(Generic[Item]):
    """The items with the lowest numbers among all that were offered; of equal ones the first.

    Args:
        limit: How many to keep.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # the highest number first, and of equal ones the last
        self._heap: list[tuple[float, int, Item]] = []

    def candidates(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return which of some numbers, in their order, are low enough to be offered now.

        Infinite numbers never are.
        """
        bound = -self._heap[0][0] if len(self._heap) == self._limit else np.inf
        rows = np.flatnonzero(numbers < bound)
        if len(rows) > self._limit:
            rows = np.sort(rows[np.argsort(numbers[rows], kind="stable")[: self._limit]])
        return rows

    def offer(self, number: float, place: int, item: Item) -> None:
        """Keep an item if its number is one of the lowest.

        Args:
            number: What decides.
            place: Its place among all items, which decides between equal numbers.
            item: What to keep.
        """
        entry = (-number, -place, item)
        if len(self._heap) < self._limit:
            heapq.heappush(self._heap, entry)
        elif entry[:2] > self._heap[0][:2]:
            heapq.heapreplace(self._heap, entry)

    def items(self) -> list[Item]:
        """Return the kept items, the lowest number first."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]
