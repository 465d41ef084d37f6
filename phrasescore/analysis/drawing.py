"""Drawing at random from what streams past: in flat memory, whatever the blocks.

Each line of a table has a random number of its own, which depends on the seed and on the number of
the line alone. Those of the least numbers are a uniform sample without replacement.
"""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def random_numbers(lines: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return (N,) numbers in [0, 1), those of ``lines`` under a seed: splitmix64, keyed twice.

    Args:
        lines: (N,) which numbers are wanted.
        seed: From 0.
    """
    key = _mixed(np.array([seed], np.uint64) * _GOLDEN + _GOLDEN)
    mixed = _mixed((lines.astype(np.uint64) + np.uint64(1)) * _GOLDEN + key)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> _SHIFTS[0])) * _MIX_1
    values = (values ^ (values >> _SHIFTS[1])) * _MIX_2
    return values ^ (values >> _SHIFTS[2])


class Least(Generic[Item]):
    """The items of the least numbers among all that were offered; of equal ones the first.

    Args:
        most: How many to keep.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # the greatest number first, and of equal ones the last
        self._heap: list[tuple[float, int, Item]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def below(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return which of some numbers, in their order, are worth an offer as things stand.

        Infinite ones never are.
        """
        rows = np.flatnonzero(numbers < self.bound)
        if len(rows) > self._most:
            rows = np.sort(rows[np.argsort(numbers[rows], kind="stable")[: self._most]])
        return rows

    @property
    def bound(self) -> float:
        """What a number must be below to be kept."""
        return -self._heap[0][0] if len(self._heap) == self._most else np.inf

    def offer(self, number: float, place: int, item: Item) -> None:
        """Keep an item if its number is one of the least.

        Args:
            number: What decides.
            place: Its place among all items, which decides between equal numbers.
            item: What to keep.
        """
        entry = (-number, -place, item)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        elif entry[:2] > self._heap[0][:2]:
            heapq.heapreplace(self._heap, entry)

    def items(self) -> list[Item]:
        """Return what is kept, the least number first."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]
