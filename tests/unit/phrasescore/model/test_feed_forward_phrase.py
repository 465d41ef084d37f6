"""Compares the feed-forward phrase model with its formula, also at its limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import FeedForwardPhraseSettings
from phrasescore.model.networks.feed_forward_phrase import FeedForwardPhrase
from phrasescore.model.sequence_model import Batch, Regularisation
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.words.token_sequences import from_lists
from tests.support.unshared_scorer import UnsharedScorer


@pytest.fixture
def model() -> FeedForwardPhrase:
    """Return a small model of phrases of up to three words, in float64."""
    sizes = FeedForwardPhraseSettings(
        source_vocabulary=9, target_vocabulary=6, hidden=5, embedding=4, rank=3, phrase_length=3
    )
    made = FeedForwardPhrase(sizes)
    made.initialise(torch.Generator().manual_seed(1), "scaled")
    return made.double()


def by_formula(model: FeedForwardPhrase, source: list[int], target: list[int]) -> list[float]:
    """Return ln p of each word and </s>, computed in numpy."""
    w = {name: value.detach().numpy() for name, value in model.named_parameters()}
    x = np.zeros((3, 4))
    for place, word in enumerate(source[:3]):
        x[place] = w["source_embedding"][word]
    h = np.tanh(x.ravel() @ w["input_weight"] + w["input_bias"])
    h = np.tanh(h @ w["hidden_weight"] + w["hidden_bias"])
    places = (h @ w["place_weight"] + w["place_bias"]).reshape(3, 3)
    found = []
    for place, word in enumerate([*target, 0]):
        if place >= 3:
            found.append(0.0 if word == 0 else -100.0)
            continue
        logits = w["output_words"] @ places[place] + w["output_bias"]
        found.append(float(logits[word] - np.log(np.exp(logits).sum())))
    return found


@pytest.mark.parametrize(
    ("source", "target"),
    [([2], [3]), ([2, 3], []), ([4, 5, 6], [1, 2, 3]), ([4, 5, 6, 7], [5, 4, 3, 2]), ([8], [2, 2])],
)
def test_scores_are_those_of_the_formula(
    model: FeedForwardPhrase, source: list[int], target: list[int]
) -> None:
    """Scores follow the formula at every length; after the last place only </s> is possible."""
    batch = Batch(torch.tensor([source]), torch.tensor([target]).long(), None)
    expected = by_formula(model, source, target)
    np.testing.assert_allclose(model.score(batch)[0].detach(), expected, rtol=0, atol=1e-12)
    assert model.loss(batch, None, Regularisation.NONE).item() == pytest.approx(
        -sum(expected), abs=1e-12
    )
    state, ln_p = model.start(batch.source, torch.tensor([len(source)]), torch.float64)
    for place, word in enumerate([*target, 0]):
        assert ln_p[0, word].item() == pytest.approx(expected[place], abs=1e-12)
        state, ln_p = model.step(state, torch.tensor([word]))


def test_pairs_of_all_lengths_are_scored_with_sharing(model: FeedForwardPhrase) -> None:
    """The scorer of tables gives equal scores to each pair alone."""
    rng = np.random.default_rng(3)
    sources = [rng.integers(1, 9, rng.integers(1, 6)).tolist() for _ in range(60)]
    targets = [rng.integers(1, 6, rng.integers(0, 6)).tolist() for _ in range(60)]
    pairs = from_lists(sources), from_lists(targets)
    single = model.float()
    shared = SharedScorer(single, "cpu", "fp32").score(*pairs)
    np.testing.assert_allclose(shared, UnsharedScorer(single, "cpu").score(*pairs), atol=1e-4)
    model.double()
    expected = [sum(by_formula(model, s, t)) for s, t in zip(sources, targets, strict=True)]
    np.testing.assert_allclose(shared, expected, rtol=0, atol=1e-4)


def test_the_gradient_is_that_of_differences(model: FeedForwardPhrase) -> None:
    """Gradients equal finite differences for pairs of all lengths, one of them too long."""
    source = torch.tensor([[2, 3, 4], [5, 0, 0], [8, 7, 0]])
    target = torch.tensor([[2, 3, 4, 5], [1, 0, 0, 0], [0, 0, 0, 0]])
    batch = Batch(source, target, (torch.tensor([3, 1, 2]), torch.tensor([4, 1, 0])))
    weights = tuple(model.parameters())

    def loss(*_: torch.Tensor) -> torch.Tensor:  # reads the weights that are shifted in place
        return model.loss(batch, None, Regularisation.NONE)

    assert torch.autograd.gradcheck(loss, weights, atol=1e-7, rtol=0)
