"""Pairwise ranking: drawing pairs, learning, and interpolation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.candidate_pools import of_quality, pool_of, problem_of, random_pool
from tuning.optimizers import pro
from tuning.optimizers.optimizer import Problem
from tuning.optimizers.pro import draw_pairs, logistic_regression, run_pro


def separable(sentences: int = 30) -> Problem:
    """Return a pool whose quality rises with feature 1 and falls with feature 2; 3 is noise."""
    rng = np.random.default_rng(3)
    rows = [
        [
            ((quality + rng.normal(0, 0.1), -0.5 * quality, rng.normal()), of_quality(quality))
            for quality in range(1, 11)
        ]
        for _ in range(sentences)
    ]
    return problem_of(pool_of(rows), [-0.5, 0.1, 0.4])


@pytest.fixture
def without_interpolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the learnt weights themselves, not the best point on the way to them."""
    monkeypatch.setattr(pro, "_best_between", lambda problem, region, learnt: learnt)


@pytest.mark.usefixtures("without_interpolation")
def test_what_separates_good_from_bad_is_learnt() -> None:
    """Signs of weights are right, noise gets little weight, and the best are chosen."""
    solution = run_pro(separable(), np.random.default_rng(1))
    good, bad, noise = solution.weights
    assert good > 0 > bad
    assert abs(noise) < 0.3 * good
    assert solution.score == pytest.approx(1.0)


@given(st.integers(0, 1 << 30), st.floats(0.01, 10))
def test_the_regression_is_at_its_minimum(seed: int, precision: float) -> None:
    """The gradient of the penalised likelihood is 0 at the returned weights."""
    rng = np.random.default_rng(seed)
    differences, given_part = rng.normal(size=(40, 3)), rng.normal(size=40)
    weights = logistic_regression(differences, given_part, precision)
    wrong = 1 / (1 + np.exp(given_part + differences @ weights))
    gradient = -2 * differences.T @ wrong + precision * weights
    assert np.abs(gradient).max() < 1e-3


def test_a_regression_of_separable_pairs_is_finite() -> None:
    """Separable pairs do not drive weights to infinity."""
    weights = logistic_regression(np.full((50, 1), 3.0), np.zeros(50), 1.0)
    assert np.isfinite(weights).all()
    assert 0 < weights[0] < 10


def test_pairs_are_the_most_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence gives at most 50 pairs, with differences of at least 0.05."""
    problem = separable(4)
    rng = np.random.default_rng(1)
    pairs = draw_pairs(problem, rng)
    assert len(pairs) == 4 * 50
    # quality is twice the negative second feature, so the largest difference is 9
    assert (-2 * pairs[:, 1]).min() >= 8
    monkeypatch.setattr(pro, "_KEPT", 3)
    assert len(draw_pairs(problem, rng)) == 12


def test_nothing_to_learn_from_keeps_the_start() -> None:
    """If all candidates of each sentence are equally good, start weights are kept, with a note."""
    rows = [((1.0, 0.0), of_quality(5)), ((0.0, 1.0), of_quality(5))]
    solution = run_pro(problem_of(pool_of([rows] * 3), [0.3, 0.7]), np.random.default_rng(1))
    assert solution.weights.tolist() == [0.3, 0.7]
    assert any("no two candidates differ enough" in note for note in solution.notes)


@pytest.mark.parametrize("seed", range(5))
def test_interpolation_is_never_worse_than_the_start(
    seed: int, request: pytest.FixtureRequest
) -> None:
    """Interpolation towards the learnt weights never scores below the start, even with noise."""
    rng = np.random.default_rng(seed)
    problem = problem_of(random_pool(rng, 20, 10, 3, whole=False), [0.5, 0.3, -0.2])
    best = run_pro(problem, np.random.default_rng(seed))
    request.getfixturevalue("without_interpolation")
    far = run_pro(problem, np.random.default_rng(seed))
    assert best.score >= best.start_score
    assert best.score >= far.score - 1e-12


@pytest.mark.usefixtures("without_interpolation")
def test_what_fixed_weights_say_is_not_learnt_again() -> None:
    """With the useful feature fixed at a large weight, other features get little weight."""
    problem = separable()
    fixed = dataclasses.replace(
        problem, start=np.array([50.0, 0.1, 0.4]), free=np.array([False, True, True])
    )
    solution = run_pro(fixed, np.random.default_rng(1))
    assert solution.weights[0] == 50.0
    assert np.abs(solution.weights[1:]).max() < 1
