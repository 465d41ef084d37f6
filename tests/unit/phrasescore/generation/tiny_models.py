"""Models with large weights, so small that all their targets can be listed."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from phrasescore.model.kinds import (
    ContextName,
    EncoderDecoderSettings,
    Reading,
    RnnEncdecSettings,
    RnnSearchSettings,
    UnitName,
)
from phrasescore.model.sequence_model import SequenceModel, build
from phrasescore.words.token_sequences import from_lists
from tests.support.unshared_scorer import UnsharedScorer

WORDS = 5  # of the target side, including </s> and <unk>
_SIZES = {"hidden": 6, "embedding": 4, "maxout": 5, "rank": 3, "source_vocabulary": 7}
SOURCES = [[2, 3], [4], [5, 6, 2], [3], [6, 6]]


def tiny_model(unit: UnitName = "gated", context: ContextName = "every-step") -> SequenceModel:
    """Return a model with ``WORDS`` words on the target side."""
    sizes = {**_SIZES, "target_vocabulary": WORDS}
    model = build(EncoderDecoderSettings(**sizes, unit=unit, context=context))
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    return model


def tiny_sentence_model(
    kind: type[RnnSearchSettings] | type[RnnEncdecSettings] = RnnSearchSettings,
    formulation: Reading = "code",
    seed: int = 3,
) -> SequenceModel:
    """Return an attention model, or RNNencdec, with ``WORDS`` words on the target side."""
    settings = {**kind.completed(_SIZES), "target_vocabulary": WORDS, "formulation": formulation}
    model = build(kind(**settings))
    model.initialise(torch.Generator().manual_seed(seed), "scaled")
    return model


def all_targets(longest: int) -> list[list[int]]:
    """Return every target of up to this number of words."""
    lengths = range(longest + 1)
    by_length = (itertools.product(range(1, WORDS), repeat=length) for length in lengths)
    return list(map(list, itertools.chain.from_iterable(by_length)))


def ln_p_of(model: SequenceModel, source: list[int], targets: list[list[int]]) -> np.ndarray:
    """Return ln p of targets of one source, each computed on its own."""
    pairs = from_lists([source] * len(targets)), from_lists(targets)
    return UnsharedScorer(model, "cpu").score(*pairs)
