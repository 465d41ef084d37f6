"""Which pairs a model disagrees about, and how far it agrees at all."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from phrasescore.analysis.scatter import (
    Agreement,
    Expectation,
    PairScores,
    strongest_disagreements,
)
from phrasescore.table.block import read_blocks

COEFFICIENTS = np.array([-1.0, 0.5, -2.0, 1.5])


def random_pairs(rng: np.random.Generator, count: int, spread: float) -> PairScores:
    """Pairs that lie around a known expectation, further the more words they have."""
    table = np.where(rng.random(count) < 0.5, 0.0, -rng.uniform(0.1, 9.0, count))
    words = rng.integers(1, 8, count)
    noise = rng.normal(0.0, spread, count) * np.sqrt(words)
    return PairScores(table, expected(table, words) + noise, words)


def expected(table: NDArray[np.float64], words: NDArray[np.int64]) -> NDArray[np.float64]:
    a, b, c, d = COEFFICIENTS
    return np.asarray(a + b * table + c * words + d * (table == 0))


def test_the_expectation_is_found(rng: np.random.Generator) -> None:
    """The coefficients that pairs were made with, and the spread of a word."""
    found = Expectation.fit(random_pairs(rng, 50_000, 0.7))
    np.testing.assert_allclose(found.coefficients, COEFFICIENTS, atol=0.05)
    assert found.deviation == pytest.approx(0.7, abs=0.01)
    one = PairScores(np.array([-2.0]), np.array([-10.0]), np.array([4]))
    by_hand = (-10.0 - (-1.0 + 0.5 * -2.0 - 2.0 * 4)) / math.sqrt(4) / 0.7
    assert found.strengths(one)[0] == pytest.approx(by_hand, abs=0.1)


def test_without_a_spread_nothing_is_strong(rng: np.random.Generator) -> None:
    """Pairs on a line, few pairs or one: no division by what rounding left."""
    for pairs in (random_pairs(rng, 50, 0.0), random_pairs(rng, 2, 1.0), random_pairs(rng, 1, 1.0)):
        np.testing.assert_array_equal(Expectation.fit(pairs).strengths(pairs), 0.0)


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_the_strongest_each_way(rng: np.random.Generator, tmp_path: Path, most: int) -> None:
    """Recomputed over all pairs at once; however they are cut into blocks."""
    scores = random_pairs(rng, 300, 3.0)
    lines = (b"a%d ||| A ||| 0.5 ||| ||| 1 2 1\n" % number for number in range(300))
    (tmp_path / "table").write_bytes(b"".join(lines))
    fitted = Expectation.fit(scores)
    strengths = (scores.model - expected_by(fitted, scores)) / np.sqrt(scores.words)
    strengths /= fitted.deviation
    for size in (11, 300):
        scored = []
        for block in read_blocks(tmp_path / "table", size):
            rows = slice(block.first_line - 1, block.first_line - 1 + len(block))
            part = PairScores(scores.table[rows], scores.model[rows], scores.words[rows])
            scored.append((block, part))
        higher, lower, searched = strongest_disagreements(scored, most, fitted)
        assert searched == 300
        for sign, found in ((1, higher), (-1, lower)):
            way = (sign * strengths > 0) & (sign * (scores.model - scores.table) > 0)
            rows_by_hand = sorted(np.flatnonzero(way), key=lambda r: -sign * strengths[r])[:most]
            assert [each.entry.source for each in found] == [b"a%d" % r for r in rows_by_hand]
            assert len(found) == min(most, way.sum())
            for each, row in zip(found, rows_by_hand, strict=True):
                difference = scores.model[row] - scores.table[row]
                assert each.per_word == pytest.approx(difference / scores.words[row])
                assert each.strength == pytest.approx(strengths[row])


def expected_by(fitted: Expectation, scores: PairScores) -> NDArray[np.float64]:
    a, b, c, d = fitted.coefficients
    return np.asarray(a + b * scores.table + c * scores.words + d * (scores.table == 0))


def test_singletons_are_compared_with_singletons() -> None:
    """P = 1 of a source seen once is no reason by itself, nor is a long target."""
    rng = np.random.default_rng(1)
    table, words = np.zeros(1000), np.tile([2, 8], 500)
    model = -1.5 * words + rng.normal(0, 0.5, 1000) * np.sqrt(words)
    model[0] = -9.0  # short, and far below what short ones have; long ones have -12
    fitted = Expectation.fit(PairScores(table, model, words))
    strengths = fitted.strengths(PairScores(table, model, words))
    assert np.argmin(strengths) == 0
    assert abs(strengths[words == 8].mean()) < 0.1


def test_agreement() -> None:
    """By hand, over five pairs; equal values share their ranks."""
    table = np.array([0.0, 0.0, -1.0, -3.0, -9.0])
    model = np.array([-1.0, -0.5, -7.0, -2.0, -4.0])
    found = Agreement.from_scores(PairScores(table, model, np.ones(5, np.int64)))
    ranks = [4.5, 4.5, 3, 2, 1], [4, 5, 1, 3, 2]
    assert found.pearson == pytest.approx(pearson(table, model))
    assert found.spearman == pytest.approx(pearson(*map(np.array, ranks)))
    assert (found.near, found.far, found.above) == pytest.approx((0.6, 0.2, 0.4))
    assert (found.mean_table, found.mean_model) == pytest.approx((-2.6, -2.9))
    assert "60.0% of the pairs differ by at most 1 nat, 20.0% by more than 5" in str(found)


def pearson(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    left, right = left - left.mean(), right - right.mean()
    return float((left * right).sum() / math.sqrt((left**2).sum() * (right**2).sum()))


def test_no_correlation_of_a_constant() -> None:
    """It is undefined, and said so."""
    found = Agreement.from_scores(PairScores(np.zeros(3), np.arange(-3.0, 0), np.ones(3, np.int64)))
    assert found.pearson is found.spearman is None
    assert "undefined" in str(found)
