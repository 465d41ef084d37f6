"""Random choices of one sentence, and the combinations of words they brought together."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """The choices behind one sentence.

    Only ``random.Random.random`` is used: it is the one method whose sequence for a given seed
    Python promises to keep from version to version.

    Args:
        seed: The same seed gives the same sentence on every machine and every Python.
    """

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)
        self.combinations: list[str] = []

    def chance(self, probability: float) -> bool:
        """Say yes with the given probability."""
        return self._source.random() < probability

    def choose(self, items: Sequence[Item]) -> Item:
        """Take one item, each as likely as the next."""
        return items[int(self._source.random() * len(items))]

    def weigh(self, items: Sequence[tuple[Item, float]]) -> Item:
        """Take one item with a probability proportional to its weight."""
        rest = self._source.random() * sum(weight for _, weight in items)
        for item, weight in items:
            rest -= weight
            if rest < 0:
                return item
        return items[-1][0]

    def shuffle(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in a random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self._source.random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order

    def note(self, *words: str) -> None:
        """Remember that these words met in this sentence; some meetings are held out."""
        self.combinations.append(" + ".join(words))
