"""The feed-forward language model: gradient, normaliser, initial weights, sizes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from phrasescore.errors import SettingsError
from phrasescore.model.kinds import FeedForwardLmSettings
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import Batch, Regularisation

SIZES: dict[str, Any] = {"target_vocabulary": 9, "order": 3, "embedding": 4, "hidden": 6}


def model_of(**sizes: Any) -> FeedForwardLm:
    """Return a small model in float64."""
    model = FeedForwardLm(FeedForwardLmSettings(**{**SIZES, "second_hidden": 5, **sizes}))
    model.initialise(torch.Generator().manual_seed(1), "scaled")
    return model.double()


def batch_of(*sentences: list[int]) -> Batch:
    """Return sentences padded to the longest."""
    lengths = torch.tensor([len(each) for each in sentences])
    longest = int(lengths.max())
    target = torch.tensor([each + [0] * (longest - len(each)) for each in sentences])
    nothing = torch.empty(len(sentences), 0, dtype=torch.int64)
    return Batch(nothing, target, (torch.zeros_like(lengths), lengths))


SENTENCES = batch_of([2, 3, 4, 5], [1], [8, 7, 2])


@pytest.mark.parametrize("self_normalise", [0.0, 0.5])
def test_the_gradient_is_that_of_differences(self_normalise: float) -> None:
    """The gradient of every weight equals finite differences."""
    model = model_of(self_normalise=self_normalise)
    weights = tuple(model.parameters())

    def loss(*_: torch.Tensor) -> torch.Tensor:  # reads the weights that are shifted in place
        return model.loss(SENTENCES, None, Regularisation.NONE)

    assert torch.autograd.gradcheck(loss, weights, atol=1e-7, rtol=0)


def test_self_normalisation_adds_the_squares_of_ln_z() -> None:
    """Words and </s> add the squares of ln Z to the loss, padding does not; scores are exact."""
    plain, kept = model_of(), model_of(self_normalise=0.5)
    kept.load_state_dict(plain.state_dict())
    normalisers = plain.log_normalisers(SENTENCES)
    assert normalisers.shape == (11,)  # eight words and three </s>
    extra = 0.5 * normalisers.square().sum()
    given = SENTENCES, None, Regularisation.NONE
    torch.testing.assert_close(kept.loss(*given), plain.loss(*given) + extra)
    torch.testing.assert_close(kept.score(SENTENCES), plain.score(SENTENCES))


def test_a_word_depends_on_no_more_than_the_words_before_it() -> None:
    """A trigram model reads two words; the start mark differs from </s> and <unk>."""
    model = model_of()
    far, near, begun = model.score(batch_of([2, 3, 4, 5], [6, 3, 4, 5], [0, 0, 4, 5]))
    torch.testing.assert_close(far[3:], near[3:])
    assert far[2] != near[2]
    (alone,) = model.score(batch_of([4, 5]))
    assert (begun[2:4] != alone[:2]).all()


def test_how_weights_begin() -> None:
    """Weights begin as in the paper or scaled; self-normalised models begin with Z near 1."""
    generator = torch.Generator().manual_seed(1)
    model = model_of(embedding=40, hidden=50)
    model.initialise(generator, "paper")
    for name, parameter in model.named_parameters():
        assert 0.005 < parameter.abs().max() <= 0.01, name
    for initialisation in ("paper", "scaled"):
        model = model_of(self_normalise=0.1)
        model.initialise(generator, initialisation)
        assert model.output_bias.mean().item() == pytest.approx(-math.log(9), abs=0.01)


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ({"order": 1}, "the model's order is 1, expected 2 to 100,000,000"),
        ({"second_hidden": 0}, "second_hidden is 0, expected 1 to 100,000,000"),
        ({"self_normalise": -0.1}, "self_normalise is -0.1, expected 0 to below inf"),
        ({"self_normalise": float("nan")}, "self_normalise is nan"),
    ],
)
def test_sizes_that_no_model_has(sizes: dict[str, Any], problem: str) -> None:
    """Impossible sizes are refused."""
    with pytest.raises(SettingsError) as caught:
        FeedForwardLmSettings(**{**SIZES, **sizes})
    assert problem in str(caught.value)
