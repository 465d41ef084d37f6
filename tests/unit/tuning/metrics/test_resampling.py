"""Paired tests compared with enumeration, with sacrebleu, and under the null hypothesis."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import Result, _paired_ar_test, _paired_bs_test

from tests.support.translations import noisy_translations, references
from tuning.metrics.metric_scores import metric_scores
from tuning.metrics.significance import (
    Floats,
    Statistics,
    bootstrap,
    pooled_difference,
    randomization_p_value,
    resampled_scores,
    share_at_least,
    swapped_differences,
)

SACREBLEU_SEED = 12345
bleu = partial(metric_scores, "bleu")


def share(sums: Floats) -> Floats:
    """Return the score of two summed statistics: hits divided by tries."""
    return sums[..., 0] / np.maximum(sums[..., 1], 1)


@pytest.fixture(scope="module")
def systems() -> tuple[list[str], list[str], Statistics, Statistics]:
    """Return two single translations of 40 sentences, and their BLEU statistics."""
    rng = np.random.default_rng(3)
    texts = [noisy_translations(rng, share) for share in (0.25, 0.2)]
    metric = BLEU(tokenize="none", force=True, smooth_method="none")
    found = []
    for text in texts:
        rows = np.array(metric._extract_corpus_statistics(text, [references()]))
        ours = np.empty((1, len(rows), 9), np.int64)
        ours[0, :, 0:8:2], ours[0, :, 1:8:2], ours[0, :, 8] = rows[:, 2:6], rows[:, 6:], rows[:, 1]
        found.append(ours)
    return texts[0], texts[1], found[0], found[1]


def sacrebleu_p_value(
    systems: tuple[list[str], list[str], Statistics, Statistics], test: str, trials: int
) -> float:
    """Return sacrebleu's p-value for the two single translations."""
    metric = BLEU(tokenize="none", force=True, smooth_method="none")
    baseline = metric._extract_corpus_statistics(systems[0], [references()])
    result = Result(metric._aggregate_and_compute(baseline).score)
    run = _paired_ar_test if test == "ar" else _paired_bs_test
    _, found = run(
        {"BLEU": (baseline, result)}, "system", systems[1], [references()], {"BLEU": metric},
        trials, -1, SACREBLEU_SEED,
    )  # fmt: skip
    return float(found["BLEU"].p_value or 0)


def test_single_runs_are_shuffled_as_sacrebleu_does(
    systems: tuple[list[str], list[str], Statistics, Statistics],
) -> None:
    """With sacrebleu's shuffles, the p-value of randomisation equals sacrebleu's."""
    _, _, first, second = systems
    rng = np.random.default_rng(SACREBLEU_SEED)
    swapped = ~rng.integers(2, size=(1000, first.shape[1]), dtype=bool)
    found = swapped_differences(first, second, swapped, bleu)
    ours = share_at_least(found, pooled_difference(first, second, bleu))
    assert ours == pytest.approx(sacrebleu_p_value(systems, "ar", 1000), abs=1e-12)
    assert 0.01 < ours < 0.9, "says something"


def test_single_runs_are_resampled_as_sacrebleu_does(
    systems: tuple[list[str], list[str], Statistics, Statistics],
) -> None:
    """With sacrebleu's draws, its formula for p applied to our scores gives its p-value."""
    _, _, first, second = systems
    sentences = first.shape[1]
    draws = np.random.default_rng(SACREBLEU_SEED).choice(sentences, (1000, sentences))
    gaps = resampled_scores(second, draws, bleu) - resampled_scores(first, draws, bleu)
    absolute = np.abs(gaps[:, 0])
    real = abs(pooled_difference(first, second, bleu))
    count = (absolute - absolute.mean() > real).sum()
    assert (count + 1) / 1001 == pytest.approx(sacrebleu_p_value(systems, "bs", 1000), abs=1e-12)


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


def test_systems_that_agree_everywhere(rng: np.random.Generator) -> None:
    """For equal translations under two names, every test gives p = 1."""
    first = hits(rng, 3, 10)
    assert randomization_p_value(first, first, share, 200, 1) == 1
    assert bootstrap(first, first, share, 200, 1).p_value == 1


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
    second = first + np.array([2, 0])
    assert randomization_p_value(first, second, share, 999, 1) == 1 / 1000


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
