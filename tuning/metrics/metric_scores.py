"""Corpus BLEU, chrF, TER and mixtures of them, from summed statistics.

The statistics add up over sentences, so that a search needs arrays only.
Columns of a statistics matrix: the 9 of BLEU (``BleuStatistics.matrix``) and, unless BLEU is all
there is, 3 for each of chrF's 6 orders (candidate, reference, match) and 2 for TER (edits,
reference words, both times the number of references). Scores are fractions; TER may make the
mixture negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu.statistics import COLUMNS as BLEU_COLUMNS
from moses_integration.bleu.statistics import (
    BleuStatistics,
    bleu_of_sums,
    sentence_bleu,
)
from phrasescore.compiled import compiled
from tuning.metrics.metric_settings import MetricName, Objective

CHRF_ORDERS = 6
TER_AT = BLEU_COLUMNS + 3 * CHRF_ORDERS
ALL_COLUMNS = TER_AT + 2
# chrF weighs recall twice as much as precision, as sacrebleu does by default
_BETA_SQUARED = 4.0


def _score_of_sums(sums: Any, shares: Any) -> float:
    """Return the objective of (columns,) float64 summed statistics, given the three shares."""
    score = 0.0
    matches = sums[0] * sums[2] * sums[4] * sums[6]
    if matches > 0:
        # what ``bleu_of_sums`` computes with logarithms: roots are quick
        score = math.sqrt(math.sqrt(matches / (sums[1] * sums[3] * sums[5] * sums[7])))
        if sums[1] < sums[8]:
            score *= math.exp(1.0 - sums[8] / sums[1])
    if len(sums) == BLEU_COLUMNS:
        return score
    precision = recall = chrf = 0.0
    orders = 0
    # in sacrebleu's order of operations
    for at in range(BLEU_COLUMNS, TER_AT, 3):
        if sums[at] > 0 and sums[at + 1] > 0:
            precision += sums[at + 2] / sums[at]
            recall += sums[at + 2] / sums[at + 1]
            orders += 1
    if precision + recall > 0:
        precision /= orders
        recall /= orders
        chrf = (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)
    ter = 1.0 if sums[TER_AT] > 0 else 0.0
    if sums[TER_AT + 1] > 0:
        ter = sums[TER_AT] / sums[TER_AT + 1]
    return shares[0] * score + shares[1] * chrf + shares[2] * (1.0 - ter)


# for compiled callers; a single score is not worth compiling it
score_of_sums = compiled(_score_of_sums)


def objective_score(objective: Objective, sums: Iterable[float]) -> float:
    """Return the objective of (columns,) summed statistics."""
    # Python's arithmetic is quicker with its own numbers than with numpy's
    return float(_score_of_sums([float(value) for value in sums], objective.shares))


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
    return _chrf(counts) if metric == "chrf" else _ter(counts)


def _chrf(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chrF of (..., 18) sums, in sacrebleu's order of operations."""
    precision, recall, orders = np.zeros((3, *counts.shape[:-1]))
    for at in range(0, 3 * CHRF_ORDERS, 3):
        candidate, reference, match = np.moveaxis(counts[..., at : at + 3], -1, 0)
        some = (candidate > 0) & (reference > 0)
        precision += np.where(some, match / np.where(some, candidate, 1), 0.0)
        recall += np.where(some, match / np.where(some, reference, 1), 0.0)
        orders += some
    some = precision + recall > 0
    precision /= np.where(some, orders, 1)
    recall /= np.where(some, orders, 1)
    divisor = np.where(some, _BETA_SQUARED * precision + recall, 1)
    return (1 + _BETA_SQUARED) * precision * recall / divisor


def _ter(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return TER of (..., 2) sums."""
    edits, words = counts[..., 0], counts[..., 1]
    return np.where(words > 0, edits / np.where(words > 0, words, 1), edits > 0)


def sentence_scores(statistics: NDArray[np.int16], objective: Objective) -> NDArray[np.float64]:
    """Return (N,) the objective of each of (N, K) candidates, with BLEU smoothed by adding one."""
    bleu = sentence_bleu(BleuStatistics.from_matrix(statistics[:, columns_of("bleu")]))
    if objective.is_bleu:
        return bleu
    chrf = metric_scores("chrf", statistics[:, columns_of("chrf")])
    ter = metric_scores("ter", statistics[:, columns_of("ter")])
    return objective.bleu * bleu + objective.chrf * chrf + objective.ter * (1 - ter)
