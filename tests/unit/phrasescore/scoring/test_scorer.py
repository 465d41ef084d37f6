"""Scores of many pairs at once against scores of one pair at a time in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phrasescore.model.encoder_decoder import EncoderDecoder
from phrasescore.model.settings import Formulation, ModelSettings
from phrasescore.scoring.scorer import Scorer
from phrasescore.token_sequences import TokenSequences, from_lists


def model_of(formulation: Formulation = "code") -> EncoderDecoder:
    """Return a small model with strong weights, so that mistakes show."""
    settings = ModelSettings(
        31, 37, hidden=24, embedding=7, maxout=11, rank=5, formulation=formulation
    )
    model = EncoderDecoder(settings)
    model.initialise(torch.Generator().manual_seed(5), "scaled")
    return model


def phrases(rng: np.random.Generator, count: int, words: int) -> list[list[int]]:
    """Return phrases of 0 to 6 words, every third one that before it again."""
    made: list[list[int]] = []
    for at in range(count):
        fresh = rng.integers(1, words, rng.integers(0, 7)).tolist()
        made.append(list(made[-1]) if at % 3 == 2 else fresh)
    return made


def one_by_one(
    model: EncoderDecoder, sources: list[list[int]], targets: list[list[int]]
) -> list[float]:
    exact = EncoderDecoder(model.settings).double()
    exact.load_state_dict(model.state_dict())
    with torch.no_grad():
        return [
            exact.log_probabilities(
                exact.summaries(torch.tensor([source], dtype=torch.long)),
                torch.tensor([target], dtype=torch.long),
            )
            .sum()
            .item()
            for source, target in zip(sources, targets, strict=True)
        ]


@pytest.mark.parametrize("formulation", ["code", "appendix"])
@pytest.mark.parametrize("batch_size", [1, 7, 512])
def test_any_batch_size_gives_the_exact_score(
    formulation: Formulation, batch_size: int, rng: np.random.Generator
) -> None:
    """Each score is within 1e-4 of the pair's own in float64, empty phrases included."""
    model = model_of(formulation)
    sources, targets = phrases(rng, 90, 31), phrases(rng, 90, 37)
    scorer = Scorer(model, "cpu", "fp32", batch_size)
    found = scorer.score(from_lists(sources), from_lists(targets))
    np.testing.assert_allclose(found, one_by_one(model, sources, targets), rtol=0, atol=1e-4)


def test_the_order_of_the_pairs_does_not_matter(rng: np.random.Generator) -> None:
    """Shuffled pairs get the scores of the unshuffled ones, shuffled."""
    model = model_of()
    sources, targets = from_lists(phrases(rng, 60, 31)), from_lists(phrases(rng, 60, 37))
    scorer = Scorer(model, "cpu", "fp32")
    straight = scorer.score(sources, targets)
    order = rng.permutation(60)
    shuffled = scorer.score(sources.select(order), targets.select(order))
    np.testing.assert_allclose(shuffled, straight[order], rtol=0, atol=1e-5)


def test_bf16_stays_near(rng: np.random.Generator) -> None:
    """bfloat16 products move a word's ln p by little, and something: they are in use."""
    model = model_of()
    lists = phrases(rng, 60, 31), phrases(rng, 60, 37)
    sources, targets = from_lists(lists[0]), from_lists(lists[1])
    exact = Scorer(model, "cpu", "fp32").score(sources, targets)
    near = Scorer(model, "cpu", "bf16").score(sources, targets)
    per_word = np.abs(near - exact) / (targets.lengths + 1)
    assert 0 < per_word.mean() < 0.05


def test_a_distribution_over_phrases_sums_to_one() -> None:
    """The p of all targets of up to two words, and of all that go on, add up to 1."""
    settings = ModelSettings(5, 4, hidden=6, embedding=3, maxout=4, rank=3)
    model = EncoderDecoder(settings)
    model.initialise(torch.Generator().manual_seed(5), "scaled")
    words = [1, 2, 3]
    targets = [[], *([a] for a in words), *([a, b] for a in words for b in words)]
    source: TokenSequences = from_lists([[2, 3]] * len(targets))
    ended = np.exp(Scorer(model, "cpu", "fp32").score(source, from_lists(targets))).sum()
    with torch.no_grad():
        context = model.double().summaries(torch.tensor([[2, 3]] * 9))
        going_on = model.log_probabilities(context, torch.tensor(targets[4:]))
        # p(a, b, another word) = p(a) p(b | a) (1 - p(end | a, b))
        rest = (going_on[:, :2].sum(1).exp() * (1 - going_on[:, 2].exp())).sum().item()
    assert ended + rest == pytest.approx(1.0, abs=1e-5)
