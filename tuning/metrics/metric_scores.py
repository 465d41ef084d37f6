"""Corpus metrics and mixtures of them: statistics of candidates, and scores of summed statistics.

The statistics add up over sentences, so an optimiser needs only arrays. A matrix of statistics has
these columns, or only the columns of BLEU if BLEU is the only metric:

* BLEU: 9 (``bleu.py``)
* chrF: 18, three for each of 6 orders (n-grams of the candidate, n-grams of the reference, matches)
* every other metric: 2; the score is the first column divided by the second. TER: edits and
  reference words, both times the number of references, which makes them whole. Accuracy: correct
  lines and all lines. Error rates of characters and words: edits and the length of the closest
  reference.

Columns of metrics that are not requested are 0. Scores are fractions; large error rates can make a
mixture negative.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu import bleu, bleu_of_sums
from phrasescore.compiled import compiled
from tuning.metrics.metric_settings import (
    LOWER_IS_BETTER,
    METRICS,
    MetricName,
    Objective,
)

CHRF_ORDERS = 6
TER_AT = BLEU_COLUMNS + 3 * CHRF_ORDERS
ALL_COLUMNS = TER_AT + 2 * len(METRICS[2:])
_ACCURACY = METRICS.index("accuracy")
# chrF weighs recall twice as much as precision, as sacrebleu does by default
_BETA_SQUARED = 4.0


@compiled
def _chrf(sums: NDArray[np.float64]) -> float:
    """Return chrF of (18,) sums; the order of operations is sacrebleu's, for equal rounding."""
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


@compiled
def _quotient(sums: NDArray[np.float64]) -> float:
    """Divide the first sum by the second; 0 / 0 is 0, and other quotients by 0 are 1."""
    if sums[1] > 0:
        return sums[0] / sums[1]
    return 1.0 if sums[0] > 0 else 0.0


@compiled
def score_of_sums(sums: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the objective of (columns,) summed statistics, given the share of each metric."""
    score = bleu(sums)
    if len(sums) == BLEU_COLUMNS:
        return score
    score = shares[0] * score + shares[1] * _chrf(sums[BLEU_COLUMNS:TER_AT])
    for metric in range(2, shares.size):
        if shares[metric] > 0:
            begin = TER_AT + 2 * (metric - 2)
            rate = _quotient(sums[begin : begin + 2])
            score += shares[metric] * (rate if metric == _ACCURACY else 1.0 - rate)
    return score


def objective_score(objective: Objective, sums: Iterable[float]) -> float:
    """Return the objective of (columns,) summed statistics."""
    return float(score_of_sums(np.array(sums, np.float64), np.array(objective.shares)))


@compiled
def _fill_scores(is_chrf: bool, rows: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    for row in range(scores.size):
        scores[row] = _chrf(rows[row]) if is_chrf else _quotient(rows[row])


def columns_of(metric: MetricName) -> slice:
    """Return the columns of a metric."""
    if metric in ("bleu", "chrf"):
        return slice(0, BLEU_COLUMNS) if metric == "bleu" else slice(BLEU_COLUMNS, TER_AT)
    begin = TER_AT + 2 * (METRICS.index(metric) - 2)
    return slice(begin, begin + 2)


def metric_scores(metric: MetricName, sums: ArrayLike) -> NDArray[np.float64]:
    """Return the scores of summed statistics in one metric; error rates are not inverted.

    Args:
        metric: One of ``METRICS``.
        sums: (..., k) the sums in the metric's own columns, see ``columns_of``.

    Returns:
        (...,) the scores as fractions.
    """
    if metric == "bleu":
        return bleu_of_sums(sums)
    counts = np.asarray(sums, np.float64)
    scores = np.empty(counts.shape[:-1])
    rows = np.ascontiguousarray(counts.reshape(-1, counts.shape[-1]))
    _fill_scores(metric == "chrf", rows, scores.reshape(-1))
    return scores


def sentence_scores(statistics: NDArray[np.int16], objective: Objective) -> NDArray[np.float64]:
    """Return (N,) each candidate's objective, given (N, K) statistics; BLEU is add-one smoothed."""
    bleu = bleu_of_sums(statistics[:, columns_of("bleu")], added=1.0)
    if objective.is_bleu:
        return bleu
    scores = objective.bleu * bleu
    for metric, share in zip(METRICS[1:], objective.shares[1:], strict=True):
        if share:
            worth = metric_scores(metric, statistics[:, columns_of(metric)])
            scores += share * (1 - worth if metric in LOWER_IS_BETTER else worth)
    return scores
