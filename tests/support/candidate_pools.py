"""Small pools of candidates, and their exact optima by exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moses_integration.bleu import COLUMNS
from tuning.metrics.metric_scores import ALL_COLUMNS, objective_score
from tuning.metrics.metric_settings import METRICS, Objective
from tuning.optimizers.candidate_pool import CandidatePool, PoolArrays
from tuning.optimizers.optimizer import Problem, Weights

BLEU = Objective()


def of_quality(tenths: int) -> list[int]:
    """Return statistics of a ten-word candidate; corpus BLEU is the mean of all ``tenths`` / 10."""
    return [tenths, 10] * 4 + [10]


def pool_of(sentences: Sequence[Sequence[tuple[Sequence[float], Sequence[int]]]]) -> PoolArrays:
    """Make a pool from (features, statistics) of each candidate of each sentence."""
    flat = [candidate for sentence in sentences for candidate in sentence]
    starts = np.cumsum([0, *map(len, sentences)])
    return PoolArrays(
        np.array([features for features, _ in flat], np.float32).T.copy(),
        np.array([statistics for _, statistics in flat], np.int16),
        starts.astype(np.int64),
    )


def random_pool(
    rng: np.random.Generator,
    sentences: int = 6,
    candidates: int = 8,
    features: int = 3,
    *,
    whole: bool = True,
    columns: int = COLUMNS,
) -> PoolArrays:
    """Make a pool without duplicates, with random quality and integer or Gaussian features."""
    pool = CandidatePool(sentences, features, columns)
    count = sentences * candidates
    values = (
        rng.integers(-4, 5, (count, features)) if whole else rng.normal(0, 1, (count, features))
    )
    statistics = np.array([of_quality(int(q)) for q in rng.integers(1, 11, count)])
    if columns == ALL_COLUMNS:
        wanted, found = rng.integers(10, 20, (2, count, 6))
        match = np.minimum(np.minimum(wanted, found), rng.integers(0, 20, (count, 6)))
        chrf = np.stack([found, wanted, match], -1).reshape(count, -1)
        rates = [[rng.integers(0, 12, count), np.full(count, 10)] for _ in METRICS[2:]]
        statistics = np.hstack([statistics, chrf, np.concatenate(rates).T])
    numbers = np.repeat(np.arange(sentences, dtype=np.int32), candidates)
    pool.add(numbers, values.astype(np.float32), statistics.astype(np.int32))
    return pool.arrays


def problem_of(pool: PoolArrays, start: Sequence[float], objective: Objective = BLEU) -> Problem:
    """Make a problem in which all weights are free."""
    weights = np.array(start, np.float64)
    free = np.ones(len(start), bool)
    names = tuple(f"F{i}" for i in range(len(start)))
    return Problem(pool, objective, weights, free, names)


def crossings(pool: PoolArrays, weights: Weights, direction: Weights) -> NDArray[np.float64]:
    """Return, in rising order, all steps at which two candidates of a sentence score equally."""
    found: list[float] = []
    scores, slopes = weights @ pool.features, direction @ pool.features
    for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
        for i in range(begin, end):
            for j in range(i + 1, end):
                if slopes[i] != slopes[j]:
                    found.append(float((scores[j] - scores[i]) / (slopes[i] - slopes[j])))
    return np.unique(np.round(found, 9))


def score_at(problem: Problem, direction: Weights, x: float) -> float:
    """Return the score at a step; if candidates tie, the first wins."""
    pool = problem.pool
    heights = problem.start @ pool.features + x * (direction @ pool.features)
    pairs = zip(pool.starts[:-1], pool.starts[1:], strict=True)
    chosen = [begin + int(np.argmax(heights[begin:end])) for begin, end in pairs if begin < end]
    return objective_score(problem.objective, pool.statistics[chosen].sum(0, dtype=np.int64))


def best_by_trying(
    problem: Problem, direction: Weights, low: float = -np.inf, high: float = np.inf
) -> float:
    """Return the best score along a line, from one step in each interval between crossings.

    At a crossing two candidates tie, so the crossings themselves are not tried.
    """
    edges = crossings(problem.pool, problem.start, direction)
    inside = edges[(edges > low) & (edges < high)]
    first, last = (edges[0], edges[-1]) if len(edges) else (0.0, 0.0)
    every = np.array([max(low, first - 1), *inside, min(high, last + 1)])
    tries = (every[:-1] + every[1:]) / 2
    return max(score_at(problem, direction, x) for x in tries)
