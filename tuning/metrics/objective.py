"""What is maximised: corpus BLEU, chrF, 1 - TER, or a weighted mixture of them.

Each is computed from statistics that add up over sentences, so that a search needs arrays only.
Columns of a statistics matrix: the 9 of BLEU (``BleuStatistics.matrix``) and, unless BLEU is all
there is, 3 for each of chrF's 6 orders (candidate, reference, match) and 2 for TER (edits,
reference words, both times the number of references). Scores are fractions; TER may make the
mixture negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu.statistics import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu.statistics import bleu_of_sums
from phrasescore.errors import SettingsError, did_you_mean

METRICS = ("bleu", "chrf", "ter")
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
def _bleu(sums: Any) -> float:
    matches = sums[0] * sums[2] * sums[4] * sums[6]
    if matches == 0:
        return 0.0
    totals = sums[1] * sums[3] * sums[5] * sums[7]
    score = np.sqrt(np.sqrt(matches / totals))
    if sums[1] < sums[8]:
        score *= np.exp(1.0 - sums[8] / sums[1])
    return score


@njit(cache=True, nogil=True)
def _chrf(sums: Any) -> float:
    precision = recall = 0.0
    orders = 0
    for order in range(CHRF_ORDERS):
        at = BLEU_COLUMNS + 3 * order
        if sums[at] > 0 and sums[at + 1] > 0:
            precision += sums[at + 2] / sums[at]
            recall += sums[at + 2] / sums[at + 1]
            orders += 1
    if precision + recall == 0:
        return 0.0
    return (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall) / orders


@njit(cache=True, nogil=True)
def _ter(sums: Any) -> float:
    if sums[TER_AT + 1] > 0:
        return sums[TER_AT] / sums[TER_AT + 1]
    return 1.0 if sums[TER_AT] > 0 else 0.0


@njit(cache=True, nogil=True)
def score_of_sums(sums: Any, shares: Any) -> float:
    """Return the objective of (columns,) float64 summed statistics, given (3,) shares."""
    if len(sums) == BLEU_COLUMNS:
        return _bleu(sums)
    return shares[0] * _bleu(sums) + shares[1] * _chrf(sums) + shares[2] * (1.0 - _ter(sums))


def plain_score_of_sums(sums: NDArray[np.float64], shares: Sequence[float]) -> float:
    """Say in numpy what ``score_of_sums`` does."""
    score = float(bleu_of_sums(sums[:BLEU_COLUMNS]))
    if len(sums) == BLEU_COLUMNS:
        return score
    hypothesis, reference, match = sums[BLEU_COLUMNS:TER_AT].reshape(CHRF_ORDERS, 3).T
    both = (hypothesis > 0) & (reference > 0)
    chrf = 0.0
    if match[both].sum() > 0:
        precision = (match[both] / hypothesis[both]).mean()
        recall = (match[both] / reference[both]).mean()
        chrf = (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)
    edits, words = sums[TER_AT:]
    ter = edits / words if words else float(edits > 0)
    return float(shares[0] * score + shares[1] * chrf + shares[2] * (1 - ter))
