"""Corpus BLEU, chrF, TER and mixtures of them, from summed statistics.

The statistics add up over sentences, so that a search needs arrays only.
Columns of a statistics matrix: the 9 of BLEU (``BleuStatistics.matrix``) and, unless BLEU is all
there is, 3 for each of chrF's 6 orders (candidate, reference, match) and 2 for TER (edits,
reference words, both times the number of references). Scores are fractions; TER may make the
mixture negative.
"""

from __future__ import annotations

from typing import Any

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
from tuning.metrics.metric_settings import MetricName, Objective

CHRF_ORDERS = 6
TER_AT = BLEU_COLUMNS + 3 * CHRF_ORDERS
ALL_COLUMNS = TER_AT + 2
# chrF weighs recall twice as much as precision, as sacrebleu does by default
_BETA_SQUARED = 4.0


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
    """Return the objective of (columns,) float64 summed statistics, given the three shares."""
    bleu = bleu_of_row(sums)
    if len(sums) == BLEU_COLUMNS:
        return bleu
    chrf, ter = _chrf(sums[BLEU_COLUMNS:TER_AT]), _ter(sums[TER_AT:])
    return shares[0] * bleu + shares[1] * chrf + shares[2] * (1.0 - ter)


def objective_score(objective: Objective, sums: ArrayLike) -> float:
    """Return the objective of (columns,) summed statistics."""
    return float(score_of_sums(np.asarray(sums, np.float64), objective.shares))


def columns_of(metric: MetricName) -> slice:
    """Return which statistics a metric needs."""
    begins = {"bleu": slice(0, BLEU_COLUMNS), "chrf": slice(BLEU_COLUMNS, TER_AT)}
    return begins.get(metric, slice(TER_AT, ALL_COLUMNS))


def metric_scores(metric: MetricName, sums: ArrayLike) -> NDArray[np.float64]:
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
    chrf = metric_scores("chrf", statistics[:, columns_of("chrf")])
    ter = metric_scores("ter", statistics[:, columns_of("ter")])
    return objective.bleu * bleu + objective.chrf * chrf + objective.ter * (1 - ter)
