"""Batch MIRA on k-best lists (Cherry and Foster 2012).

For each sentence the hope (high model score, high BLEU) is to beat the fear (high model score, low
BLEU) by the difference of their BLEU; the weights move the least they must, but at most by C. BLEU
of a candidate is computed on top of decaying statistics of the hopes before it. The weights are
averaged over all updates, and of the averages after each epoch the one that scores best wins.
Constants and order of events are those of Moses's ``kbmira``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.line_search import combine
from tuning.optimizers.optimizer import Problem, Solution, Weights, written
from tuning.optimizers.problem_checks import defect_of, prepare

_REFERENCE_LENGTH = 8


@dataclass(frozen=True)
class Mira:
    """Settings of batch MIRA.

    Args:
        epochs: How often all sentences are visited.
        slack: The largest step, C in the paper.
        decay: What the background statistics keep after every sentence.
    """

    epochs: int = 60
    slack: float = 0.01
    decay: float = 0.999

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the best of the averaged weights after each epoch, or else the start weights."""
        problem, region, notes = prepare(problem)
        start_score = problem.score(problem.start)
        shares = problem.objective.shares
        state = _State(problem)
        best, best_score, best_epoch = problem.start, start_score, 0
        sentences = np.flatnonzero(np.diff(problem.pool.starts) > 0)
        for epoch in range(1, self.epochs + 1):
            rng.shuffle(sentences)
            arrays = (state.weights, state.total, state.background, state.updates)
            learn(problem.pool, sentences, problem.free, self.slack, self.decay, shares, *arrays)
            inside = np.clip(state.average(), problem.lower, problem.upper)
            average = written(inside, scalable=bool(region.scalable[0]))
            score = problem.score(average)
            if score > best_score and not defect_of(average, region):
                best, best_score, best_epoch = average, score, epoch
        if not best_epoch:
            notes.append("no epoch found better weights: the start weights stay")
        effort = {"best epoch": best_epoch, "updates": float(state.updates[0])}
        return Solution(best, best_score, start_score, tuple(notes), effort)


class _State:
    """Weights now, their sum over all updates (the start counts as one), background, updates."""

    def __init__(self, problem: Problem) -> None:
        self.weights = problem.start.copy()
        self.total = problem.start.copy()
        self.background = np.ones(problem.pool.statistics.shape[1])
        self.updates = np.ones(1)

    def average(self) -> Weights:
        return self.total / self.updates[0]


@njit(cache=True, nogil=True)
def _worth(statistics: Any, background: Any, shares: Any, sums: Any) -> float:
    """The score of a candidate on its background, times the reference length of both."""
    for column in range(len(sums)):
        sums[column] = background[column] + statistics[column]
    return score_of_sums(sums, shares) * sums[_REFERENCE_LENGTH]


@njit(cache=True, nogil=True)
def _hope_and_fear(
    pool: PoolArrays, sentence: int, weights: Any, background: Any, shares: Any
) -> tuple[int, int, float]:
    """Return hope, fear (each the first of equals) and how much better the hope is."""
    begin, end = pool.starts[sentence], pool.starts[sentence + 1]
    scores = np.empty(end - begin)
    combine(pool.features, begin, end, weights, scores)
    sums = np.empty(len(background))
    hope = fear = begin
    best_hope = best_fear = -np.inf
    hope_worth = fear_worth = 0.0
    for i in range(end - begin):
        worth = _worth(pool.statistics[begin + i], background, shares, sums)
        if scores[i] + worth > best_hope:
            best_hope, hope, hope_worth = scores[i] + worth, begin + i, worth
        if scores[i] - worth > best_fear:
            best_fear, fear, fear_worth = scores[i] - worth, begin + i, worth
    return hope, fear, hope_worth - fear_worth


@njit(cache=True, nogil=True)
def _update(
    pool: PoolArrays, pair: tuple[int, int, float], free: Any, slack: float, weights: Any
) -> bool:
    """Move the weights until hope beats fear by its margin; tell whether they moved."""
    hope, fear, gap = pair
    difference = np.empty(len(weights))
    margin = norm = 0.0
    for feature in range(len(weights)):
        better = np.float64(pool.features[feature, hope])
        difference[feature] = better - pool.features[feature, fear]
        margin += weights[feature] * difference[feature]
        norm += free[feature] * difference[feature] ** 2
    loss = gap - margin
    if gap <= 0.0 or loss <= 0.0 or norm == 0.0:
        return False
    step = min(slack, loss / norm)
    for feature in range(len(weights)):
        weights[feature] += free[feature] * step * difference[feature]
    return True


@njit(cache=True, nogil=True)
def learn(
    pool: PoolArrays,
    sentences: Any,
    free: Any,
    slack: float,
    decay: float,
    shares: Any,
    weights: Any,
    total: Any,
    background: Any,
    updates: Any,
) -> None:
    """Visit sentences in order; the last four arguments are the state, and change.

    Args:
        pool: The candidates.
        sentences: Which sentences, in which order.
        free: (F,) which weights may change.
        slack: The largest step.
        decay: What the background keeps.
        shares: (3,) of the objective's metrics.
        weights: (F,) now.
        total: (F,) the sum of weights over all updates.
        background: (K,) decaying statistics of hopes.
        updates: One number, how many weights ``total`` sums.
    """
    for sentence in sentences:
        pair = _hope_and_fear(pool, sentence, weights, background, shares)
        hope, fear, _ = pair
        if hope == fear:
            continue
        if _update(pool, pair, free, slack, weights):
            for feature in range(len(weights)):
                total[feature] += weights[feature]
            updates[0] += 1
        for column in range(len(background)):
            background[column] = decay * background[column] + pool.statistics[hope, column]
