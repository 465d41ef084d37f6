"""Reads phrase tables for the analyses: probabilities, and uniform random samples."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from phrasescore.table.block import TableBlock

Item = TypeVar("Item")

# a table's digits are rounded, so a probability of 1 may be written slightly above 1
_MAX_PROBABILITY = 1.0001


def probabilities(block: TableBlock, column: int) -> NDArray[np.float64]:
    """Return (lines,): the score ``column``, counted from 1, of each line.

    Raises:
        SettingsError: The table has no such score.
        PhraseTableError: A score is above 1.
    """
    values = block.score_column(column)
    above = np.flatnonzero(values > _MAX_PROBABILITY)
    if len(above):
        row = int(above[0])
        problem = f"score {column} is {values[row]:g}, which is not a probability"
        raise block.error(row, problem, "choose another score")
    return values


class LowestItems(Generic[Item]):
    """Keeps those items of a stream that have the lowest keys; among equal keys, the first items.

    With random keys, the kept items are a uniform sample without replacement.

    Args:
        limit: Number of items to keep.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[tuple[float, Item]] = []  # sorted by keys

    def candidates(self, keys: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return rows of a block whose keys ``(n,)`` are finite and low enough to be added."""
        is_full = len(self._kept) == self._limit
        rows = np.flatnonzero(keys < (self._kept[-1][0] if is_full else math.inf))
        return rows[np.argsort(keys[rows], kind="stable")[: self._limit]]

    def add(self, keys: NDArray[np.float64], items: Iterable[Item]) -> None:
        """Add the candidates of the next block of the stream, (n,) keys and n items."""
        self._kept += zip(keys.tolist(), items, strict=True)
        # the sort is stable: items with equal keys stay in the order of the stream
        self._kept.sort(key=operator.itemgetter(0))
        del self._kept[self._limit :]

    def items(self) -> list[Item]:
        """Return the kept items, the lowest key first."""
        return [item for _, item in self._kept]
