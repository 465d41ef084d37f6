"""The recipes' learning rate, batch size and treatment of gradients."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from phrasescore.model.kinds import (
    EncoderDecoderSettings,
    FeedForwardPhraseSettings,
    RnnSearchSettings,
)
from phrasescore.training.optimization.flat_weights import adadelta
from phrasescore.training.recipes import RECIPES, bound_gradient, recipe_of
from phrasescore.training.settings import TrainingSettings

SIZES = EncoderDecoderSettings(source_vocabulary=9, target_vocabulary=9, hidden=300)


def test_the_paper_recipe_is_the_paper_s() -> None:
    """It has Adadelta with rho 0.95 and eps 1e-6, 64 pairs, a constant rate, the summed loss."""
    recipe, batch_size, rate = recipe_of(
        TrainingSettings(recipe="paper", max_epochs=1), 10**6, SIZES
    )
    assert recipe.optimizer is adadelta
    assert (batch_size, rate, recipe.mean_loss) == (64, 1.0, False)
    assert {recipe.rate(rate, updates, 0.9) for updates in (0, 100, 10**6)} == {1.0}


def test_the_fast_rate_rises_and_falls() -> None:
    """The rate warms up over 200 updates and reaches 0 at the end of the run."""
    recipe = RECIPES["phrases", "fast"]
    assert recipe.rate(1.0, 0, 0.0) == pytest.approx(1 / 200)
    assert recipe.rate(1.0, 199, 0.0) == pytest.approx(1.0)
    assert recipe.rate(1.0, 1000, 0.5) == pytest.approx(0.5)
    assert recipe.rate(1.0, 5000, 1.0) == pytest.approx(0.0)


def test_a_smaller_model_learns_at_a_higher_rate() -> None:
    """The rate depends on the width within bounds, for tested kinds, unless the user sets it."""
    asked = TrainingSettings(max_epochs=1)
    rates = [
        recipe_of(asked, 10**5, dataclasses.replace(SIZES, hidden=hidden, unit=unit))[2]
        for hidden, unit in ((50, "gated"), (250, "gated"), (1000, "gated"), (250, "tanh"))
    ]
    assert rates == pytest.approx([0.008, 0.008, 0.002, 0.002])
    other = FeedForwardPhraseSettings(source_vocabulary=9, target_vocabulary=9, hidden=100)
    assert recipe_of(asked, 10**5, other)[2] == 0.002
    own = dataclasses.replace(asked, learning_rate=0.003)
    assert recipe_of(own, 10**5, SIZES)[2] == 0.003


def test_little_text_trains_in_small_batches() -> None:
    """``fast`` has batches of 16 for little text; a narrow model learns at a higher rate."""
    sizes = RnnSearchSettings(source_vocabulary=9, target_vocabulary=9, hidden=128)
    asked = TrainingSettings(kind="search", max_epochs=1)
    assert recipe_of(asked, 20_000, sizes)[1:] == (16, pytest.approx(0.006))
    assert recipe_of(asked, 20_001, dataclasses.replace(sizes, hidden=512))[1:] == (64, 0.0015)
    for own, expected in (({"batch_size": 5}, 5), ({"recipe": "paper"}, 80)):
        assert recipe_of(dataclasses.replace(asked, **own), 5_000, sizes)[1] == expected
    text = TrainingSettings(kind="feed-forward-lm", max_epochs=1)
    assert recipe_of(text, 8_000, sizes)[1:] == (16, 0.002)
    assert recipe_of(text, 8_001, sizes)[1:] == (64, 0.002)
    assert recipe_of(TrainingSettings(max_epochs=1), 5_000, SIZES)[1] == 32


@pytest.mark.parametrize(
    ("gradient", "scale", "after"),
    [
        ([3.0, 4.0], 1.0, [0.6, 0.8]),  # norm 5, scaled to 1
        ([3.0, 4.0], 0.1, [0.3, 0.4]),  # the mean over ten words is short enough
        ([0.3, 0.4], 1.0, [0.3, 0.4]),
        ([float("nan"), 0.0], 1.0, [0.2, -0.4]),  # shrinks the weights by a tenth
        ([float("inf"), 0.0], 1.0, [0.2, -0.4]),
    ],
)
def test_the_gradient_is_kept_in_bounds(
    gradient: list[float], scale: float, after: list[float]
) -> None:
    """A long gradient is scaled to norm 1; a gradient that is not finite shrinks the weights."""
    changed = torch.tensor(gradient)
    bound_gradient(torch.tensor([2.0, -4.0]), changed, float(changed.norm()), scale)
    torch.testing.assert_close(changed, torch.tensor(after))
