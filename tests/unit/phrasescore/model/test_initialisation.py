"""The initial weights have the distributions of the recipe (section 4.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import (
    EncoderDecoderSettings,
    RnnEncdecSettings,
    RnnSearchSettings,
    UnitName,
)
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import Initialisation

# large enough for exact statistics
SIZES: dict[str, Any] = {"source_vocabulary": 900, "target_vocabulary": 700}
SIZES |= {"hidden": 120, "embedding": 80, "maxout": 60, "rank": 50}
RECURRENT = ("gate_weight", "candidate_weight", "recurrent_weight")


def weights(unit: UnitName, initialisation: Initialisation) -> dict[str, np.ndarray]:
    """Return the initial weights of a model."""
    settings = EncoderDecoderSettings(**SIZES, unit=unit, formulation="appendix")
    model = EncoderDecoder(settings)
    model.initialise(torch.Generator().manual_seed(11), initialisation)
    return {name: value.detach().numpy() for name, value in model.named_parameters()}


@pytest.mark.parametrize("unit", ["gated", "tanh", "lstm"])
@pytest.mark.parametrize("initialisation", ["paper", "scaled"])
def test_each_weight_has_its_distribution(unit: UnitName, initialisation: Initialisation) -> None:
    """Biases 0, recurrences orthogonal; the rest normal: 0.01, or 1 and 1 / sqrt(inputs)."""
    for name, value in weights(unit, initialisation).items():
        if name.endswith("bias"):
            assert not value.any(), name
            continue
        if name.endswith(RECURRENT):
            H = len(value)
            for first in range(0, value.shape[1], H):
                square = value[:, first : first + H]
                np.testing.assert_allclose(square @ square.T, np.eye(H), atol=1e-4, err_msg=name)
            continue
        deviation = 0.01
        if initialisation == "scaled":
            inputs = value.shape[1] if name == "output_words" else value.shape[0]
            deviation = 1.0 if name.endswith("embedding") else inputs**-0.5
        drawn = value.ravel() / deviation
        # four standard errors of the mean, of the deviation, and of the fourth moment
        error = 4 / np.sqrt(drawn.size)
        assert abs(drawn.mean()) < error, name
        assert abs(drawn.std() - 1) < error, name
        assert abs((drawn**4).mean() - 3) < np.sqrt(96) * error, name


@pytest.mark.parametrize("settings", [RnnSearchSettings, RnnEncdecSettings])
def test_sentence_models_begin_as_in_appendix_b_1(
    settings: type[RnnSearchSettings] | type[RnnEncdecSettings],
) -> None:
    """W_a and U_a: 0.001; v_a and biases: 0; recurrences orthogonal; others 0.01."""
    model = AttentionModel(settings(**SIZES))
    model.initialise(torch.Generator().manual_seed(3))
    for name, parameter in model.named_parameters():
        value = parameter.detach().numpy()
        if name.endswith("bias") or name == "align_vector":
            assert not value.any(), name
        elif name.endswith(RECURRENT):
            for square in np.split(value, value.shape[1] // len(value), axis=1):
                np.testing.assert_allclose(square @ square.T, np.eye(len(value)), atol=1e-4)
        else:
            deviation = 0.001 if name in ("align_state", "align_source") else 0.01
            drawn, error = value.ravel() / deviation, 4 / np.sqrt(value.size)
            assert abs(drawn.mean()) < error, name
            assert abs(drawn.std() - 1) < error, name
