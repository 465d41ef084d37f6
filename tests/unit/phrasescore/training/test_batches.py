"""The distribution of pairs to batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import read_settings
from phrasescore.model.sequence_model import END, Batch, Regularisation, build
from phrasescore.training.batches import in_few_shapes, paper_plan, uniform_plan


@pytest.fixture
def lengths(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of 2,000 pairs, up to 40 words."""
    return rng.integers(1, 41, 2000), rng.integers(1, 41, 2000)


def test_a_uniform_plan_takes_each_pair_once_and_mixes_no_lengths(
    lengths: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    """Every pair is in one batch, and all pairs of a batch have equal lengths."""
    plan = uniform_plan(*lengths, 16, rng)
    assert sorted(np.concatenate(plan).tolist()) == list(range(2000))
    for rows in plan:
        assert len({(lengths[0][row], lengths[1][row]) for row in rows}) == 1


def test_uniform_batches_hold_about_the_same_number_of_words(rng: np.random.Generator) -> None:
    """Batches of short pairs are larger, so that all updates see about as many words."""
    source = np.repeat([1, 7], 5000)
    plan = uniform_plan(source, source, 100, rng)
    sizes = {int(source[rows[0]]): len(rows) for rows in plan if len(rows) > 50}
    # an average pair has (4 + 16) / 2 = 10 steps, and a batch has 100 such pairs
    assert sizes == {1: 250, 7: 62}


def test_a_paper_plan_sorts_ten_batches_and_leaves_long_phrases_out(
    lengths: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    """Ten batches are sorted by length, and pairs of over 30 words are left out."""
    longest = np.maximum(*lengths)
    plan = paper_plan(*lengths, 16, rng)
    assert sorted(np.concatenate(plan).tolist()) == np.flatnonzero(longest <= 30).tolist()
    assert {len(rows) for rows in plan[:-1]} == {16}
    for first in range(0, len(plan), 10):
        group = np.concatenate(plan[first : first + 10])
        assert (np.diff(longest[group]) >= 0).all()


@pytest.mark.parametrize(
    "kind", ["rnn-encoder-decoder", "feed-forward-phrase", "rnn-search", "rnn-encdec"]
)
def test_more_padding_does_not_change_the_loss(kind: str) -> None:
    """A batch of 21 pairs gets rounded sizes; what is added counts for nothing."""
    sizes = {"source_vocabulary": 30, "target_vocabulary": 40, "kind": kind, "hidden": 12}
    model = build(read_settings(sizes | {"embedding": 8, "rank": 6}, where="a test")).double()
    generator = torch.Generator().manual_seed(2)
    model.initialise(generator, "scaled")
    sides, lengths = [], []
    for words, longest in ((30, 9), (40, 6)):
        length = torch.randint(1, longest + 1, (21,), generator=generator)
        ids = torch.randint(2, words, (21, longest), generator=generator)
        sides.append(ids.masked_fill(torch.arange(longest) >= length[:, None], END))
        lengths.append(length)
    batch = Batch(sides[0], sides[1], (lengths[0], lengths[1]))
    padded = in_few_shapes(batch)
    assert [each.shape for each in (padded.source, padded.target)] == [(32, 12), (32, 8)]
    losses = [model.loss(each, None, Regularisation.NONE).item() for each in (padded, batch)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_a_batch_of_equal_lengths_is_padded_too() -> None:
    """Without padding before, the lengths say where the new padding begins."""
    batch = in_few_shapes(Batch(torch.full((3, 5), 7), torch.full((3, 4), 8), None))
    assert batch.lengths is not None
    assert (batch.source.shape, batch.target.shape) == ((16, 8), (16, 4))
    assert [each.tolist() for each in batch.lengths] == [[5] * 3 + [0] * 13, [4] * 3 + [-1] * 13]
    assert batch.counted is not None
    assert batch.counted.sum() == 3 * 5
