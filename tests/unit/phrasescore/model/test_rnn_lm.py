"""The recurrent language model: steps, loss and formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phrasescore.model.model_settings import RnnLmSettings, UnitName
from phrasescore.model.networks.rnn_lm import RnnLm
from phrasescore.model.sequence_model import END, Batch


def model_of(unit: UnitName) -> RnnLm:
    """Return a small model in float64."""
    sizes = RnnLmSettings(target_vocabulary=9, hidden=6, embedding=4, maxout=5, rank=3, unit=unit)
    model = RnnLm(sizes)
    model.initialise(torch.Generator().manual_seed(1), "scaled")
    return model.double()


def padded() -> Batch:
    """Return three sentences of different lengths."""
    target = torch.tensor([[2, 3, 4, 5], [1, 0, 0, 0], [8, 7, 2, 0]])
    lengths = torch.tensor([4, 1, 3])
    nothing = torch.empty(3, 0, dtype=torch.int64)
    return Batch(nothing, target, (torch.zeros_like(lengths), lengths), 11)


@pytest.mark.parametrize("unit", ["gated", "tanh", "lstm"])
def test_steps_scores_and_loss_agree(unit: UnitName) -> None:
    """Steps, scores and loss agree without padding; probabilities of each word sum to 1."""
    model, batch = model_of(unit), padded()
    with torch.no_grad():
        found = model.score(batch)
        assert model.loss(batch).item() == pytest.approx(-found.sum().item(), abs=1e-9)
        assert batch.lengths is not None
        for row, length in enumerate(batch.lengths[1].tolist()):
            state, ln_p = model.start(torch.empty(1, 0, dtype=torch.int64))
            for at, word in enumerate([*batch.target[row, :length].tolist(), END]):
                assert ln_p.exp().sum().item() == pytest.approx(1, abs=1e-9)
                assert ln_p[0, word].item() == pytest.approx(found[row, at].item(), abs=1e-9)
                state, ln_p = model.step(state, torch.tensor([word]))
            assert not found[row, length + 1 :].any()


def test_the_second_word_is_that_of_the_formula() -> None:
    """The second word equals numpy's: a step of the gated unit, then maxout of state and word."""
    model = model_of("gated")
    w = {name: value.detach().numpy() for name, value in model.named_parameters()}
    x = w["target_embedding"][3] + w["target_embedding_bias"]
    columns = x @ w["unit.input_weight"]
    candidate, update = np.tanh(columns[:6] + w["unit.input_bias"]), columns[6:12]
    h = (1 - 1 / (1 + np.exp(-update))) * candidate
    readout = h @ w["readout_state"] + x @ w["readout_word"] + w["readout_bias"]
    maxout = readout.reshape(5, 2).max(1)
    logits = w["output_words"] @ (maxout @ w["output_inner"]) + w["output_bias"]
    expected = logits - np.log(np.exp(logits).sum())
    with torch.no_grad():
        state, _ = model.start(torch.empty(1, 0, dtype=torch.int64))
        _, ln_p = model.step(state, torch.tensor([3]))
    np.testing.assert_allclose(ln_p[0], expected, rtol=0, atol=1e-12)
