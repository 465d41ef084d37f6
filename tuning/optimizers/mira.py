"""Batch MIRA on k-best lists (Cherry and Foster 2012).

In each sentence, two candidates are chosen: the hope (high model score, high BLEU) and the fear
(high model score, low BLEU). The hope's model score should exceed the fear's by at least the
difference of their BLEU. The weights move along hope minus fear by the smallest step that achieves
this, at most C. The BLEU of a sentence is computed on top of a background: decaying statistics of
the hopes chosen so far. After each epoch, the average of the weights over all updates is scored;
the best average is the result. Constants and order of operations are as in Moses's ``kbmira``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phrasescore.compiled import borrowed, compiled
from tuning.metrics.metric_scores import score_of_sums
from tuning.optimizers.candidate_pool import Flags, Floats, Indices, PoolArrays, combine
from tuning.optimizers.optimizer import Problem, Solution, Weights, prepare, rounded

_EPOCHS = 60  # visits to each sentence
_SLACK = 0.01  # the maximum step, C in the paper
_DECAY = 0.999  # the factor on the background statistics after each sentence
_REFERENCE_LENGTH = 8


def run_mira(problem: Problem, rng: np.random.Generator) -> Solution:
    """Return the best epoch's averaged weights, or the start weights if no epoch beats them."""
    problem, region, notes = prepare(problem)
    start_score = problem.score(problem.start)
    shares = np.array(problem.objective.shares)
    state = MiraState.from_start(problem.pool, problem.start)
    best, best_score = problem.start, start_score
    sentences = np.flatnonzero(np.diff(problem.pool.starts) > 0)
    for _ in range(_EPOCHS):
        rng.shuffle(sentences)
        learn(problem.pool, sentences, problem.free, _SLACK, shares, state)
        average = rounded(state.average(), scalable=region.scalable)
        score = problem.score(average)
        if score > best_score and not region.defect_of(average):
            best, best_score = average, score
    if best is problem.start:
        notes.append("no epoch found better weights: the start weights are kept")
    return Solution(best, best_score, start_score, tuple(notes))


class MiraState(NamedTuple):
    """The state of the learner, and its scratch arrays.

    Attributes:
        weights: (F,) the current weights.
        total: (F,) the sum of the start weights and of the weights after each update.
        updates: (1,) the number of weight vectors in ``total``.
        background: (K,) the decaying statistics of past hopes.
        scores: Scratch: the model scores of one sentence's candidates.
        sums: (K,) scratch: the statistics of one candidate plus the background.
        difference: (F,) scratch: the features of the hope minus those of the fear.
    """

    weights: Weights
    total: Weights
    updates: Indices
    background: Floats
    scores: Floats
    sums: Floats
    difference: Floats

    @classmethod
    def from_start(cls, pool: PoolArrays, start: Weights) -> MiraState:
        """Return the state before the first update, given (F,) start weights."""
        longest, columns = int(np.diff(pool.starts).max()), pool.statistics.shape[1]
        return cls(
            start.copy(), start.copy(), np.ones(1, np.int64), np.ones(columns),
            np.empty(longest), np.empty(columns), np.empty(len(start)),
        )  # fmt: skip

    def average(self) -> Weights:
        """Return the (F,) mean of the weight vectors so far."""
        return self.total / self.updates[0]


@compiled
def _hope_and_fear(
    pool: PoolArrays, begin: int, end: int, shares: Floats, state: MiraState
) -> tuple[int, int, float]:
    """Return the rows of hope and fear (ties: the first), and the difference of their worth.

    To compute a candidate's worth, its statistics are added to the background. The worth is the
    objective of the sum, multiplied by the sum's reference length to reach the scale of model
    scores.
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
    sentences: Indices,
    free: Flags,
    slack: float,
    shares: Floats,
    state: MiraState,
) -> None:
    """Make one pass over sentences, and update the weights if hope and fear are too close in score.

    Args:
        pool: The candidates.
        sentences: The sentences in the order to visit.
        free: (F,) whether each weight may change.
        slack: The maximum step.
        shares: (metrics,) the share of each metric.
        state: The learner, updated in place.
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
        # the smallest step along d = hope - fear that raises w d to gap is (gap - w d) / |d|²
        loss = gap - margin
        if gap > 0.0 and loss > 0.0 and norm > 0.0:
            step = min(slack, loss / norm)
            for feature in range(state.weights.size):
                state.weights[feature] += free[feature] * step * state.difference[feature]
                state.total[feature] += state.weights[feature]
            state.updates[0] += 1
        for column in range(state.background.size):
            state.background[column] *= _DECAY
            state.background[column] += pool.statistics[hope, column]
