"""How well a model predicts held-out pairs: exact negative ln p per word, and perplexity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from phrasescore.errors import ModelError
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.training.batches import Indices, Plan, make_batch, uniform_plan
from phrasescore.training.training_pairs import TrainingPairs

_BATCH = 512
_LARGEST_EXPONENT = 709.0  # of e, in a float


@dataclass(frozen=True)
class HeldOutFigure:
    """The negative ln p of held-out pairs.

    Attributes:
        pairs: How many pairs.
        words: How many target words, a final </s> counted for each pair.
        nll: Nats per word.
    """

    pairs: int
    words: int
    nll: float

    @property
    def perplexity(self) -> float:
        """The exponential of the nats per word; infinity where no number is as large."""
        return math.exp(self.nll) if self.nll < _LARGEST_EXPONENT else math.inf


def refuse_divergence(
    folder: Path, model: SequenceModel, figures: Iterable[HeldOutFigure | None]
) -> None:
    """See whether a trained model gives numbers at all.

    Args:
        folder: Where it was to be written, for the error.
        model: On any device.
        figures: How well it predicts what was held out, if anything was.

    Raises:
        ModelError: A weight or a perplexity is not finite.
    """
    finite = all(bool(torch.isfinite(each).all()) for each in model.parameters())
    if not finite or any(each and not math.isfinite(each.perplexity) for each in figures):
        raise ModelError(
            "training came to numbers that are not finite, so there is no model",
            path=folder,
            remedy="train again with a lower --learning-rate, and with --overwrite",
        )


def score_share(
    model: SequenceModel,
    pairs: TrainingPairs,
    rows: Indices,
    plan: Plan = uniform_plan,
    dtype: torch.dtype | None = None,
    at: int = 0,
    count: int = 1,
) -> tuple[float, int]:
    """Score a share of held-out pairs; return the sum of their negative ln p, and their words.

    Args:
        model: On any device.
        pairs: Where the rows come from.
        rows: ``(N,)`` which pairs are held out.
        plan: How to cut them into batches.
        dtype: What the recurrent products run in; the output layer runs in the model's own type.
        at: Which share, from 0.
        count: Of how many.
    """
    parts = plan(*lengths_of(pairs, rows), _BATCH, np.random.default_rng(0))
    total, words = 0.0, 0
    with torch.no_grad():
        for part in parts[at::count]:
            batch = make_batch(pairs.source, pairs.target, rows[part]).to(model.device)
            total -= float(model.score(batch, dtype).sum(dtype=torch.float64))
            words += batch.words
    return total, words


def normalisers(
    model: FeedForwardLm, pairs: TrainingPairs, rows: Indices, plan: Plan
) -> tuple[float, float]:
    """Return mean and deviation of ln Z over the target words and </s> of some pairs.

    Args:
        model: On any device.
        pairs: Where the rows come from.
        rows: ``(N,)`` which pairs, one at least.
        plan: How to cut them into batches.
    """
    parts = plan(*lengths_of(pairs, rows), _BATCH, np.random.default_rng(0))
    with torch.no_grad():
        found = [
            model.log_normalisers(
                make_batch(pairs.source, pairs.target, rows[part]).to(model.device)
            )
            for part in parts
        ]
    every = torch.cat(found).double()
    return float(every.mean()), float(every.std(correction=0))


def lengths_of(pairs: TrainingPairs, rows: Indices) -> tuple[Indices, Indices]:
    """Return the source and target lengths of some pairs, without </s>."""
    return pairs.source.lengths(rows), pairs.target.lengths(rows)
