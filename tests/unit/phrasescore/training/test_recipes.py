"""What the recipes do to learning rate, batch size and gradient."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from phrasescore.training.recipes import RECIPES, batch_size_for, clip_gradient, recipe_of
from phrasescore.training.training_settings import TrainingSettings


def test_the_paper_recipe_is_the_paper_s() -> None:
    """Adadelta with rho 0.95 and eps 1e-6, 64 pairs, a rate that stays, the summed loss."""
    recipe, batch_size, rate = recipe_of(TrainingSettings(recipe="paper", max_epochs=1), 10**6)
    optimizer = recipe.optimizer([nn.Parameter(torch.zeros(1))], rate)
    assert isinstance(optimizer, torch.optim.Adadelta)
    assert (optimizer.defaults["rho"], optimizer.defaults["eps"]) == (0.95, 1e-6)
    assert (batch_size, rate, recipe.mean_loss) == (64, 1.0, False)
    assert {recipe.rate(rate, updates, 0.9) for updates in (0, 100, 10**6)} == {1.0}


def test_the_fast_rate_rises_and_falls() -> None:
    """The rate warms up over 200 updates and reaches 0 at the end of the run."""
    recipe = RECIPES["fast"]
    assert recipe.rate(1.0, 0, 0.0) == pytest.approx(1 / 200)
    assert recipe.rate(1.0, 199, 0.0) == pytest.approx(1.0)
    assert recipe.rate(1.0, 1000, 0.5) == pytest.approx(0.5)
    assert recipe.rate(1.0, 5000, 1.0) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("pairs", "size"), [(1, 32), (80_000, 64), (830_000, 256), (10**7, 512), (10**9, 512)]
)
def test_a_larger_table_gets_larger_batches(pairs: int, size: int) -> None:
    """The batch size is a power of two from 32 to 512 that grows with the table."""
    assert batch_size_for(pairs) == size


def _parameter(gradient: list[float]) -> nn.Parameter:
    parameter = nn.Parameter(torch.tensor([2.0, -4.0]))
    parameter.grad = torch.tensor(gradient)
    return parameter


@pytest.mark.parametrize(
    ("gradient", "after"),
    [
        ([3.0, 4.0], [0.6, 0.8]),  # of norm 5: scaled to 1
        ([0.3, 0.4], [0.3, 0.4]),  # short enough
        ([float("nan"), 0.0], [0.2, -0.4]),  # a tenth of the weights
        ([float("inf"), 0.0], [0.2, -0.4]),
    ],
)
def test_the_gradient_is_kept_in_bounds(gradient: list[float], after: list[float]) -> None:
    """A long gradient is scaled to norm 1; one that is not finite shrinks the weights instead."""
    parameter = _parameter(gradient)
    clip_gradient([parameter])
    assert parameter.grad is not None
    torch.testing.assert_close(parameter.grad, torch.tensor(after))
