"""What every optimiser takes and gives: a problem in arrays, weights and the score they reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tuning.metrics.metric_scores import objective_score
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.points import point_at

_DIGITS = 9
Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Find weights under which the best candidates of a pool score high.

    Args:
        pool: The candidates of S sentences, with F features.
        objective: What is maximised.
        start: (F,) the weights to begin with.
        free: (F,) bool, which of them may change.
        lower: (F,) the least each may be; minus infinity where there is no bound.
        upper: (F,) the most.
        names: A name for every weight, for messages.
    """

    pool: PoolArrays
    objective: Objective
    start: Weights
    free: NDArray[np.bool_]
    lower: Weights
    upper: Weights
    names: tuple[str, ...]

    @property
    def is_scalable(self) -> bool:
        """Whether a common factor on all weights changes nothing."""
        unbounded = np.isinf(self.lower[self.free]).all() and np.isinf(self.upper[self.free]).all()
        return bool(unbounded and not self.start[~self.free].any())

    def statistics_of(self, weights: Weights) -> NDArray[np.int64]:
        """Return (K,) the summed statistics of the best candidates, the first of equals."""
        winners = point_at(self.pool, np.asarray(weights, np.float64)).winners
        return self.pool.statistics[winners[winners >= 0]].sum(0, dtype=np.int64)

    def score(self, weights: Weights) -> float:
        """Return the objective of the best candidates."""
        return objective_score(self.objective, self.statistics_of(weights))


@dataclass(frozen=True)
class Solution:
    """What an optimiser found.

    Args:
        weights: (F,) as they will be written, with nine significant digits.
        score: The objective of the best candidates under exactly these weights.
        start_score: The same under the weights it began with.
        notes: What the user should know.
        effort: Counts such as lines searched, for logs.
    """

    weights: Weights
    score: float
    start_score: float
    notes: tuple[str, ...] = ()
    effort: Mapping[str, float] = field(default_factory=dict)


class Optimizer(Protocol):
    """An optimiser; its settings are its own."""

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the best weights found; the same generator state gives the same ones.

        Raises:
            NBestError: There is nothing to choose from.
            SettingsError: The start weights or bounds make no sense.
        """
        ...


def written(weights: Weights, *, scalable: bool) -> Weights:
    """Return weights as they are written: nine significant digits, more than float32 has.

    Args:
        weights: (F,).
        scalable: Whether to bring the sum of their absolute values to 1.
    """
    total = np.abs(weights).sum()
    if scalable and total > 0:
        weights = weights / total
    return np.array([float(f"{weight:.{_DIGITS}g}") for weight in weights])
