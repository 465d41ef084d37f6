"""Batch MIRA on k-best lists (Cherry and Foster 2012).

For each sentence the hope (high model score, high BLEU) is to beat the fear (high model score, low
BLEU) by the difference of their BLEU; the weights move the least they must, but at most by C. BLEU
of a candidate is computed on top of decaying statistics of the hopes before it. The weights are
averaged over all updates, and of the averages after each epoch the one that scores best wins.
Constants and order of events are those of Moses's ``kbmira``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import PoolArrays, combine
from tuning.optimizers.optimizer import Problem, Solution, Weights, defect_of, prepare, rounded

_REFERENCE_LENGTH = 8


@dataclass(frozen=True)
class Mira:
    """Settings of batch MIRA.

    Args:
        epochs: The number of visits to each sentence.
        slack: The largest step, C in the paper.
        decay: The share of the background statistics that stays after each sentence.
    """

    epochs: int = 60
    slack: float = 0.01
    decay: float = 0.999

    def optimize(self, problem: Problem, rng: np.random.Generator) -> Solution:
        """Return the best of the averaged weights after each epoch, or else the start weights."""
        problem, region, notes = prepare(problem)
        start_score = problem.score(problem.start)
        shares = np.array(problem.objective.shares)
        state = MiraState.from_start(problem.pool, problem.start)
        best, best_score = problem.start, start_score
        sentences = np.flatnonzero(np.diff(problem.pool.starts) > 0)
        for _ in range(self.epochs):
            rng.shuffle(sentences)
            learn(problem.pool, sentences, problem.free, self.slack, self.decay, shares, state)
            inside = np.clip(state.average(), problem.lower, problem.upper)
            average = rounded(inside, scalable=region.scalable)
            score = problem.score(average)
            if score > best_score and not defect_of(average, region):
                best, best_score = average, score
        if best is problem.start:
            notes.append("no epoch found better weights: the start weights stay")
        return Solution(best, best_score, start_score, tuple(notes))


class MiraState(NamedTuple):
    """The state of the learner, and arrays to work in.

    Attributes:
        weights: (F,) the current weights.
        total: (F,) their sum over all updates; the start counts as one.
        updates: (1,) the number of weight vectors that ``total`` sums.
        background: (K,) decaying statistics of hopes.
        scores: The model scores of one sentence's candidates.
        sums: (K,) statistics of one on its background.
        difference: (F,) features of the hope minus those of the fear.
    """

    weights: Weights
    total: Weights
    updates: NDArray[np.int64]
    background: NDArray[np.float64]
    scores: NDArray[np.float64]
    sums: NDArray[np.float64]
    difference: NDArray[np.float64]

    @classmethod
    def from_start(cls, pool: PoolArrays, start: Weights) -> MiraState:
        """Begin with (F,) weights."""
        most, columns = int(np.diff(pool.starts).max()), pool.statistics.shape[1]
        return cls(
            start.copy(), start.copy(), np.ones(1, np.int64), np.ones(columns),
            np.empty(most), np.empty(columns), np.empty(len(start)),
        )  # fmt: skip

    def average(self) -> Weights:
        """Return (F,) the mean of all weights so far."""
        return self.total / self.updates[0]


@compiled
def _hope_and_fear(
    pool: PoolArrays, begin: int, end: int, shares: NDArray[np.float64], state: MiraState
) -> tuple[int, int, float]:
    """Return hope, fear (each the first of equals), and by how much the hope is worth more.

    The worth of a candidate is the score of its statistics plus the background, times their
    reference length.
    """
    combine(pool.features, begin, end, state.weights, state.scores)
    hope = fear = begin
    best_hope = best_fear = -np.inf
    hope_worth = fear_worth = 0.0
    for row in range(begin, end):
        for column in range(state.sums.size):
            state.sums[column] = state.background[column] + pool.statistics[row, column]
        worth = score_of_sums(state.sums, shares) * state.sums[_REFERENCE_LENGTH]
        score = state.scores[row - begin]
        if score + worth > best_hope:
            best_hope, hope, hope_worth = score + worth, row, worth
        if score - worth > best_fear:
            best_fear, fear, fear_worth = score - worth, row, worth
    return hope, fear, hope_worth - fear_worth


@compiled
def learn(
    pool: PoolArrays,
    sentences: NDArray[np.int64],
    free: NDArray[np.bool_],
    slack: float,
    decay: float,
    shares: NDArray[np.float64],
    state: MiraState,
) -> None:
    """Visit sentences: move the weights until the hope of each beats its fear by their margin.

    Args:
        pool: The candidates.
        sentences: The sentences, in the order of the visits.
        free: (F,) whether each weight may change.
        slack: The largest step.
        decay: The share of the background that stays.
        shares: (metrics,) the shares of the objective.
        state: The learner; changes.
    """
    pool, sentences, free, shares, state = borrowed((pool, sentences, free, shares, state))
    for sentence in sentences:
        begin, end = pool.starts[sentence], pool.starts[sentence + 1]
        hope, fear, gap = _hope_and_fear(pool, begin, end, shares, state)
        if hope == fear:
            continue
        margin = norm = 0.0
        for feature in range(state.weights.size):
            better = np.float64(pool.features[feature, hope])
            state.difference[feature] = better - pool.features[feature, fear]
            margin += state.weights[feature] * state.difference[feature]
            norm += free[feature] * state.difference[feature] ** 2
        loss = gap - margin
        if gap > 0.0 and loss > 0.0 and norm > 0.0:
            step = min(slack, loss / norm)
            for feature in range(state.weights.size):
                state.weights[feature] += free[feature] * step * state.difference[feature]
                state.total[feature] += state.weights[feature]
            state.updates[0] += 1
        for column in range(state.background.size):
            state.background[column] *= decay
            state.background[column] += pool.statistics[hope, column]
