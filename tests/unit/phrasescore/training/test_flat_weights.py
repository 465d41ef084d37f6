"""Weights stored in the products' type have the bits of weights converted at each use."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.training.batches import uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.optimization.flat_weights import FlatWeights
from phrasescore.training.optimization.updates import ShareGradient, Updates
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import RECIPES
from phrasescore.training.settings import TrainingSettings
from tests.support.builders import write_phrase_table

SETTINGS = TrainingSettings(max_epochs=1)
KIND = torch.bfloat16


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    folder = tmp_path_factory.mktemp("pairs")
    return encode(
        TrainingSettings(inputs=(write_phrase_table(folder / "table", 600),)), folder / "pairs"
    )


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def model_of(pairs: EncodedPairs, **settings: Any) -> EncoderDecoder:
    model = EncoderDecoder(
        EncoderDecoderSettings(
            source_vocabulary=len(pairs.source.vocabulary),
            target_vocabulary=len(pairs.target.vocabulary),
            **{"hidden": 20, "maxout": 10, "embedding": 12, "rank": 10, **settings},
        )
    )
    model.initialise(torch.Generator().manual_seed(2), "scaled")
    return model


def batches_of(pairs: EncodedPairs) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    rows = np.arange(len(pairs))
    return uniform_plan(*pairs.lengths(rows), 24, np.random.default_rng(1))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"unit": "lstm"},
        {"unit": "tanh"},
        {"formulation": "appendix"},
        {"formulation": "appendix", "unit": "lstm"},
        {"context": "once"},
    ],
    ids=str,
)
def test_narrow_weights_have_the_gradient_of_wide_ones(
    pairs: EncodedPairs, settings: dict[str, Any]
) -> None:
    wide_model = model_of(pairs, **settings)
    narrow = FlatWeights(copy.deepcopy(wide_model), 1, KIND)
    wide = FlatWeights(wide_model, 1)
    assert wide.working is wide_model
    assert {each.dtype for each in narrow.working.parameters()} == {torch.float32, KIND}
    losses = []
    for weights in (narrow, wide):
        gradient = ShareGradient(weights.working, pairs, KIND, SETTINGS)
        losses.append(gradient(batches_of(pairs)[0], 0, 0, weights.gradient_views(0)))
        weights.add_up(1, slice(0, len(weights.values)))
    assert losses[0] == losses[1]
    assert torch.equal(narrow.gradient, wide.gradient)
    assert narrow.gradient.any()


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_that_are_taken_up_go_on_as_if_nothing_had_been(
    pairs: EncodedPairs, threads: int
) -> None:
    """Restored weights, including converted ones, continue with equal bits in a new trainer."""

    def updates_of(model: EncoderDecoder) -> Updates:
        settings = TrainingSettings(threads=threads, precision="bf16")
        recipe = dataclasses.replace(RECIPES["phrases", "fast"], min_share=4)
        return Updates(model, pairs, settings, recipe)

    batches = batches_of(pairs)[:8]
    first, second = model_of(pairs), model_of(pairs)
    through = updates_of(first)
    for number, rows in enumerate(batches[:4]):
        through(rows, number, 0.01, 0.01)
    weights = {name: value.clone() for name, value in first.state_dict().items()}
    moments = through.moments.clone()
    for number, rows in enumerate(batches[4:], 4):
        through(rows, number, 0.01, 0.01)
    through.close()
    after = updates_of(second)
    after.restore(weights, moments)
    for number, rows in enumerate(batches[4:], 4):
        after(rows, number, 0.01, 0.01)
    after.close()
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name
