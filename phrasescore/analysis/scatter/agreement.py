"""How far two ln p of the same pairs agree, over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.scatter.pairs import PairScores

NEAR, FAR = 1.0, 5.0  # nats


@dataclass(frozen=True)
class Agreement:
    """Figures over N pairs.

    Args:
        pairs: N.
        pearson: The correlation of the two ln p; ``None`` where one of them is the same for all.
        spearman: That of their ranks, equal values sharing the mean of theirs.
        near: The share of pairs whose ln p differ by at most 1 nat.
        far: The share of those whose differ by more than 5.
        above: The share of those to which the model gives more than the table.
        mean_table: The mean of ln p by the table.
        mean_model: That by the model.
    """

    pairs: int
    pearson: float | None
    spearman: float | None
    near: float
    far: float
    above: float
    mean_table: float
    mean_model: float

    @classmethod
    def of(cls, scores: PairScores) -> Agreement:
        """Compare the two ln p of at least one pair."""
        difference = scores.model - scores.table
        return cls(
            len(difference),
            _correlation(scores.table, scores.model),
            _correlation(_ranks(scores.table), _ranks(scores.model)),
            float((np.abs(difference) <= NEAR).mean()),
            float((np.abs(difference) > FAR).mean()),
            float((difference > 0).mean()),
            float(scores.table.mean()),
            float(scores.model.mean()),
        )

    def __str__(self) -> str:
        return (
            f"correlation {_figure(self.pearson)}, of ranks {_figure(self.spearman)}\n"
            f"{self.near:.1%} of the pairs differ by at most {NEAR:g} nat, {self.far:.1%} by more "
            f"than {FAR:g}; to {self.above:.1%} the model gives more than the table"
        )


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N,) the rank of each value, the mean of theirs for equal ones."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places])


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float | None:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])
