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
    build,
)
from phrasescore.model.sequence_model import SequenceModel
from phrasescore.words.token_sequences import from_lists
from tests.support.unshared_scorer import UnsharedScorer

WORDS = 5  # of the target side, including </s> and <unk>
SOURCES = [[2, 3], [4], [5, 6, 2], [3], [6, 6]]


def tiny_model(
    unit: UnitName = "gated", context: ContextName = "every-step", words: int = WORDS
) -> SequenceModel:
    """Return a model whose target side has ``words`` words."""
    settings = EncoderDecoderSettings(
        source_vocabulary=7,
        target_vocabulary=words,
        hidden=6,
        embedding=4,
        maxout=5,
        rank=3,
        unit=unit,
        context=context,
    )
    model = build(settings)
    model.initialise(torch.Generator().manual_seed(3), "scaled")
    return model


def tiny_sentence_model(
    kind: type[RnnSearchSettings] | type[RnnEncdecSettings] = RnnSearchSettings,
    formulation: Reading = "code",
    seed: int = 3,
) -> SequenceModel:
    """Return an attention model, or RNNencdec, with ``WORDS`` words on the target side."""
    sizes = {"hidden": 6, "embedding": 4, "maxout": 5, "rank": 3, "source_vocabulary": 7}
    settings = {**kind.completed(sizes), "target_vocabulary": WORDS, "formulation": formulation}
    model = build(kind(**settings))
    model.initialise(torch.Generator().manual_seed(seed), "scaled")
    return model


def all_targets(longest: int, words: int = WORDS) -> list[list[int]]:
    """Return every target of up to this number of words."""
    known = range(1, words)
    return [
        list(target)
        for length in range(longest + 1)
        for target in itertools.product(known, repeat=length)
    ]


def ln_p_of(model: SequenceModel, source: list[int], targets: list[list[int]]) -> np.ndarray:
    """Return ln p of targets of one source, each computed on its own."""
    pairs = from_lists([source] * len(targets)), from_lists(targets)
    return UnsharedScorer(model, "cpu").score(*pairs)
