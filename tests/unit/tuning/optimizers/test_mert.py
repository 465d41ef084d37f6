"""MERT on pools whose best weights are known."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.support.candidate_pools import crossings, of_quality, pool_of, problem_of, random_pool
from tuning.metrics.metric_scores import ALL_COLUMNS
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.mert import run_mert


@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_all_directions_is_found(seed: int) -> None:
    """With two weights only their angle matters, and MERT finds the best angle."""
    rng = np.random.default_rng(seed)
    problem = problem_of(random_pool(rng, 10, 10, 2, whole=False), [1.0, 0.1])
    scores = []
    for start, direction in (([1.0, 0.0], [0.0, 1.0]), ([-1.0, 0.0], [0.0, 1.0])):
        half = problem_of(problem.pool, start)
        edges = crossings(problem.pool, half.start, np.array(direction))
        tries = [edges[0] - 1, *((edges[:-1] + edges[1:]) / 2), edges[-1] + 1]
        scores += [half.score(half.start + x * np.array(direction)) for x in tries]
    solution = run_mert(problem, np.random.default_rng(seed), restarts=20)
    assert solution.score == pytest.approx(max(scores), abs=1e-9)
    assert problem.score(solution.weights) == solution.score


def test_threads_change_nothing() -> None:
    """One thread and three threads give equal weights."""
    problem = problem_of(random_pool(np.random.default_rng(4), 20, 20, 4, whole=False), [1.0] * 4)
    one, three = (
        run_mert(problem, np.random.default_rng(1), restarts=6, threads=threads)
        for threads in (1, 3)
    )
    assert one.weights.tolist() == three.weights.tolist()


def test_never_worse_than_the_start() -> None:
    """If the start is optimal, it is returned."""
    rows = [((1.0, 0.0), of_quality(10)), ((0.0, 1.0), of_quality(2))]
    problem = problem_of(pool_of([rows, rows]), [0.9, 0.1])
    solution = run_mert(problem, np.random.default_rng(1), restarts=2)
    assert solution.weights.tolist() == [0.9, 0.1]
    assert solution.score == solution.start_score == pytest.approx(1.0)


def test_scalable_weights_are_written_with_a_sum_of_one() -> None:
    """If a common factor changes nothing, absolute values are scaled to sum to 1."""
    pool = random_pool(np.random.default_rng(4), 20, 20, 3, whole=False)
    problem = problem_of(pool, [1.0, 1.0, 1.0])
    solution = run_mert(problem, np.random.default_rng(1), restarts=2)
    assert np.abs(solution.weights).sum() == pytest.approx(1.0, abs=1e-7)
    frozen = dataclasses.replace(problem, free=np.array([False, True, True]))
    assert not frozen.is_scalable
    assert run_mert(frozen, np.random.default_rng(1), restarts=2).weights[0] == 1.0


@pytest.mark.parametrize(
    "shares",
    [{"chrf": 1.0}, {"ter": 1.0}, {"bleu": 1.0, "ter": 1.0}, {"accuracy": 1.0}, {"cer": 1.0}],
)
def test_other_objectives_are_climbed_too(shares: dict[str, float]) -> None:
    """MERT improves chrF, TER and mixtures, and reports the score that the weights reach."""
    pool = random_pool(np.random.default_rng(6), 15, 15, 3, whole=False, columns=ALL_COLUMNS)
    problem = problem_of(pool, [1.0, 1.0, 1.0], Objective.from_shares(shares))
    solution = run_mert(problem, np.random.default_rng(1), restarts=4)
    assert solution.score > solution.start_score
    assert problem.score(solution.weights) == solution.score
