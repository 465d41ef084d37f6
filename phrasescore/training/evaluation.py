"""How well a model predicts held-out pairs: exact negative ln p per word, and perplexity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from phrasescore.model.encoder_decoder import EncoderDecoder
from phrasescore.pairs.phrase_pairs import PhrasePairs
from phrasescore.training.batches import Indices, make_batch, uniform_plan

_BATCH = 512


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
        """The exponential of the nats per word."""
        return math.exp(self.nll)


def evaluate(
    model: EncoderDecoder, pairs: PhrasePairs, rows: Indices, dtype: torch.dtype | None = None
) -> HeldOutFigure | None:
    """Score held-out pairs; ``None`` if there are none.

    Args:
        model: On any device.
        pairs: Where the rows come from.
        rows: ``(N,)`` which pairs.
        dtype: What the recurrent products run in; the output layer runs in the model's own type.
    """
    if not len(rows):
        return None
    device = model.output_bias.device
    source_lengths, target_lengths = lengths_of(pairs, rows)
    plan = uniform_plan(source_lengths, target_lengths, _BATCH, np.random.default_rng(0))
    total, words = 0.0, 0
    with torch.no_grad():
        for part in plan:
            batch = make_batch(pairs.source, pairs.target, rows[part]).to(device)
            context = model.summaries(batch.source, batch.lengths and batch.lengths[0], dtype)
            found = model.log_probabilities(context, batch.target)
            total -= float(found.sum(dtype=torch.float64))
            words += batch.words
    return HeldOutFigure(len(rows), words, total / words)


def lengths_of(pairs: PhrasePairs, rows: Indices) -> tuple[Indices, Indices]:
    """Return the source and target lengths of some pairs, without </s>."""
    source = pairs.source_offsets[rows + 1] - pairs.source_offsets[rows]
    target = pairs.target_offsets[rows + 1] - pairs.target_offsets[rows]
    return np.asarray(source, np.int64), np.asarray(target, np.int64)
