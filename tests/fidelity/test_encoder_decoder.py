"""Compares the model with an independent numpy transcription of the paper's equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import EncoderDecoderSettings, Formulation
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.model.sequence_model import Regularisation
from tests.fidelity.test_attention_model import all_pairs, one_pair


def golden_model(
    golden: Path, formulation: Formulation, dtype: torch.dtype
) -> tuple[EncoderDecoder, list[dict[str, Any]]]:
    """Return the model with the golden weights, and the golden pairs with their ln p."""
    expected = json.loads((golden / "model" / "expected.json").read_text("utf-8"))
    weights = np.load(golden / "model" / "weights.npz")
    model = EncoderDecoder(
        EncoderDecoderSettings(formulation=formulation, **expected["sizes"])
    ).double()

    def columns(*names: str) -> np.ndarray:
        return np.concatenate([weights[name] for name in names], axis=1)

    values = {
        "source_embedding": weights["source_embedding"],
        "source_embedding_bias": weights["source_embedding_bias"],
        "encoder.input_weight": columns("enc_W", "enc_Wz", "enc_Wr"),
        "encoder.input_bias": weights["enc_b"],
        "encoder.gate_weight": columns("enc_Uz", "enc_Ur"),
        "encoder.candidate_weight": weights["enc_U"],
        "target_embedding": weights["target_embedding"],
        "target_embedding_bias": weights["target_embedding_bias"],
        "start_weight": weights["init_W"],
        "start_bias": weights["init_b"],
        "decoder.input_weight": columns("dec_W", "dec_Wz", "dec_Wr"),
        "decoder.input_bias": weights["dec_b"],
        "decoder.gate_weight": columns("dec_Uz", "dec_Ur"),
        "decoder.candidate_weight": weights["dec_U"],
        "decoder.context_weight": columns("dec_C", "dec_Cz", "dec_Cr"),
        "readout_state": weights["O_h"],
        "readout_bias": weights["O_b"],
        "readout_word": weights["O_y"],
        "readout_context": weights["O_c"],
        "output_inner": weights["G_r"],
        "output_words": weights["G_l"].T,
        "output_bias": weights["G_b"],
    }
    if formulation == "appendix":
        values["summary_weight"] = weights["context_V"]
    model.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    return model.to(dtype), expected["pairs"]


@pytest.mark.parametrize("formulation", ["code", "appendix"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_every_word_has_the_reference_log_probability(
    golden: Path, formulation: Formulation, dtype: torch.dtype, tolerance: float
) -> None:
    """The ln p of each target word and of </s> equals the reference, in both formulations."""
    model, pairs = golden_model(golden, formulation, dtype)
    with torch.no_grad():
        for pair in pairs:
            found = model.score(one_pair(pair))
            np.testing.assert_allclose(found[0].numpy(), pair[formulation], rtol=0, atol=tolerance)


@pytest.mark.parametrize("formulation", ["code", "appendix"])
def test_the_loss_is_the_sum_of_the_reference(golden: Path, formulation: Formulation) -> None:
    """The loss over one padded batch of all pairs is minus the sum of the reference ln p."""
    model, pairs = golden_model(golden, formulation, torch.float64)
    loss = model.loss(all_pairs(pairs), None, Regularisation.NONE)
    expected = -sum(sum(pair[formulation]) for pair in pairs)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
