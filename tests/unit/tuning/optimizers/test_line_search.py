"""Compares the line search with exhaustive search, and tests its rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.candidate_pools import (
    best_by_trying,
    of_quality,
    pool_of,
    problem_of,
    random_pool,
    score_at,
)
from tests.support.plain_optimization import plain_line_search
from tuning.metrics.metric_scores import ALL_COLUMNS
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import PoolArrays, point_at
from tuning.optimizers.line_search import BEYOND, LineSearch
from tuning.optimizers.optimizer import Problem, Weights

SEEDS = st.integers(0, 1 << 30)


def searched(
    problem: Problem, direction: Weights, low: float = -np.inf, high: float = np.inf
) -> tuple[float, float]:
    """Return the best step and the reported score."""
    point = point_at(problem.pool, problem.start)
    search = LineSearch(problem.pool, problem.objective.shares)
    (found,) = search.along(point, direction[np.newaxis], np.array([[low, high]]))
    return found


def random_line(seed: int, *, columns: int = 9) -> tuple[Problem, Weights]:
    """Return a random pool with integers, a point and a direction."""
    rng = np.random.default_rng(seed)
    pool = random_pool(rng, columns=columns)
    objective = Objective() if columns == 9 else Objective(0.5, 0.3, 0.2)
    start, direction = rng.integers(-5, 6, (2, len(pool.features))).astype(np.float64)
    return problem_of(pool, start.tolist(), objective), direction


@given(SEEDS)
def test_no_step_beats_the_one_found(seed: int) -> None:
    """The score equals the best over all intervals, and the step reaches it."""
    problem, direction = random_line(seed)
    step, score = searched(problem, direction)
    assert score == pytest.approx(best_by_trying(problem, direction), abs=1e-12)
    assert score_at(problem, direction, step) == pytest.approx(score, abs=1e-12)


@given(SEEDS, st.floats(0.01, 4), st.floats(0.01, 4))
def test_bounds_are_kept(seed: int, below: float, above: float) -> None:
    """With bounds, the best step equals the best over all intervals within them."""
    problem, direction = random_line(seed)
    low, high = -below, above
    step, score = searched(problem, direction, low, high)
    assert low <= step <= high
    assert score_at(problem, direction, step) == pytest.approx(score, abs=1e-12)
    assert score >= best_by_trying(problem, direction, low, high) - 1e-12


@given(SEEDS, st.sampled_from([9, ALL_COLUMNS]))
def test_the_compiled_search_is_the_plain_one(seed: int, columns: int) -> None:
    """Step and score equal those of numpy code, for BLEU and for mixtures."""
    problem, direction = random_line(seed, columns=columns)
    step, score = searched(problem, direction)
    plain = plain_line_search(problem.pool, problem.start, direction, problem.objective.shares)
    assert score == pytest.approx(plain[1], abs=1e-12)
    assert step == pytest.approx(plain[0], abs=1e-9)


@pytest.mark.parametrize("lines", [1, 3])
def test_lines_searched_together_are_searched_as_alone(lines: int) -> None:
    """Lines searched together, each with its own bounds, give the results of single searches."""
    problem, _ = random_line(11)
    directions = np.random.default_rng(11).integers(-5, 6, (lines, len(problem.start))) * 1.0
    ends = np.array([[-np.inf, np.inf], [-0.3, 0.5], [0.0, 0.0]])[:lines]
    search = LineSearch(problem.pool, problem.objective.shares)
    found = search.along(point_at(problem.pool, problem.start), directions, ends)
    alone = [
        searched(problem, line, *bounds) for line, bounds in zip(directions, ends, strict=True)
    ]
    assert found == alone


@given(SEEDS)
def test_a_point_knows_the_best_candidates(seed: int) -> None:
    """Scores are weighted sums; of equal scores the first candidate wins."""
    problem, _ = random_line(seed)
    point = point_at(problem.pool, problem.start)
    assert point.scores == pytest.approx(problem.start @ problem.pool.features)
    starts = problem.pool.starts
    for winner, begin, end in zip(point.winners, starts[:-1], starts[1:], strict=True):
        assert winner == begin + int(np.argmax(point.scores[begin:end]))


def one_feature(*qualities: tuple[float, float, int]) -> PoolArrays:
    """Return a pool of one sentence, from (slope, score at step 0, quality) of each candidate."""
    return pool_of([[((slope, height), of_quality(tenths)) for slope, height, tenths in qualities]])


ALONG = np.array([1.0, 0.0])


def rule(pool: PoolArrays, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    return searched(problem_of(pool, [0.0, 1.0]), ALONG, low, high)


RULES = {
    "nearest, to the right": ([(-1, -3, 9), (0, 0, 5), (1, -1, 9)], 1 + BEYOND * 3, 0.9),
    "nearest, to the left": ([(-1, -1, 9), (0, 0, 5), (1, -3, 9)], -1 - BEYOND * 3, 0.9),
    "nearest, not moving for nothing": ([(-1, -1, 5), (0, 0, 5), (1, -1, 5)], 0.0, 0.5),
    "middle, between breakpoints 2 and 4": ([(0, 0, 2), (1, -2, 9), (2, -6, 3)], 3.0, 0.9),
    "middle, with a tie at breakpoint 0": ([(0, 0, 2), (1, 0, 9), (2, -4, 2)], 2.0, 0.9),
    "open ends, beyond breakpoint 5": ([(-1, -1, 3), (0, 0, 2), (1, -5, 9)], 5.5, 0.9),
    "open ends, beyond breakpoint -1": ([(-1, -1, 9), (0, 0, 2), (1, -5, 3)], -1.5, 0.9),
    "open ends, a tie at 0, to the right": ([(0, 0, 2), (1, 0, 9)], BEYOND, 0.9),
    "open ends, a tie at 0, to the left": ([(0, 0, 9), (1, 0, 2)], -BEYOND, 0.9),
    "no breakpoint": ([(1, 0, 4), (1, -1, 9)], 0.0, 0.4),
}


@pytest.mark.parametrize(("lines", "step", "score"), RULES.values(), ids=RULES)
def test_rules_of_the_step(
    lines: list[tuple[float, float, int]], step: float, score: float
) -> None:
    """The step into the best interval follows the rules; where it is 0, it is 0 exactly."""
    assert rule(one_feature(*lines)) == (pytest.approx(step, abs=0), pytest.approx(score))


@pytest.mark.parametrize(("width", "seen"), [(1e-5, False), (1e-2, True)])
def test_rule_narrow(width: float, seen: bool) -> None:
    """An interval of less than a millionth of the interquartile range is ignored."""
    needle = [((0, 0), of_quality(1)), ((1, -2), of_quality(9)), ((2, -4 - width), of_quality(1))]
    far = [
        [((0, 0), of_quality(5)), ((1, -x), of_quality(5))] for x in (-200, -100, 100, 200)
    ]  # quartiles at -100 and 100
    _, score = rule(pool_of([needle, *far]))
    assert score == pytest.approx((0.9 if seen else 0.1) / 5 + 0.4)


def test_rule_bounds() -> None:
    """Intervals beyond a bound are not reached, and an interval at a bound is not open."""
    pool = one_feature((0, 0, 2), (1, -2, 9))  # better from 2 on
    assert rule(pool, -1.0, 1.5) == (0.0, pytest.approx(0.2))
    assert rule(pool, -1.0, 3.0) == (pytest.approx(2.5), pytest.approx(0.9))
    assert rule(pool, 0.0, 0.0) == (0.0, pytest.approx(0.2))
    tie_at_zero = one_feature((0, 0, 2), (1, 0, 9), (2, -4, 2))
    assert rule(tie_at_zero, 0.0, 3.0) == (pytest.approx(1.5), pytest.approx(0.9))
    best_first = one_feature((0, 0, 9), (1, -2, 2))
    assert rule(best_first, 0.0, 9.0) == (0.0, pytest.approx(0.9))  # no tie at the bound


def test_sentences_without_candidates_are_passed_over() -> None:
    """Sentences without candidates are skipped."""
    rows = [((0.0, 0.0), of_quality(2)), ((1.0, -2.0), of_quality(8))]
    assert rule(pool_of([[], rows, []])) == (pytest.approx(2.2), pytest.approx(0.8))
