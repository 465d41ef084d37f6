"""For every kind of model, loss, scores and steps agree."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import (
    EncoderDecoderSettings,
    FeedForwardPhraseSettings,
    ModelSettings,
    RnnEncdecSettings,
    RnnLmSettings,
    RnnSearchSettings,
)
from phrasescore.model.sequence_model import Batch, Regularisation, SequenceModel, build

SIZES: dict[str, Any] = {"source_vocabulary": 9, "target_vocabulary": 8}
SIZES |= {"hidden": 6, "embedding": 4, "rank": 3}
ENCODER_DECODERS = [
    EncoderDecoderSettings(**SIZES, maxout=5, unit=unit, context=context, formulation=formulation)
    for unit, context, formulation in itertools.product(
        ("gated", "tanh", "lstm"), ("every-step", "once"), ("code", "appendix")
    )
]
SENTENCES: list[ModelSettings] = [
    settings(**SIZES, maxout=5, formulation=formulation)
    for settings in (RnnSearchSettings, RnnEncdecSettings)
    for formulation in ("code", "paper")
]
FEED_FORWARD = FeedForwardPhraseSettings(**SIZES, phrase_length=3)
LANGUAGE = [
    RnnLmSettings(target_vocabulary=8, hidden=6, embedding=4, maxout=5, rank=3, unit=unit)
    for unit in ("gated", "tanh", "lstm")
]
ALL_SETTINGS: list[ModelSettings] = [*ENCODER_DECODERS, FEED_FORWARD, *SENTENCES, *LANGUAGE]


def name_of(settings: ModelSettings) -> str:
    """Return a distinct name of a model."""
    choices = (getattr(settings, name, "") for name in ("unit", "context", "formulation"))
    return "-".join(filter(None, [settings.kind, *choices]))


@pytest.fixture(params=ALL_SETTINGS, ids=name_of)
def model(request: pytest.FixtureRequest) -> SequenceModel:
    """Return a small model of each kind in float64."""
    settings: ModelSettings = request.param
    model = build(settings)
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    return model.double()


@pytest.fixture
def batch() -> Batch:
    """Return three pairs of different lengths, with one empty target."""
    source = torch.tensor([[2, 3, 4], [5, 0, 0], [6, 7, 0]])
    target = torch.tensor([[2, 3], [0, 0], [4, 0]])
    return Batch(source, target, (torch.tensor([3, 1, 2]), torch.tensor([2, 0, 1])))


def test_the_loss_is_minus_the_sum_of_the_scores(model: SequenceModel, batch: Batch) -> None:
    """The loss is minus the sum of scores; padding adds to neither."""
    scores = model.score(batch)
    assert model.loss(batch, None, Regularisation.NONE).item() == pytest.approx(
        -scores.sum().item(), rel=1e-12
    )
    assert scores[1, 1:].tolist() == [0.0, 0.0]
    assert (scores[0] < 0).all()


def test_padding_changes_no_score(model: SequenceModel, batch: Batch) -> None:
    """A pair has equal scores alone and in the batch."""
    together = model.score(batch)
    assert batch.lengths is not None
    for row, (S, T) in enumerate(zip(*(x.tolist() for x in batch.lengths), strict=True)):
        one = slice(row, row + 1)
        alone = model.score(Batch(batch.source[one, :S], batch.target[one, :T], None))
        torch.testing.assert_close(alone[0], together[row, : T + 1], rtol=0, atol=1e-12)


def test_steps_give_the_scores(model: SequenceModel, batch: Batch) -> None:
    """Start and step give ln p of each word; each step is a distribution."""
    scores = model.score(batch)
    assert batch.lengths is not None
    state, ln_p = model.start(batch.source, batch.lengths[0], torch.float64)
    for at in range(batch.target.shape[1] + 1):
        np.testing.assert_allclose(ln_p.exp().sum(1).detach(), 1.0, atol=1e-12)
        for row, length in enumerate(batch.lengths[1].tolist()):
            if at <= length:
                word = batch.target[row, at] if at < length else 0
                assert ln_p[row, word].item() == pytest.approx(scores[row, at].item(), abs=1e-12)
        if at < batch.target.shape[1]:
            state, ln_p = model.step(state, batch.target[:, at])


def test_states_can_be_gathered(model: SequenceModel, batch: Batch) -> None:
    """Copied and reordered states continue like the original states."""
    assert batch.lengths is not None
    state, _ = model.start(batch.source, batch.lengths[0], torch.float64)
    rows, words = torch.tensor([2, 0, 2]), torch.tensor([3, 3, 3])
    _, straight = model.step(state, words)
    _, chosen = model.step(state.gathered(rows), words)
    torch.testing.assert_close(chosen, straight[rows], rtol=0, atol=1e-12)


def test_dropout_keeps_the_expectation_and_repeats_with_its_seed() -> None:
    """A share of elements is 0 and others are scaled up; equal seeds drop equal elements."""

    def dropped(seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        return Regularisation(0.25, 0.0, generator).dropped(torch.ones(400, 500))

    values = dropped(1)
    assert sorted(values.unique().tolist()) == pytest.approx([0, 4 / 3])
    assert values.mean().item() == pytest.approx(1, abs=0.01)
    assert torch.equal(values, dropped(1))
    assert not torch.equal(values, dropped(2))


def test_states_of_other_sources_are_joined() -> None:
    """Joined and reordered starts continue like each start alone, with their memories."""
    model = build(SENTENCES[0])
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    model.double()
    sources = torch.tensor([[2, 3, 4], [5, 6, 7]]), torch.tensor([[4, 2, 3, 5]])
    first, _ = model.start(sources[0], torch.tensor([3, 2]), torch.float64)
    second, _ = model.start(sources[1], torch.tensor([4]), torch.float64)
    joined = first.followed_by([second]).gathered(torch.tensor([2, 1, 0]))
    words = torch.tensor([3, 4, 5])
    _, together = model.step(joined, words)
    alone = [model.step(second, words[:1])[1], model.step(first, words[[2, 1]])[1].flip(0)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-12)
