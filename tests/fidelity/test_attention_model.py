"""Compares RNNsearch and RNNencdec with an independent numpy transcription of the equations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from phrasescore.model.kinds import Reading, RnnEncdecSettings, RnnSearchSettings
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.model.sequence_model import Batch

Name = Literal["search", "encdec"]
PRECISIONS = [(torch.float64, 1e-9), (torch.float32, 1e-4)]


def golden_model(
    golden: Path, name: Name, formulation: Reading, dtype: torch.dtype
) -> tuple[AttentionModel, list[dict[str, Any]]]:
    """Return the model with the golden weights, and the golden pairs."""
    expected = json.loads((golden / "attention" / "expected.json").read_text("utf-8"))
    weights = np.load(golden / "attention" / f"{name}.npz")
    sizes = dict(expected["sizes"])
    settings: RnnSearchSettings | RnnEncdecSettings
    if name == "search":
        settings = RnnSearchSettings(formulation=formulation, **sizes)
    else:
        del sizes["alignment"]
        settings = RnnEncdecSettings(formulation=formulation, **sizes)
    model = AttentionModel(settings).double()

    def unit(ours: str, theirs: str) -> dict[str, np.ndarray]:
        def columns(*names: str) -> np.ndarray:
            return np.concatenate([weights[f"{theirs}_{name}"] for name in names], axis=1)

        return {
            f"{ours}.input_weight": columns("W", "Wz", "Wr"),
            f"{ours}.input_bias": weights[f"{theirs}_b"],
            f"{ours}.gate_weight": columns("Uz", "Ur"),
            f"{ours}.candidate_weight": weights[f"{theirs}_U"],
            **(
                {f"{ours}.context_weight": columns("C", "Cz", "Cr")}
                if f"{theirs}_C" in weights
                else {}
            ),
        }

    same = ("source_embedding", "source_embedding_bias", "target_embedding")
    values = {
        **{name: weights[name] for name in (*same, "target_embedding_bias")},
        **unit("forward_encoder", "forward"),
        **unit("decoder", "dec"),
        "start_weight": weights["init_W"],
        "start_bias": weights["init_b"],
        "readout_state": weights["O_h"],
        "readout_bias": weights["O_b"],
        "readout_word": weights["O_y"],
        "readout_context": weights["O_c"],
        "output_inner": weights["G_r"],
        "output_words": weights["G_l"].T,
        "output_bias": weights["G_b"],
    }
    if name == "search":
        values |= unit("backward_encoder", "backward")
        values |= {"align_state": weights["align_state"], "align_source": weights["align_source"]}
        values["align_vector"] = weights["align_v"]
    model.load_state_dict({name: torch.tensor(value) for name, value in values.items()})
    return model.to(dtype), expected["pairs"]


def one_pair(pair: dict[str, Any]) -> Batch:
    """Return a batch of one pair without padding."""
    source, target = (
        torch.tensor([pair[side]], dtype=torch.int64) for side in ("source", "target")
    )
    return Batch(source, target, None)


def all_pairs(pairs: list[dict[str, Any]]) -> Batch:
    """Return all pairs in one padded batch."""

    def padded(side: str) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [torch.tensor(pair[side], dtype=torch.int64) for pair in pairs]
        lengths = torch.tensor([len(row) for row in rows])
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths

    source, target = padded("source"), padded("target")
    return Batch(source[0], target[0], (source[1], target[1]))


@pytest.mark.parametrize("name", ["search", "encdec"])
@pytest.mark.parametrize("formulation", ["code", "paper"])
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_every_word_has_the_reference_log_probability(
    golden: Path, name: Name, formulation: Reading, dtype: torch.dtype, tolerance: float
) -> None:
    """Ln p of each target word and of </s> agrees, for both models and formulations."""
    model, pairs = golden_model(golden, name, formulation, dtype)
    with torch.no_grad():
        for pair in pairs:
            found = model.score(one_pair(pair))[0].numpy()
            np.testing.assert_allclose(found, pair[f"{name}_{formulation}"], rtol=0, atol=tolerance)


@pytest.mark.parametrize("formulation", ["code", "paper"])
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_every_alignment_is_the_reference(
    golden: Path, formulation: Reading, dtype: torch.dtype, tolerance: float
) -> None:
    """Alignments agree for each pair alone, and for all pairs in one padded batch."""
    model, pairs = golden_model(golden, "search", formulation, dtype)
    with torch.no_grad():
        together = model.alignments(all_pairs(pairs)).numpy()
        for row, pair in enumerate(pairs):
            expected = np.array(pair[f"alignment_{formulation}"])
            alone = model.alignments(one_pair(pair))[0].numpy()
            np.testing.assert_allclose(alone, expected, rtol=0, atol=tolerance)
            T, J = expected.shape
            np.testing.assert_allclose(together[row, :T, :J], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", ["search", "encdec"])
@pytest.mark.parametrize("formulation", ["code", "paper"])
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_the_steps_give_the_reference(
    golden: Path, name: Name, formulation: Reading, dtype: torch.dtype, tolerance: float
) -> None:
    """The start and the steps of all pairs agree, as used by search and scoring."""
    model, pairs = golden_model(golden, name, formulation, dtype)
    batch = all_pairs(pairs)
    assert batch.lengths is not None
    with torch.inference_mode():
        state, ln_p = model.start(batch.source, batch.lengths[0], dtype)
        for at, words in enumerate(batch.ended.t()):
            for row, pair in enumerate(pairs):
                expected = pair[f"{name}_{formulation}"]
                if at < len(expected):
                    found = ln_p[row, words[row]].item()
                    assert found == pytest.approx(expected[at], abs=tolerance)
            state, ln_p = model.step(state, words)
