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
from tuning.optimizers.candidate_pool import PoolArrays, combine, point_at
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
    shares = problem.objective.shares
    plain = plain_line_search(problem.pool, problem.start, direction, shares)
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


def test_a_slice_of_candidates_is_combined() -> None:
    """Weighted sums of a slice of candidates are right; weights of 0 change nothing."""
    features = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.full(4, 7.0)
    combine(features, 1, 3, np.array([1.0, 0.0, 2.0]), out)
    assert out.tolist() == [1 + 18, 2 + 20, 7, 7]


def one_feature(*qualities: tuple[float, float, int]) -> PoolArrays:
    """Return a pool of one sentence, from (slope, score at step 0, quality) of each candidate."""
    rows = [((slope, height), of_quality(tenths)) for slope, height, tenths in qualities]
    return pool_of([rows])


ALONG = np.array([1.0, 0.0])


def rule(pool: PoolArrays, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
    return searched(problem_of(pool, [0.0, 1.0]), ALONG, low, high)


def test_rule_nearest() -> None:
    """Of two equally good intervals, the interval nearer to 0 wins, on both sides."""
    right = one_feature((-1, -3, 9), (0, 0, 5), (1, -1, 9))  # breakpoints -3 and 1
    assert rule(right) == (pytest.approx(1 + BEYOND * 3), pytest.approx(0.9))
    left = one_feature((-1, -1, 9), (0, 0, 5), (1, -3, 9))  # breakpoints -1 and 3
    assert rule(left) == (pytest.approx(-1 - BEYOND * 3), pytest.approx(0.9))


def test_rule_nearest_does_not_move_for_nothing() -> None:
    """If no interval is better than the interval around 0, the step is 0."""
    assert rule(one_feature((-1, -1, 5), (0, 0, 5), (1, -1, 5))) == (0.0, pytest.approx(0.5))


def test_rule_middle() -> None:
    """The step goes to the middle of the best interval."""
    pool = one_feature((0, 0, 2), (1, -2, 9), (2, -6, 3))  # breakpoints 2 and 4
    assert rule(pool) == (pytest.approx(3.0), pytest.approx(0.9))


def test_rule_open_ends() -> None:
    """In an open interval, the step goes beyond the breakpoint by a tenth of D."""
    pool = one_feature((-1, -1, 3), (0, 0, 2), (1, -5, 9))  # breakpoints -1 and 5
    assert rule(pool) == (pytest.approx(5.5), pytest.approx(0.9))
    pool = one_feature((-1, -1, 9), (0, 0, 2), (1, -5, 3))
    assert rule(pool) == (pytest.approx(-1.5), pytest.approx(0.9))


def test_rule_open_ends_at_zero() -> None:
    """If the only breakpoint is 0, the step is a tenth, because at 0 two candidates tie."""
    assert rule(one_feature((0, 0, 2), (1, 0, 9))) == (pytest.approx(BEYOND), pytest.approx(0.9))
    assert rule(one_feature((0, 0, 9), (1, 0, 2))) == (pytest.approx(-BEYOND), pytest.approx(0.9))


def test_rule_middle_with_a_tie_at_zero() -> None:
    """A step never ends on a breakpoint at 0, where candidates tie, but inside an interval."""
    pool = one_feature((0, 0, 2), (1, 0, 9), (2, -4, 2))  # breakpoints 0 and 4
    assert rule(pool) == (pytest.approx(2.0), pytest.approx(0.9))
    assert rule(pool, 0.0, 3.0) == (pytest.approx(1.5), pytest.approx(0.9))


def test_rule_no_breakpoint() -> None:
    """Without breakpoints, the step is 0 instead of infinite."""
    assert rule(one_feature((1, 0, 4), (1, -1, 9))) == (0.0, pytest.approx(0.4))


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
    best_first = one_feature((0, 0, 9), (1, -2, 2))
    assert rule(best_first, 0.0, 9.0) == (0.0, pytest.approx(0.9))  # no tie at the bound


def test_sentences_without_candidates_are_passed_over() -> None:
    """Sentences without candidates are skipped."""
    rows = [((0.0, 0.0), of_quality(2)), ((1.0, -2.0), of_quality(8))]
    assert rule(pool_of([[], rows, []])) == (pytest.approx(2.2), pytest.approx(0.8))
