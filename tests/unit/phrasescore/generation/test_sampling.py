"""Compares samples with the exact probabilities of all targets."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from phrasescore.generation.sampling import Sampling
from phrasescore.generation.targets import SampleSettings, TargetGenerator, Targets, TargetSettings
from phrasescore.model.sequence_model import END, UNKNOWN, SequenceModel
from phrasescore.words.token_sequences import from_lists
from tests.unit.phrasescore.generation.tiny_models import SOURCES, all_targets, ln_p_of, tiny_model


def drawn(
    model: SequenceModel,
    settings: SampleSettings,
    allowed: TargetSettings | None = None,
    group: int = 100,
    sources: list[list[int]] = SOURCES,
    first: int = 0,
) -> Targets:
    """Return the samples of each source."""
    method = partial(Sampling, settings, allowed or TargetSettings(40))
    return TargetGenerator(model, method, "cpu", group).targets(from_lists(sources), first)


def counts_by_target(found: Targets, source: int) -> dict[tuple[int, ...], int]:
    rows = range(found.offsets[source], found.offsets[source + 1])
    return {tuple(found.words[row].tolist()): int(found.counts[row]) for row in rows}


def chi_square(counts: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """Return the statistic, and its quantile at 0.9999 (Wilson and Hilferty, 1931)."""
    expected = counts.sum() * p
    freedom = len(p) - 1
    quantile = freedom * (1 - 2 / (9 * freedom) + 3.719 * np.sqrt(2 / (9 * freedom))) ** 3
    return float(((counts - expected) ** 2 / expected).sum()), float(quantile)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_samples_have_the_exact_probabilities(temperature: float) -> None:
    """Samples pass a chi-square test over targets of up to two words and all others together."""
    model = tiny_model()
    found = drawn(model, SampleSettings(20_000, 1, temperature))
    targets = all_targets(2)
    for number, source in enumerate(SOURCES):
        p = np.array([tempered(model, source, target, temperature) for target in targets])
        drawings = counts_by_target(found, number)
        counts = np.array([drawings.get(tuple(target), 0) for target in targets])
        counts = np.append(counts, 20_000 - counts.sum())
        statistic, quantile = chi_square(counts, np.append(p, 1 - p.sum()))
        assert statistic < quantile
        # the test can fail, because it detects a slightly different model
        wrong = np.append(p[::-1], 1 - p.sum())
        assert chi_square(counts, wrong)[0] > quantile


def tempered(
    model: SequenceModel, source: list[int], target: list[int], temperature: float
) -> float:
    """Return p of a target whose words are drawn from softmax(ln p / temperature)."""
    p = 1.0
    with torch.no_grad():
        state, ln_p = model.start(
            torch.tensor([source]), torch.tensor([len(source)]), torch.float32
        )
        for word in [*target, END]:
            p *= float(torch.softmax(ln_p.double() / temperature, 1)[0, word])
            state, ln_p = model.step(state, torch.tensor([word]))
    return p


def test_ln_p_is_the_models_at_any_temperature() -> None:
    """At any temperature, ln p equals that of score."""
    model = tiny_model()
    found = drawn(model, SampleSettings(50, 1, 2.0))
    for number, source in enumerate(SOURCES):
        rows = range(found.offsets[number], found.offsets[number + 1])
        exact = ln_p_of(model, source, [found.words[row].tolist() for row in rows])
        np.testing.assert_allclose(found.ln_p[rows], exact, rtol=0, atol=1e-4)
        assert (np.diff(found.ln_p[rows]) <= 0).all()
        assert found.counts[rows].sum() == 50


def test_samples_depend_on_the_seed_and_the_number_of_their_source_alone() -> None:
    """Batch sizes do not change samples, but the seed and the number of the source do."""
    model = tiny_model()
    once = drawn(model, SampleSettings(30))
    for group in (1, 3):
        again = drawn(model, SampleSettings(30), group=group)
        assert again.words.tokens.tolist() == once.words.tokens.tolist()
        assert again.counts.tolist() == once.counts.tolist()
    alone = drawn(model, SampleSettings(30), sources=SOURCES[2:3], first=2)
    assert counts_by_target(alone, 0) == counts_by_target(once, 2)
    other = drawn(model, SampleSettings(30, seed=2))
    assert counts_by_target(other, 2) != counts_by_target(once, 2)
    elsewhere = drawn(model, SampleSettings(30), sources=SOURCES[2:3], first=7)
    assert counts_by_target(elsewhere, 0) != counts_by_target(once, 2)


def test_limits_hold() -> None:
    """Limits of length, <unk> and number of samples are obeyed."""
    allowed = TargetSettings(2, unknown=False)
    found = drawn(tiny_model(), SampleSettings(200), allowed)
    assert found.words.lengths.max() == 2
    assert UNKNOWN not in found.words.tokens
    # at least half the words of the source
    bound = drawn(tiny_model(), SampleSettings(200), TargetSettings(4, length_bounds=True))
    for number, source in enumerate(SOURCES):
        rows = range(bound.offsets[number], bound.offsets[number + 1])
        assert min(len(bound.words[row]) for row in rows) == (len(source) + 1) // 2
    few = drawn(tiny_model(), SampleSettings(200, best=3), allowed)
    assert np.diff(few.offsets).tolist() == [3] * len(SOURCES)
    assert few.ln_p[:3].tolist() == found.ln_p[:3].tolist()
