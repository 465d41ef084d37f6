"""Paired tests compared with enumeration, and under the null hypothesis."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from tuning.metrics.significance import (
    Floats,
    Statistics,
    bootstrap,
    pooled_difference,
    randomization_p_value,
    swapped_differences,
)


def share(sums: Floats) -> Floats:
    """Return the score of two summed statistics: hits divided by tries."""
    return sums[..., 0] / np.maximum(sums[..., 1], 1)


def hits(rng: np.random.Generator, runs: int, sentences: int) -> Statistics:
    """Return the statistics of hits out of ten."""
    found = rng.binomial(10, 0.5, (runs, sentences))
    return np.stack([found, np.full_like(found, 10)], -1).astype(np.int64)


def test_swaps_equal_their_enumeration(rng: np.random.Generator) -> None:
    """All swaps of six sentences give the exact p, and many random swaps approximate it."""
    first, second = hits(rng, 2, 6), hits(rng, 3, 6)
    every = np.array(list(itertools.product([False, True], repeat=6)))
    found = swapped_differences(first, second, every, share)
    real = abs(pooled_difference(first, second, share))
    exact = (found >= real - 1e-12).mean()
    assert randomization_p_value(first, second, share, 20_000, 1) == pytest.approx(exact, abs=0.015)


def test_the_interval_of_the_bootstrap_holds_the_difference(rng: np.random.Generator) -> None:
    """With one run each, the interval is about two deviations over sentences to each side."""
    first, second = hits(rng, 1, 400), hits(rng, 1, 400)
    found = bootstrap(first, second, share, 4000, 1)
    gaps = (second[:, :, 0].mean(0) - first[:, :, 0].mean(0)) / 10
    deviation = gaps.std() / np.sqrt(400)
    assert found.low == pytest.approx(gaps.mean() - 1.96 * deviation, abs=0.2 * deviation)
    assert found.high == pytest.approx(gaps.mean() + 1.96 * deviation, abs=0.2 * deviation)


# deviations of: a system in a sentence, a run in a sentence, a whole run; in units of sentence
# scores, the last times the root of the number of sentences
NOISE = {"sentences": (1, 0.5, 0), "runs": (0.5, 0.5, 1.5), "runs in sentences": (0.3, 1, 0.3)}


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("noise", NOISE)
def test_intervals_cover_a_known_gain(noise: str, runs: int) -> None:
    """Of 800 experiments with other sentences and seeds, 93 to 97 % cover the real gain."""
    rng = np.random.default_rng(8)
    gain, sentences = 0.02, 100
    of_sentences, of_runs_in_sentences, of_runs = NOISE[noise]
    covered, found_better = [], []
    for seed in range(800):
        ease = rng.normal(0, 1, sentences)
        pair = []
        for quality in (0.5, 0.5 + gain):
            own = ease + rng.normal(0, of_sentences, sentences)
            of_a_run = rng.normal(0, of_runs / np.sqrt(sentences), (runs, 1))
            cells = own + of_a_run + rng.normal(0, of_runs_in_sentences, (runs, sentences))
            hit = np.round(10_000 * (quality + 0.05 * cells))
            pair.append(np.stack([hit, np.full_like(hit, 10_000)], -1).astype(np.int64))
        interval = bootstrap(*pair, share, 200, seed)
        covered.append(interval.low <= gain <= interval.high)
        found_better.append((interval.p_value < 0.05) == (not interval.low <= 0 <= interval.high))
    assert 0.93 <= np.mean(covered) <= 0.97
    assert np.mean(found_better) > 0.99, "the p-value and the interval say the same"


def test_p_values_reach_zero_only_as_far_as_trials_allow(rng: np.random.Generator) -> None:
    """A difference that no trial reaches has p = 1 / (trials + 1)."""
    first = hits(rng, 1, 300)
    assert randomization_p_value(first, first + np.array([2, 0]), share, 999, 1) == 1 / 1000


def p_values_under_the_null(runs: int) -> NDArray[np.float64]:
    """Return p-values of two tests for equally good systems that differ in single sentences.

    The deviation of runs from their system is half the deviation between systems.
    """
    rng = np.random.default_rng(11)
    rows = []
    for seed in range(250):
        ease = rng.normal(0, 1.5, 50)
        pair = []
        for _ in range(2):
            system = ease + rng.normal(0, 1, 50)
            quality = system + rng.normal(0, 0.5, (runs, 50))
            found = np.clip(np.round(10 + 3 * quality), 0, 20)
            pair.append(np.stack([found, np.full_like(found, 20)], -1).astype(np.int64))
        arguments = (*pair, share, 199, seed)
        rows.append((randomization_p_value(*arguments), bootstrap(*arguments).p_value))
    return np.array(rows)


@pytest.mark.parametrize("runs", [1, 3])
def test_p_values_are_uniform_under_the_null(runs: int) -> None:
    """Equally good systems are found different at levels of 5, 20 and 50 % as often as stated."""
    found = p_values_under_the_null(runs)
    for level in (0.05, 0.2, 0.5):
        # three deviations of a share of 250
        slack = 3 * np.sqrt(level * (1 - level) / len(found))
        assert (found <= level).mean(0) == pytest.approx(np.full(2, level), abs=slack)
