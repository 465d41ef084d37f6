"""Reading phrase tables for the analyses: probabilities, counts, uniform random samples."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import PhraseTableError
from phrasescore.scoring.probability_column import FLOOR_LN
from phrasescore.table.block import TableBlock
from phrasescore.table.phrase_table import phrase_tokens

Item = TypeVar("Item")

# a table's digits are rounded, so a probability of 1 may be written slightly above 1
_MAX_PROBABILITY = 1.0001
# splitmix64: the increment, the two multipliers of its finaliser, and its shifts
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def probabilities(block: TableBlock, column: int) -> NDArray[np.float64]:
    """Return (lines,) score number ``column`` of each line, counted from 1.

    Raises:
        SettingsError: The table has no such score.
        PhraseTableError: A score is above 1.
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
        target: Occurrences of the target phrase in phrase extraction.
        source: Occurrences of the source phrase.
        pair: Occurrences of the pair; ``None`` where the table has only two counts.
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
    """Return (n,) the extraction counts of the source phrases of some lines, NaN without counts.

    Args:
        block: Lines of a table.
        rows: (n,) rows of the block.
    """
    found = (Counts.parse(block.entry(row).counts) for row in rows.tolist())
    return np.array([math.nan if each is None else each.source for each in found], np.float64)


def random_numbers(lines: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return (N,) random numbers in [0, 1) that depend only on the seed and the line number.

    The lines with the lowest numbers are a uniform sample without replacement, and the sample does
    not depend on how a table is cut into blocks. The generator is splitmix64, applied to the seed
    and to the line number.

    Args:
        lines: (N,) line numbers.
        seed: A number from 0.
    """
    key = _mixed(np.array([seed], np.uint64) * _GOLDEN + _GOLDEN)
    mixed = _mixed((lines.astype(np.uint64) + np.uint64(1)) * _GOLDEN + key)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> _SHIFTS[0])) * _MIX_1
    values = (values ^ (values >> _SHIFTS[1])) * _MIX_2
    return values ^ (values >> _SHIFTS[2])


class LowestItems(Generic[Item]):
    """The items with the lowest keys of a stream; of equal keys the first in the stream.

    Args:
        limit: Number of items to keep.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._bound = limit, math.inf
        self._kept: list[tuple[float, Item]] = []

    def candidates(self, keys: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows of a block whose keys (n,) are low enough to add; never infinite ones."""
        rows = np.flatnonzero(keys < self._bound)
        return rows[np.argsort(keys[rows], kind="stable")[: self._limit]]

    def add(self, keys: NDArray[np.float64], items: Iterable[Item]) -> None:
        """Add the candidates of the next block of the stream, (n,) keys and n items."""
        self._kept += zip(keys.tolist(), items, strict=True)
        # sorting only when the list has doubled keeps the cost per item constant
        if len(self._kept) >= 2 * self._limit:
            self._drop_surplus()
            self._bound = self._kept[-1][0]

    def items(self) -> list[Item]:
        """Return the kept items, the lowest key first."""
        self._drop_surplus()
        return [item for _, item in self._kept]

    def _drop_surplus(self) -> None:
        # the sort is stable, so of equal keys the item that came first stays first
        self._kept.sort(key=operator.itemgetter(0))
        del self._kept[self._limit :]
