"""Summaries of many phrases equal those of each phrase alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from phrasescore.analysis.phrases import phrase_summaries
from phrasescore.model.kinds import read_settings
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import build
from phrasescore.words.token_sequences import TokenSequences, from_lists

_SIZES: dict[str, Any] = {"hidden": 7, "embedding": 5, "maxout": 4, "rank": 3}
_SIZES |= {"source_vocabulary": 9, "target_vocabulary": 6}


def random_model(**settings: Any) -> EncoderDecoder | AttentionModel:
    """Return a small model with large weights."""
    model = build(read_settings({**_SIZES, **settings}, where="a test"))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    assert isinstance(model, EncoderDecoder | AttentionModel)
    return model.eval()


def summaries_of(
    model: EncoderDecoder | AttentionModel, phrases: TokenSequences
) -> NDArray[np.float32]:
    """Return the summaries of phrases of ids."""
    loaded: Any = SimpleNamespace(model=model, path=Path("m"))
    return phrase_summaries(loaded, phrases, "cpu")


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "rnn-encoder-decoder"},
        {"kind": "rnn-encoder-decoder", "formulation": "appendix"},
        {"kind": "rnn-encoder-decoder", "unit": "tanh"},
        {"kind": "rnn-encoder-decoder", "unit": "lstm"},
        {"kind": "rnn-encdec"},
    ],
)
def test_each_phrase_as_if_it_were_alone(
    settings: dict[str, Any], rng: np.random.Generator
) -> None:
    """Summaries are in input order, for repeated, long and empty phrases too."""
    model = random_model(**settings)
    phrases = [rng.integers(1, 9, length).tolist() for length in rng.integers(0, 6, 3000)]
    phrases[7], phrases[2500] = [4] * 70, phrases[3]
    found = summaries_of(model, from_lists(phrases))
    assert found.dtype == np.float32
    assert found.shape == (3000, 7)
    np.testing.assert_allclose(found[2500], found[3], atol=2e-6)
    for row in [*range(0, 3000, 300), 7, 2500]:
        with torch.inference_mode():
            alone = model.summaries(torch.tensor([phrases[row]], dtype=torch.int64))
        np.testing.assert_allclose(found[row], alone[0].numpy(), atol=2e-6)
