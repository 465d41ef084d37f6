"""Words seen once, some of which are learnt as the unknown word, so that it is learnt at all.

Where the shortlist has room for every word of a text, no ``<unk>`` occurs there: a model would give
a new word to be written no probability, and a new word to be read random numbers. New words come
about as often as words that occur once in the text (Good and Turing), so a share of these become
``<unk>``, drawn anew for each batch.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import UNKNOWN, Batch
from phrasescore.training.held_out import Remainder
from phrasescore.training.training_pairs import PairSide

SHARE = 0.5  # the rest teaches the words themselves
_ROWS_AT_ONCE = 1 << 16


def seen_once(side: PairSide, rows: Remainder) -> NDArray[np.bool_]:
    """Return which words occur once in some sentences, ``(V,)``.

    None counts where at least as many words are outside the shortlist as :func:`with_unknown`
    would replace: they teach ``<unk>`` already.

    Args:
        side: Where the sentences are.
        rows: Which of them.
    """
    counts = word_counts(side, rows)
    once: NDArray[np.bool_] = counts == 1
    once[UNKNOWN] = False
    return once & (counts[UNKNOWN] < SHARE * once.sum())


def word_counts(side: PairSide, rows: Remainder | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each word stands in some phrases or sentences, ``(V,)``; </s> does not."""
    counts = np.zeros(len(side.vocabulary), np.int64)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        tokens = side.select(rows[begin : begin + _ROWS_AT_ONCE]).tokens
        counts += np.bincount(tokens, minlength=len(counts))
    return counts


def with_unknown(batch: Batch, rare: tuple[Tensor, Tensor], generator: torch.Generator) -> Batch:
    """Return a batch in which a share of the pairs have ``<unk>`` for their rare words.

    One draw decides both sides of a pair. A rare source word mostly has a rare translation: read
    as ``<unk>`` it is to be translated as ``<unk>``, and read as itself as that translation.

    Args:
        batch: On any device.
        rare: ``(V,)`` bool each, which source and target words are rare; on the same device.
        generator: Draws; on the same device.
    """
    pairs = len(batch.target)
    drawn = torch.rand((pairs, 1), generator=generator, device=batch.target.device) < SHARE
    source, target = (
        ids.masked_fill(words[ids] & drawn, UNKNOWN)
        for words, ids in zip(rare, (batch.source, batch.target), strict=True)
    )
    return dataclasses.replace(batch, source=source, target=target)
