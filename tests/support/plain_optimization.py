"""The compiled functions of tuning in numpy, to read and to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import COLUMNS as BLEU_COLUMNS
from tuning.metrics.metric_scores import CHRF_ORDERS, TER_AT
from tuning.optimizers.annealing import LEAST_LN
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.line_search import NARROW, step_into

# chrF weighs recall twice as much as precision
_BETA_SQUARED = 4.0


def plain_bleu(sums: NDArray[np.float64]) -> float:
    """Compute ``bleu`` without smoothing in numpy (Papineni et al. 2002, section 2.3)."""
    matches, totals, reference_words = sums[0:8:2], sums[1:8:2], sums[8]
    if not matches.all():
        return 0.0
    brevity = min(0.0, 1 - reference_words / totals[0])
    return float(np.exp(np.log(matches / totals).mean() + brevity))


def plain_score_of_sums(sums: NDArray[np.float64], shares: Sequence[float]) -> float:
    """Compute ``score_of_sums`` in numpy."""
    score = plain_bleu(sums[:BLEU_COLUMNS])
    if len(sums) == BLEU_COLUMNS:
        return score
    hypothesis, reference, match = sums[BLEU_COLUMNS:TER_AT].reshape(CHRF_ORDERS, 3).T
    both = (hypothesis > 0) & (reference > 0)
    chrf = 0.0
    if match[both].sum() > 0:
        precision = (match[both] / hypothesis[both]).mean()
        recall = (match[both] / reference[both]).mean()
        chrf = (1 + _BETA_SQUARED) * precision * recall / (_BETA_SQUARED * precision + recall)
    ter, accuracy, cer, wer = (
        part / whole if whole else float(part > 0) for part, whole in sums[TER_AT:].reshape(-1, 2)
    )
    worths = score, chrf, 1 - ter, accuracy, 1 - cer, 1 - wer
    return float(sum(share * worth for share, worth in zip(shares, worths, strict=False)))


def plain_envelope(
    slopes: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> tuple[list[int], list[float]]:
    """Return the winners from left to right and the breakpoints between them, by sorting.

    >>> plain_envelope(np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    ([0, 1, 2], [-1.0, 1.0])
    """
    order = sorted(range(len(slopes)), key=lambda i: (slopes[i], -intercepts[i], i))
    winners: list[int] = []
    breakpoints: list[float] = []
    for line in order:
        if winners and slopes[line] == slopes[winners[-1]]:
            continue  # parallel and lower, or equal and later
        while winners:
            last = winners[-1]
            x = (intercepts[last] - intercepts[line]) / (slopes[line] - slopes[last])
            if not breakpoints or x > breakpoints[-1]:
                break
            winners.pop()  # the line is nowhere above both neighbours
            breakpoints.pop()
        if winners:
            breakpoints.append(float(x))
        winners.append(line)
    return winners, breakpoints


def plain_line_search(
    pool: PoolArrays,
    weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    shares: Sequence[float],
) -> tuple[float, float]:
    """Search a line without bounds, like ``LineSearch``, in numpy."""
    intercepts, slopes = weights @ pool.features, direction @ pool.features
    changes: list[tuple[float, NDArray[np.float64]]] = []
    sums = np.zeros(pool.statistics.shape[1])
    for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
        if begin == end:
            continue
        winners, breakpoints = plain_envelope(slopes[begin:end], intercepts[begin:end])
        statistics = pool.statistics[begin:end][winners].astype(np.float64)
        sums += statistics[0]
        changes += zip(breakpoints, np.diff(statistics, axis=0), strict=True)
    changes.sort(key=lambda change: change[0])
    where = [x for x, _ in changes]
    if not where:
        return 0.0, plain_score_of_sums(sums, shares)
    reach = max(abs(where[0]), abs(where[-1])) or 1.0
    narrow = NARROW * (where[3 * len(where) // 4] - where[len(where) // 4])
    edges = [-np.inf, *where, np.inf]
    choices = []
    for place in range(len(where) + 1):
        left, right = edges[place], edges[place + 1]
        if right - left > narrow:
            score = plain_score_of_sums(sums, shares)
            step = step_into(left, right, reach, left_is_bound=False, right_is_bound=False)
            choices.append((-score, max(left, -right, 0.0), step))
        if place < len(where):
            sums = sums + changes[place][1]
    best = min(choices, key=lambda choice: choice[:2])
    return best[2], -best[0]


def plain_expected_score(
    pool: PoolArrays, weights: NDArray[np.float64], sharpness: float, shares: Sequence[float]
) -> float:
    """Compute the score of an ``ExpectedScore`` in numpy."""
    sums = np.zeros(pool.statistics.shape[1])
    for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
        if begin < end:
            scores = sharpness * (weights @ pool.features[:, begin:end])
            gaps = scores - scores.max()
            likely = np.where(gaps > LEAST_LN, np.exp(gaps), 0.0)
            sums += likely / likely.sum() @ pool.statistics[begin:end]
    return plain_score_of_sums(sums, shares)
