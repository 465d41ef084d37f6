"""The distribution of pairs to batches."""

from __future__ import annotations

import numpy as np
import pytest

from phrasescore.training.batches import paper_plan, share, uniform_plan


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


def test_shares_are_the_batch() -> None:
    """The shares of all processes together are the batch, with each row once."""
    rows = np.arange(11)
    together = np.concatenate([share(rows, rank, 3) for rank in range(3)])
    assert sorted(together.tolist()) == rows.tolist()
