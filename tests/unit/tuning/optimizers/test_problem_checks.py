"""Checks of optimisation problems: faults are noticed, reported, and survived if possible."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest

from phrasescore.errors import NBestError, SettingsError
from tests.support.candidate_pools import of_quality, pool_of, problem_of, random_pool
from tuning.optimizers.mert import run_mert
from tuning.optimizers.mira import run_mira
from tuning.optimizers.optimizer import Optimizer, Problem, prepare, spreads
from tuning.optimizers.pro import run_pro

OPTIMIZERS = [partial(run_mert, restarts=4), run_pro, run_mira]
every_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["mert", "pro", "mira"])


def problem(seed: int = 1, sentences: int = 12) -> Problem:
    """Return a problem with real-valued features and three weights."""
    rng = np.random.default_rng(seed)
    return problem_of(random_pool(rng, sentences, 10, 3, whole=False), [0.5, 0.3, -0.2])


def with_feature(given: Problem, values: np.ndarray, weight: float) -> Problem:
    """Return the problem with another feature."""
    features = np.vstack([given.pool.features, values.astype(np.float32)])
    pool = given.pool._replace(features=features)
    return problem_of(pool, [*given.start.tolist(), weight], given.objective)


@every_optimizer
def test_a_constant_feature_is_left_alone(optimizer: Optimizer) -> None:
    """A constant feature is reported and not tuned; other weights stay normal (Moses's #189)."""
    given = problem()
    constant = with_feature(given, np.full(given.pool.features.shape[1], -1.25), 0.4)
    solution = optimizer(constant, np.random.default_rng(1))
    assert any("F3 is the same for all candidates" in note for note in solution.notes)
    assert np.abs(solution.weights).min() > 1e-4 * np.abs(solution.weights).max()
    assert solution.weights[3] > 0
    assert given.score(solution.weights[:3]) == solution.score >= solution.start_score


@every_optimizer
def test_a_feature_that_differs_only_between_sentences_is_constant(optimizer: Optimizer) -> None:
    """A feature that is constant within each sentence counts as constant."""
    given = problem()
    by_sentence = np.repeat(np.arange(12.0), np.diff(given.pool.starts))
    solution = optimizer(with_feature(given, by_sentence, 0.7), np.random.default_rng(1))
    assert any("F3 is the same for all candidates" in note for note in solution.notes)
    assert np.abs(solution.weights).min() > 1e-4 * np.abs(solution.weights).max()


@every_optimizer
def test_all_zero_weights_start_with_equal_influence(optimizer: Optimizer) -> None:
    """A start of zeros is replaced, with a note, and improved."""
    zero = dataclasses.replace(problem(), start=np.zeros(3))
    solution = optimizer(zero, np.random.default_rng(1))
    assert any("all start weights are 0" in note for note in solution.notes)
    assert solution.weights.any()
    assert solution.score >= solution.start_score


@every_optimizer
def test_scores_are_those_of_weights_that_can_be_used(optimizer: Optimizer) -> None:
    """The start score is not that of all-zero weights, which no usable weights may reach."""
    given = dataclasses.replace(problem(), start=np.zeros(3))
    given.pool.statistics[given.pool.starts[:-1]] = of_quality(10)
    assert given.score(given.start) == 1.0
    solution = optimizer(given, np.random.default_rng(1))
    assert given.score(solution.weights) == solution.score < 1.0
    assert solution.start_score < 1.0


@every_optimizer
def test_bleu_of_zero_everywhere_keeps_the_start(optimizer: Optimizer) -> None:
    """If no candidate has a four-word match, the start weights are kept, with a note."""
    given = problem()
    statistics = given.pool.statistics.copy()
    statistics[:, [0, 2, 4, 6]] = 0
    hopeless = problem_of(given.pool._replace(statistics=statistics), given.start.tolist())
    solution = optimizer(hopeless, np.random.default_rng(1))
    assert any("so BLEU is 0 with all" in note for note in solution.notes)
    assert solution.score == 0
    assert np.isfinite(solution.weights).all()
    assert solution.weights.any()
    if optimizer is not run_pro:
        assert solution.weights.tolist() == given.start.tolist()


@every_optimizer
def test_one_sentence_without_candidates_is_survived(optimizer: Optimizer) -> None:
    """Sentences without candidates are skipped, also at the start and the end."""
    rows = [((1.0, 0.0), of_quality(3)), ((0.0, 1.0), of_quality(8)), ((0.5, 0.3), of_quality(5))]
    given = problem_of(pool_of([[], rows, [], rows, []]), [1.0, 0.5])
    solution = optimizer(given, np.random.default_rng(1))
    assert solution.score >= solution.start_score == pytest.approx(0.3)


@every_optimizer
def test_empty_hypotheses_are_survived(optimizer: Optimizer) -> None:
    """Empty candidates are ordinary candidates."""
    nothing = [0] * 8 + [10]
    rows = [((2.0, 0.0), nothing), ((0.0, 1.0), of_quality(9)), ((0.1, 0.2), of_quality(4))]
    given = problem_of(pool_of([rows, rows]), [1.0, 0.1])
    solution = optimizer(given, np.random.default_rng(1))
    assert solution.score >= solution.start_score == 0
    assert np.isfinite(solution.weights).all()


@every_optimizer
def test_nothing_to_choose_from(optimizer: Optimizer) -> None:
    """Problems without differences are refused."""
    single = problem_of(pool_of([[((1.0, 2.0), of_quality(5))]] * 3), [1.0, 1.0])
    with pytest.raises(NBestError, match="no two candidates of a sentence differ in any feature"):
        optimizer(single, np.random.default_rng(1))


@every_optimizer
def test_impossible_starts(optimizer: Optimizer) -> None:
    """A start weight that is not finite, and a problem with only fixed weights, are refused."""
    given = problem()
    rng = np.random.default_rng(1)
    broken = dataclasses.replace(given, start=np.array([0.1, np.nan, 0.2]))
    with pytest.raises(SettingsError, match="the start weight of F1 is nan"):
        optimizer(broken, rng)
    with pytest.raises(SettingsError, match="every weight is fixed"):
        optimizer(dataclasses.replace(given, free=np.zeros(3, bool)), rng)


@every_optimizer
def test_frozen_weights_stay(optimizer: Optimizer) -> None:
    """A frozen weight equals the start weight exactly, and is part of the score."""
    given = dataclasses.replace(problem(), free=np.array([True, False, True]))
    solution = optimizer(given, np.random.default_rng(1))
    assert solution.weights[1] == 0.3
    assert given.score(solution.weights) == solution.score >= solution.start_score


@every_optimizer
def test_the_score_is_that_of_the_weights_as_written(optimizer: Optimizer) -> None:
    """The reported score is that of the rounded weights; equal seeds give equal results."""
    given = problem(3)
    first, again = (optimizer(given, np.random.default_rng(5)) for _ in range(2))
    written = np.array([float(f"{weight:.9g}") for weight in first.weights])
    assert given.score(written) == first.score
    assert first.weights.tolist() == again.weights.tolist()


def test_defects() -> None:
    """Weights that are not finite, all 0, or dominated by one weight have a defect."""
    given = problem()
    _, region, _ = prepare(given)
    assert region.defect_of(given.start) is None
    assert region.defect_of(np.array([1.0, np.inf, 0.0])) == "a weight is not finite"
    assert region.defect_of(np.zeros(3)) == "all weights are 0"
    assert region.defect_of(np.array([1.0, 1e-38, 1e-38])) == "one weight outweighs all others"


def test_spreads_are_those_within_sentences() -> None:
    """Spreads are deviations of features from their sentence means, over all candidates."""
    pool = pool_of([[((1.0,), of_quality(1)), ((3.0,), of_quality(1))], [((9.0,), of_quality(1))]])
    assert spreads(pool) == pytest.approx([np.sqrt(2 / 3)])
