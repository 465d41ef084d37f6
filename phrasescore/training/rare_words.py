"""Words seen once, some of which are learnt as the unknown word, so that it is learnt at all.

Where the shortlist has room for every word of a text, no ``<unk>`` stands there, and a model would
give a new word nothing. How often a new word comes is about how often a word has come that stands
once in the text (Good and Turing), so a share of these become ``<unk>``, drawn anew for each batch.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import UNKNOWN, Batch
from phrasescore.pairs.held_out import Remainder
from phrasescore.pairs.training_pairs import PairSide

SHARE = 0.5  # the rest teaches the words themselves
_ROWS_AT_ONCE = 1 << 16


def seen_once(side: PairSide, rows: Remainder) -> NDArray[np.bool_] | None:
    """Return which words stand once in some sentences, ``(V,)``; ``None`` where <unk> stands there.

    Args:
        side: Where the sentences are.
        rows: Which of them.
    """
    counts = word_counts(side, rows)
    return None if counts[UNKNOWN] else counts == 1


def word_counts(side: PairSide, rows: Remainder | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each word stands in some phrases or sentences, ``(V,)``; </s> does not."""
    counts = np.zeros(len(side.vocabulary), np.int64)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        tokens = side.select(rows[begin : begin + _ROWS_AT_ONCE]).tokens
        counts += np.bincount(tokens, minlength=len(counts))
    return counts


def with_unknown(batch: Batch, rare: Tensor, generator: torch.Generator) -> Batch:
    """Return a batch in whose targets a share of rare words are the unknown word.

    Args:
        batch: On any device.
        rare: ``(V,)`` bool, which words these are; on the same device.
        generator: Draws; on the same device.
    """
    drawn = torch.rand(batch.target.shape, generator=generator, device=batch.target.device)
    chosen = rare[batch.target] & (drawn < SHARE)
    return dataclasses.replace(batch, target=batch.target.masked_fill(chosen, UNKNOWN))
