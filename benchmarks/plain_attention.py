"""Scores pairs with RNNsearch in straightforward PyTorch code, written from the paper's equations.

As in ``plain_scorer``, batches are 64 pairs in input order, both sides are padded to the longest,
every pair is computed separately, and all is float32. The code avoids needless work: each
direction of the encoder is one batched loop, U_a h is computed once per source, the gates of a step
share one product, and word vectors, readout and softmax are each one product over all words of the
batch. The code reads this project's model folders, but is written from section 3 and appendix A.2
of Bahdanau et al. (2014), in the form that the authors ran (formulation ``code``).

    python -m benchmarks.plain_attention MODEL PAIRS SCORES [--threads N]

PAIRS has a source and a target per line, separated by `` ||| ``; SCORES gets the ln p of each pair.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.plain_scorer import Side, Weights, main, score_file, unit_inputs, unit_step


def annotations(w: Weights, source: Tensor, counted: Tensor) -> Tensor:
    """Return the encoder states of both directions for each word, ``(J, B, 2H)``."""
    embedded = w["source_embedding"][source] + w["source_embedding_bias"]
    sides = []
    for side, order in (("forward_encoder", 1), ("backward_encoder", -1)):
        inputs = unit_inputs(w, side, embedded)
        h = inputs.new_zeros(source.shape[1], w[f"{side}.candidate_weight"].shape[0])
        states = []
        for at in range(len(inputs))[::order]:
            new = unit_step(w, side, inputs[at], h)
            h = torch.where(counted[at][:, None], new, h)
            states.append(h)
        sides.append(torch.stack(states[::order]))
    return torch.cat(sides, 2)


def log_likelihoods(w: Weights, source: Side, target: Side) -> Tensor:
    """Return ln p of each target with its </s>, ``(B,)``."""
    written = annotations(w, *source)
    H = written.shape[2] // 2
    keys = written @ w["align_source"]  # (J, B, A)
    hidden = source[1][:, :, None]
    wanted, counted = target
    embedded = w["target_embedding"][wanted[:-1]] + w["target_embedding_bias"]  # (T, B, E)
    inputs = unit_inputs(w, "decoder", embedded)
    states = [torch.tanh(written[0, :, H:] @ w["start_weight"] + w["start_bias"])]
    contexts = []
    for at in range(len(wanted)):
        energy = torch.tanh(states[-1] @ w["align_state"] + keys) @ w["align_vector"]  # (J, B)
        alpha = energy[:, :, None].masked_fill(~hidden, float("-inf")).softmax(0)
        contexts.append((alpha * written).sum(0))
        if at < len(inputs):
            outside = inputs[at] + contexts[-1] @ w["decoder.context_weight"]
            states.append(unit_step(w, "decoder", outside, states[-1]))
    readout = torch.stack(states) @ w["readout_state"] + w["readout_bias"]
    readout = readout + torch.stack(contexts) @ w["readout_context"]
    words = embedded @ w["readout_word"]
    readout = readout + torch.cat([torch.zeros_like(readout[:1]), words])
    units = readout.view(*readout.shape[:2], -1, 2).amax(3)  # (T + 1, B, M)
    logits = units @ w["output_inner"] @ w["output_words"].t() + w["output_bias"]
    log_p = logits.log_softmax(2).gather(2, wanted[:, :, None]).squeeze(2)
    return (log_p * counted).sum(0)


def score_pairs(model: Path, pairs: Path, scores: Path) -> dict[str, float]:
    config = json.loads((model / "config.json").read_bytes())
    if (config["kind"], config["formulation"]) != ("rnn-search", "code"):
        raise SystemExit("the plain scorer supports only RNNsearch with the formulation code")
    return score_file(model, pairs, scores, log_likelihoods)


if __name__ == "__main__":
    main(score_pairs)
