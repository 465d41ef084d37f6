"""The formula of the recurrent language model."""

from __future__ import annotations

import numpy as np
import torch

from phrasescore.model.kinds import RnnLmSettings
from phrasescore.model.networks.rnn_lm import RnnLm


def test_the_second_word_is_that_of_the_formula() -> None:
    """The second word equals numpy's: a step of the gated unit, then maxout of state and word."""
    sizes = RnnLmSettings(
        target_vocabulary=9, hidden=6, embedding=4, maxout=5, rank=3, unit="gated"
    )
    model = RnnLm(sizes)
    model.initialise(torch.Generator().manual_seed(1), "scaled")
    model.double()
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
        nothing = torch.empty(1, 0, dtype=torch.int64), torch.tensor([0])
        state, _ = model.start(*nothing, torch.float64)
        _, ln_p = model.step(state, torch.tensor([3]))
    np.testing.assert_allclose(ln_p[0], expected, rtol=0, atol=1e-12)
