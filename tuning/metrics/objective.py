"""What is maximised: corpus BLEU, chrF, 1 - TER, or a weighted mixture of them.

Each is computed from statistics that add up over sentences, so that a search needs arrays only.
Columns of a statistics matrix: the 9 of BLEU (``BleuStatistics.matrix``) and, unless BLEU is all
there is, 3 for each of chrF's 6 orders (candidate, reference, match) and 2 for TER (edits,
reference words, both times the number of references). Scores are fractions; TER may make the
mixture negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu.statistics import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu.statistics import (
    BleuStatistics,
    bleu_of_row,
    bleu_of_sums,
    sentence_bleu,
)
from phrasescore.errors import SettingsError, did_you_mean

MetricName = Literal["bleu", "chrf", "ter"]
METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")
CHRF_ORDERS = 6
TER_AT = BLEU_COLUMNS + 3 * CHRF_ORDERS
ALL_COLUMNS = TER_AT + 2
# chrF weighs recall twice as much as precision, as sacrebleu does by default
_BETA_SQUARED = 4.0


@dataclass(frozen=True)
class Objective:
    """A weighted mixture of metrics; each share is at least 0, together they are 1.

    Args:
        bleu: Share of corpus BLEU.
        chrf: Share of chrF.
        ter: Share of 1 - TER.
    """

    bleu: float = 1.0
    chrf: float = 0.0
    ter: float = 0.0

    @classmethod
    def of(cls, shares: Mapping[str, float]) -> Objective:
        """Build a mixture from shares that need not add up to 1 yet; none at all means BLEU.

        Raises:
            SettingsError: A metric is unknown, a share is negative, or all are 0.

        >>> Objective.of({"bleu": 3, "chrf": 1})
        Objective(bleu=0.75, chrf=0.25, ter=0.0)
        """
        for name, share in shares.items():
            if name not in METRICS:
                raise SettingsError(
                    f"unknown metric {name}{did_you_mean(name, METRICS)}",
                    remedy="choose among bleu, chrf and ter",
                )
            if not 0 <= share < float("inf"):
                raise SettingsError(f"the share of {name} is {share}, expected 0 or more")
        if not shares:
            return cls()
        total = sum(shares.values())
        if total == 0:
            raise SettingsError("all shares of the objective are 0", remedy="give one a share")
        return cls(**{name: shares.get(name, 0.0) / total for name in METRICS})

    @property
    def shares(self) -> NDArray[np.float64]:
        """(3,) the shares of BLEU, chrF and 1 - TER."""
        return np.array([self.bleu, self.chrf, self.ter])

    @property
    def is_bleu(self) -> bool:
        """Whether BLEU is all there is."""
        return self.bleu == 1.0

    @property
    def columns(self) -> int:
        """How many statistics each candidate has."""
        return BLEU_COLUMNS if self.is_bleu else ALL_COLUMNS

    def of_sums(self, sums: ArrayLike) -> float:
        """Return the score of (columns,) summed statistics."""
        return float(score_of_sums(np.asarray(sums, np.float64), self.shares))

    def __str__(self) -> str:
        if self.is_bleu:
            return "bleu"
        parts = zip(METRICS, self.shares.tolist(), strict=True)
        return " + ".join(f"{share:g} {name}" for name, share in parts if share)


@njit(cache=True, nogil=True)
def _chrf(sums: Any) -> float:
    """Return chrF of (18,) sums, in sacrebleu's order of operations."""
    precision = recall = 0.0
    orders = 0
    for at in range(0, 3 * CHRF_ORDERS, 3):
        if sums[at] > 0 and sums[at + 1] > 0:
            precision += sums[at + 2] / sums[at]
            recall += sums[at + 2] / sums[at + 1]
            orders += 1
    if precision + recall == 0:
        return 0.0
    precision /= orders
    recall /= orders
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)


@njit(cache=True, nogil=True)
def _ter(sums: Any) -> float:
    if sums[1] > 0:
        return sums[0] / sums[1]
    return 1.0 if sums[0] > 0 else 0.0


@njit(cache=True, nogil=True)
def _of_rows(is_chrf: bool, rows: Any) -> Any:
    scores = np.empty(len(rows))
    for i in range(len(rows)):
        scores[i] = _chrf(rows[i]) if is_chrf else _ter(rows[i])
    return scores


@njit(cache=True, nogil=True)
def score_of_sums(sums: Any, shares: Any) -> float:
    """Return the objective of (columns,) float64 summed statistics, given (3,) shares."""
    bleu = bleu_of_row(sums)
    if len(sums) == BLEU_COLUMNS:
        return bleu
    chrf, ter = _chrf(sums[BLEU_COLUMNS:TER_AT]), _ter(sums[TER_AT:])
    return shares[0] * bleu + shares[1] * chrf + shares[2] * (1.0 - ter)


def columns_of(metric: str) -> slice:
    """Return which statistics a metric needs."""
    begins = {"bleu": slice(0, BLEU_COLUMNS), "chrf": slice(BLEU_COLUMNS, TER_AT)}
    return begins.get(metric, slice(TER_AT, ALL_COLUMNS))


def metric_scores(metric: str, sums: ArrayLike) -> NDArray[np.float64]:
    """Return the scores of summed statistics in one metric, TER itself and not 1 - TER.

    Args:
        metric: ``bleu``, ``chrf`` or ``ter``.
        sums: (..., k), those that ``columns_of`` the metric picks.

    Returns:
        (...,), as fractions.
    """
    counts = np.asarray(sums, np.float64)
    if metric == "bleu":
        return bleu_of_sums(counts)
    scores = _of_rows(metric == "chrf", np.ascontiguousarray(counts.reshape(-1, counts.shape[-1])))
    return scores.reshape(counts.shape[:-1])


def sentence_scores(statistics: NDArray[np.int16], objective: Objective) -> NDArray[np.float64]:
    """Return (N,) the objective of each of (N, K) candidates, with BLEU smoothed by adding one."""
    bleu = sentence_bleu(BleuStatistics.from_matrix(statistics[:, columns_of("bleu")]))
    if objective.is_bleu:
        return bleu
    chrf, ter = (metric_scores(name, statistics[:, columns_of(name)]) for name in ("chrf", "ter"))
    return objective.bleu * bleu + objective.chrf * chrf + objective.ter * (1 - ter)
