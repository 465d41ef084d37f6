"""Scores of a GPU are those of the CPU, in any groups, run after run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.model.folder import load_model
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.scoring.block_scoring import MAX_DIFFERENCE, MAX_MEAN
from phrasescore.scoring.shared_scorer import Precision, SharedScorer
from phrasescore.words.token_sequences import TokenSequences, from_lists
from tests.support.random_models import save_random_model
from tests.support.unshared_scorer import UnsharedScorer

WORDS = [b"w%d" % number for number in range(300)]
KINDS = ["phrase", "feed-forward-phrase", "search", "encdec", "feed-forward-lm", "rnn-lm"]
# of ln p in float32, per word: rounding in another order
BOUND = 1e-5
PAIRS = 3000


def random_model(folder: Path, kind: str) -> SequenceModel:
    return load_model(save_random_model(folder / kind, WORDS, WORDS, kind=kind)).model


def phrases(rng: np.random.Generator, longest: int, shortest: int = 1) -> TokenSequences:
    lengths = rng.integers(shortest, longest + 1, PAIRS)
    return from_lists([rng.integers(1, len(WORDS) + 2, length).tolist() for length in lengths])


def pairs_for(kind: str, rng: np.random.Generator) -> tuple[TokenSequences, TokenSequences]:
    return phrases(rng, 0 if kind.endswith("lm") else 6, 0), phrases(rng, 6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_scores_are_those_of_the_cpu(
    tmp_path: Path, rng: np.random.Generator, kind: str, precision: Precision
) -> None:
    """In float32 to rounding, in bfloat16 within its bounds; with and without sharing."""
    model, (sources, targets) = random_model(tmp_path, kind), pairs_for(kind, rng)
    expected = SharedScorer(model, "cpu").score(sources, targets)
    found = SharedScorer(model, "cuda", precision).score(sources, targets)
    per_word = np.abs(found - expected) / (targets.lengths + 1)
    assert per_word.mean() <= (MAX_MEAN if precision == "bf16" else BOUND / 5)
    assert per_word.max() <= (MAX_DIFFERENCE if precision == "bf16" else BOUND)
    alone = UnsharedScorer(model, "cuda").score(sources, targets)
    assert np.abs(alone - expected).max() <= BOUND * 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_scores_repeat_to_the_bit(
    tmp_path: Path, rng: np.random.Generator, kind: str, precision: Precision
) -> None:
    """An interrupted run goes on with the same bytes."""
    model, (sources, targets) = random_model(tmp_path, kind), pairs_for(kind, rng)
    scorers = [SharedScorer(model, "cuda", precision, 512) for _ in range(3)]
    first, *others = (scorer.score(sources, targets) for scorer in scorers)
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.fixture
def little_memory() -> Iterator[None]:
    """A GPU that gives this process no more than 24 MiB beside what it has."""
    torch.cuda.empty_cache()
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (24 << 20)) / whole)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("kind", ["phrase", "search", "rnn-lm"])
def test_what_does_not_fit_is_halved(tmp_path: Path, rng: np.random.Generator, kind: str) -> None:
    """Out of memory, the group is halved until it fits, and later groups are made no larger."""
    model, (sources, targets) = random_model(tmp_path, kind), pairs_for(kind, rng)
    scorer = SharedScorer(model, "cuda")
    found = scorer.score(sources, targets)
    expected = SharedScorer(model, "cpu").score(sources, targets)
    assert np.abs(found - expected).max() <= BOUND * 8
    np.testing.assert_allclose(scorer.score(sources, targets), expected, rtol=0, atol=BOUND * 8)
