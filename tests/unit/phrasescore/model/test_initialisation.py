"""The initial weights have the distributions of the recipe (section 4.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import (
    EncoderDecoderSettings,
    ModelSettings,
    RnnEncdecSettings,
    RnnSearchSettings,
)
from phrasescore.model.sequence_model import Initialisation, build

# large enough for exact statistics
SIZES: dict[str, Any] = {"source_vocabulary": 900, "target_vocabulary": 700}
SIZES |= {"hidden": 120, "embedding": 80, "maxout": 60, "rank": 50}
MODELS: list[ModelSettings] = [
    *(
        EncoderDecoderSettings(**SIZES, unit=unit, formulation="appendix")
        for unit in ("gated", "tanh", "lstm")
    ),
    RnnSearchSettings(**SIZES),
    RnnEncdecSettings(**SIZES),
]


@pytest.mark.parametrize("settings", MODELS, ids=lambda each: getattr(each, "unit", each.kind))
@pytest.mark.parametrize("initialisation", ["paper", "scaled"])
def test_each_weight_has_its_distribution(
    settings: ModelSettings, initialisation: Initialisation
) -> None:
    """Biases 0, recurrences orthogonal; the rest normal: 0.01, or 1 and 1 / sqrt(inputs).

    With ``paper``, W_a and U_a have 0.001, and v_a is 0 (Bahdanau et al., appendix B.1).
    """
    model = build(settings)
    model.initialise(torch.Generator().manual_seed(11), initialisation)
    for name, parameter in model.named_parameters():
        value = parameter.detach().numpy()
        if name.endswith("bias") or (name, initialisation) == ("align_vector", "paper"):
            assert not value.any(), name
            continue
        if name.endswith(("gate_weight", "candidate_weight", "recurrent_weight")):
            for square in np.split(value, value.shape[1] // len(value), axis=1):
                identity = np.eye(len(value))
                np.testing.assert_allclose(square @ square.T, identity, atol=1e-4, err_msg=name)
            continue
        deviation = 0.001 if name.startswith("align") else 0.01
        if initialisation == "scaled":
            inputs = value.shape[1] if name == "output_words" else value.shape[0]
            deviation = 1.0 if name.endswith("embedding") else inputs**-0.5
        drawn = value.ravel() / deviation
        # four standard errors of the mean, of the deviation, and of the fourth moment
        error = 4 / np.sqrt(drawn.size)
        assert abs(drawn.mean()) < error, name
        assert abs(drawn.std() - 1) < error, name
        assert abs((drawn**4).mean() - 3) < np.sqrt(96) * error, name
