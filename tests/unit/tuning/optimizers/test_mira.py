"""Compares batch MIRA with plain code for Cherry and Foster's algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from moses_integration.bleu import bleu_of_sums
from tests.support.candidate_pools import of_quality, pool_of, problem_of, random_pool
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import Floats, PoolArrays
from tuning.optimizers.mira import MiraState, learn, run_mira

SHARES = np.array(Objective().shares)


def plain_epoch(
    pool: PoolArrays, order: list[int], weights: Floats, background: Floats, slack: float
) -> tuple[Floats, Floats, list[Floats]]:
    """Visit each sentence once; return weights, background, and the weights of each update."""
    updates = []
    for sentence in order:
        part = slice(pool.starts[sentence], pool.starts[sentence + 1])
        features = pool.features[:, part].astype(np.float64)
        statistics = pool.statistics[part]
        sums = statistics + background
        worth = bleu_of_sums(sums) * sums[:, 8]
        hope = int(np.argmax(weights @ features + worth))
        fear = int(np.argmax(weights @ features - worth))
        if hope == fear:
            continue
        if worth[hope] > worth[fear]:
            difference = features[:, hope] - features[:, fear]
            loss = worth[hope] - worth[fear] - weights @ difference
            if loss > 0:
                weights = weights + min(slack, loss / (difference @ difference)) * difference
                updates.append(weights)
        background = 0.999 * background + statistics[hope]
    return weights, background, updates


@pytest.mark.parametrize("seed", range(6))
def test_epochs_are_those_of_the_plain_algorithm(seed: int) -> None:
    """Weights, background, average and number of updates agree after each epoch."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, 12, 9, 3, whole=False)
    weights, background = rng.normal(size=3), np.ones(9)
    total, count = weights.copy(), 1
    state = MiraState.from_start(pool, weights)
    for _ in range(3):
        order = rng.permutation(12)
        learn(pool, order, np.ones(3, bool), 0.01, SHARES, state)
        weights, background, updates = plain_epoch(pool, order.tolist(), weights, background, 0.01)
        total, count = total + sum(updates), count + len(updates)
        assert state.weights == pytest.approx(weights, abs=1e-9)
        assert state.total == pytest.approx(total, abs=1e-9)
        assert state.background == pytest.approx(background, abs=1e-9)
        assert state.updates[0] == count


def test_a_step_is_as_small_as_it_may_be() -> None:
    """A step is just long enough to close the gap, and at most C."""
    rows = [((1.0, 0.0), of_quality(9)), ((0.0, 1.0), of_quality(1))]
    pool = pool_of([rows])
    sums = np.array([row[1] for row in rows]) + 1.0
    gap = float(np.diff(bleu_of_sums(sums[::-1]) * sums[:, 8])[0])
    for slack, step in ((100.0, gap / 2), (0.01, 0.01)):
        state = MiraState.from_start(pool, np.zeros(2))
        learn(pool, np.array([0]), np.ones(2, bool), slack, SHARES, state)
        assert state.weights == pytest.approx([step, -step])


def test_hope_and_fear_meet() -> None:
    """If a feature is the quality itself, its weight rises and the best candidates are chosen."""
    rng = np.random.default_rng(1)
    rows = [
        [((float(quality), rng.normal()), of_quality(quality)) for quality in range(1, 11)]
        for _ in range(20)
    ]
    solution = run_mira(problem_of(pool_of(rows), [0.0, 1.0]), np.random.default_rng(1))
    assert solution.score > 0.99 > solution.start_score
    assert solution.weights[0] > abs(solution.weights[1])


def test_where_no_epoch_is_better_the_start_stays() -> None:
    """An optimal start is returned, with a note."""
    rows = [((1.0, 0.0), of_quality(10)), ((0.0, 1.0), of_quality(2))]
    solution = run_mira(problem_of(pool_of([rows]), [0.9, 0.1]), np.random.default_rng(1))
    assert solution.weights.tolist() == [0.9, 0.1]
    assert "no epoch found better weights: the start weights are kept" in solution.notes
