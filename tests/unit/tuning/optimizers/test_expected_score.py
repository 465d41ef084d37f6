"""The expected score: its value, its gradient, and annealing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.support.candidate_pools import problem_of, random_pool
from tests.support.plain_optimization import plain_expected_score
from tuning.metrics.metric_scores import ALL_COLUMNS
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.annealing import ExpectedScore, anneal
from tuning.optimizers.optimizer import prepare
from tuning.optimizers.workers import ALONE, Workers

COLUMNS = [(9, Objective()), (ALL_COLUMNS, Objective(0.5, 0.3, 0.2))]


@pytest.mark.parametrize(("columns", "objective"), COLUMNS)
@pytest.mark.parametrize("sharpness", [0.1, 3.0, 50.0])
def test_the_compiled_score_is_the_plain_one(
    columns: int, objective: Objective, sharpness: float
) -> None:
    """The compiled expectation over likely candidates equals numpy's."""
    rng = np.random.default_rng(2)
    pool = random_pool(rng, 8, 12, 4, whole=False, columns=columns)
    weights = rng.normal(size=4)
    score = ExpectedScore(pool, objective, ALONE, sharpness, weights).score
    plain = plain_expected_score(pool, weights, sharpness, objective.shares)
    assert score == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize(("columns", "objective"), COLUMNS)
def test_the_gradient_is_that_of_small_differences(columns: int, objective: Objective) -> None:
    """The gradient equals central differences of each weight."""
    rng = np.random.default_rng(3)
    pool = random_pool(rng, 8, 12, 4, whole=False, columns=columns)
    weights = 0.3 * rng.normal(size=4)
    gradient = ExpectedScore(pool, objective, ALONE, 1.0, weights).gradient()
    for i, step in enumerate(np.eye(4) * 1e-5):
        above, below = (
            plain_expected_score(pool, weights + move, 1.0, objective.shares)
            for move in (step, -step)
        )
        assert gradient[i] == pytest.approx((above - below) / 2e-5, abs=1e-5)


@pytest.mark.parametrize(("columns", "objective"), COLUMNS)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_change_no_bit(columns: int, objective: Objective, threads: int) -> None:
    """Score and gradient have equal bits with any number of threads."""
    rng = np.random.default_rng(5)
    pool = random_pool(rng, 40, 12, 7, whole=False, columns=columns)
    pool = pool._replace(starts=np.insert(pool.starts, [0, 20, 41], pool.starts[[0, 20, 40]]))
    weights = rng.normal(size=7)
    alone = ExpectedScore(pool, objective, ALONE, 3.0, weights)
    with Workers(threads) as workers:

        def shared() -> tuple[float, bytes]:
            expected = ExpectedScore(pool, objective, workers, 3.0, weights)
            return expected.score, expected.gradient().tobytes()

        for _ in range(20):
            assert workers.run([shared]) == [(alone.score, alone.gradient().tobytes())]


def test_a_sharp_expectation_is_the_score_of_the_best() -> None:
    """With growing sharpness, the expected score approaches the score."""
    rng = np.random.default_rng(4)
    problem = problem_of(random_pool(rng, 8, 12, 4, whole=False), rng.normal(size=4).tolist())
    expected = ExpectedScore(problem.pool, problem.objective, ALONE, 1e5, problem.start)
    assert expected.score == pytest.approx(problem.score(problem.start), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_annealing_raises_the_expected_score(seed: int) -> None:
    """At the last sharpness, the result is better than the start; frozen weights are kept."""
    rng = np.random.default_rng(seed)
    problem = problem_of(random_pool(rng, 20, 12, 4, whole=False), [0.4, 0.3, 0.2, 0.1])
    frozen = dataclasses.replace(problem, free=np.array([True, True, True, False]))
    shares = problem.objective.shares
    for given in (problem, frozen):
        ready, region, _ = prepare(given)
        end = anneal(ready.pool, ready.start, region, problem.objective, ALONE)
        size = np.linalg.norm(end / region.spread) / np.linalg.norm(ready.start / region.spread)
        begin = ready.start * size
        sharpness = 50.0 / np.linalg.norm(end / region.spread)
        after, before = (
            plain_expected_score(ready.pool, weights, sharpness, shares) for weights in (end, begin)
        )
        assert after > before
    assert end[3] == 0.1
