"""Passes over the pairs that are learnt from, in memory that does not grow with them.

A large table is gone through in stretches. Each is made of many short runs of pairs from all over
the table, so that its batches are nearly as mixed as if all pairs had been shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phrasescore.training.batches import Indices, Plan
from phrasescore.training.evaluation import lengths_of
from phrasescore.training.held_out import Remainder
from phrasescore.training.training_pairs import TrainingPairs

STRETCH = 1 << 21  # pairs, at most
_RUN = 1 << 10  # pairs that stay together


@dataclass(frozen=True)
class PlannedBatch:
    """A batch of a pass.

    Attributes:
        rows: ``(B,)`` which pairs.
        words: Their target words, with a </s> for each.
        words_per_batch: What the batches of its stretch have on average.
        is_last: Whether the pass ends with it.
    """

    rows: Indices
    words: int
    words_per_batch: float
    is_last: bool


class Passes:
    """All passes of a run; each depends on the seed and its number alone.

    Args:
        pairs: All pairs.
        rows: Which of them are learnt from.
        plan: Cuts pairs into batches.
        size: Pairs of average length in a batch.
        seed: For the orders.

    Attributes:
        words: Target words of a pass, with a </s> for each pair.
    """

    def __init__(
        self, pairs: TrainingPairs, rows: Remainder, plan: Plan, size: int, seed: int
    ) -> None:
        self._pairs, self._rows, self._plan, self._size, self._seed = pairs, rows, plan, size, seed
        parts = (rows[first : first + STRETCH] for first in range(0, len(rows), STRETCH))
        self.words = len(rows) + sum(int(pairs.target.lengths(part).sum()) for part in parts)

    def batches(self, number: int, done: int = 0) -> Iterator[PlannedBatch]:
        """Yield the batches of a pass, from 0, without the first that are done."""
        rng = np.random.default_rng([self._seed, number])
        runs = np.arange(-(-len(self._rows) // _RUN))
        if len(self._rows) > STRETCH:
            runs = rng.permutation(runs)
        for first in range(0, len(runs), STRETCH // _RUN):
            rows = self._rows_of(runs[first : first + STRETCH // _RUN])
            source, target = lengths_of(self._pairs, rows)
            plan = self._plan(source, target, self._size, rng)
            average = (int(target.sum()) + len(target)) / max(1, len(plan))
            ends = first + STRETCH // _RUN >= len(runs)
            for at in range(done, len(plan)):
                words = int(target[plan[at]].sum()) + len(plan[at])
                yield PlannedBatch(rows[plan[at]], words, average, ends and at == len(plan) - 1)
            done = max(0, done - len(plan))

    def _rows_of(self, runs: Indices) -> Indices:
        """Return the rows of some runs, one after the other."""
        places = (runs[:, None] * _RUN + np.arange(_RUN)).ravel()
        return self._rows[places[places < len(self._rows)]]
