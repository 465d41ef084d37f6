"""Scores a phrase table in straightforward PyTorch code, like the authors' own scorer.

It works like score.py of the authors' GroundHog in batch mode: pairs in file order, 64 at a time,
both sides padded to the longest of the batch, every pair computed separately, one natural
log-likelihood per line. The code avoids needless work: everything runs in float32 under
torch.inference_mode, sources are encoded in one batched loop, the contribution of the summary c to
the decoder is computed once per pair (GroundHog repeats it at each word), the gates of a step share
one product, and input projections, readout and softmax are each one product over all words of the
batch.

The code reads this project's model folders, but is written from section 2 of the paper, in the form
that the authors ran (formulation ``code``), not from this project's network.

    python -m benchmarks.plain_scorer MODEL PAIRS SCORES [--threads N]

PAIRS is a phrase table, or has a source and a target per line, separated by `` ||| ``.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

BATCH = 64  # the authors' bs
END, UNKNOWN = 0, 1
Weights = dict[str, Tensor]
Side = tuple[Tensor, Tensor]  # what ``padded`` returns


def read_vocabulary(path: Path) -> dict[bytes, int]:
    words = path.read_bytes().removesuffix(b"\n").split(b"\n")
    return {word: number for number, word in enumerate(words) if number > UNKNOWN}


def read_pairs(path: Path) -> Iterator[tuple[list[bytes], list[bytes]]]:
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as stream:
        for line in stream:
            source, target = line.split(b" ||| ", 2)[:2]
            yield source.split(b" "), target.split(b" ")


def padded(phrases: list[list[int]]) -> Side:
    """Return ids that end in </s>, ``(L, B)``, and a mask that excludes padding, ``(L, B)``."""
    longest = max(map(len, phrases)) + 1
    ids = torch.tensor([phrase + [END] * (longest - len(phrase)) for phrase in phrases])
    lengths = torch.tensor([len(phrase) for phrase in phrases])
    return ids.t(), torch.arange(longest)[:, None] <= lengths


def unit_step(w: Weights, side: str, inputs: Tensor, h: Tensor) -> Tensor:
    """Return ``(B, H)`` the next hidden state, given ``inputs (B, 3H)`` and ``h (B, H)``."""
    H = h.shape[1]
    gates = torch.sigmoid(inputs[:, H:] + h @ w[f"{side}.gate_weight"])
    update, reset = gates[:, :H], gates[:, H:]
    candidate = torch.tanh(inputs[:, :H] + (reset * h) @ w[f"{side}.candidate_weight"])
    return update * h + (1 - update) * candidate


def unit_inputs(w: Weights, side: str, embedded: Tensor) -> Tensor:
    inputs = embedded @ w[f"{side}.input_weight"]
    H = w[f"{side}.input_bias"].shape[0]
    inputs[..., :H] += w[f"{side}.input_bias"]
    return inputs


def summaries(w: Weights, source: Tensor, counted: Tensor) -> Tensor:
    embedded = w["source_embedding"][source] + w["source_embedding_bias"]
    inputs = unit_inputs(w, "encoder", embedded)
    h = inputs.new_zeros(source.shape[1], w["encoder.candidate_weight"].shape[0])
    for step, here in zip(inputs, counted, strict=True):
        h = torch.where(here[:, None], unit_step(w, "encoder", step, h), h)
    return h


def log_likelihoods(w: Weights, source: Side, target: Side) -> Tensor:
    """Return ln p of each target with its </s>, ``(B,)``."""
    c = summaries(w, *source)
    wanted, counted = target
    embedded = w["target_embedding"][wanted[:-1]] + w["target_embedding_bias"]  # (T, B, E)
    inputs = unit_inputs(w, "decoder", embedded) + c @ w["decoder.context_weight"]
    states = [torch.tanh(c @ w["start_weight"] + w["start_bias"])]
    for step in inputs:
        states.append(unit_step(w, "decoder", step, states[-1]))
    readout = torch.stack(states) @ w["readout_state"] + w["readout_bias"]
    readout += c @ w["readout_context"]
    readout[1:] += embedded @ w["readout_word"]
    units = readout.view(*readout.shape[:2], -1, 2).amax(3)  # (T + 1, B, M)
    logits = units @ w["output_inner"] @ w["output_words"].t() + w["output_bias"]
    log_p = logits.log_softmax(2).gather(2, wanted[:, :, None]).squeeze(2)
    return (log_p * counted).sum(0)


def score_file(
    model: Path, pairs: Path, scores: Path, log_likelihoods: Callable[[Weights, Side, Side], Tensor]
) -> dict[str, float]:
    """Write the ln p of each pair; return the number of pairs and the seconds."""
    w = safetensors.torch.load_file(model / "model.safetensors")
    source_ids = read_vocabulary(model / "source.vocabulary.txt")
    target_ids = read_vocabulary(model / "target.vocabulary.txt")
    rows, start, before = read_pairs(pairs), time.perf_counter(), time.process_time()
    done = 0
    is_packed = scores.name.endswith(".gz")
    with (
        gzip.open(scores, "wb", compresslevel=1) if is_packed else scores.open("wb") as output,
        torch.inference_mode(),
    ):
        while batch := list(itertools.islice(rows, BATCH)):
            source = padded([[source_ids.get(word, UNKNOWN) for word in x] for x, _ in batch])
            target = padded([[target_ids.get(word, UNKNOWN) for word in y] for _, y in batch])
            ln_p = log_likelihoods(w, source, target)
            output.write(b"".join(b"%.6g\n" % value for value in ln_p.tolist()))
            done += len(batch)
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    return {"pairs": done, "wall": wall, "cpu": cpu}


def score_table(model: Path, table: Path, scores: Path) -> dict[str, float]:
    config = json.loads((model / "config.json").read_bytes())
    if config["formulation"] != "code":
        raise SystemExit("the plain scorer supports only models with the formulation code")
    return score_file(model, table, scores, log_likelihoods)


def main(score: Callable[[Path, Path, Path], dict[str, float]]) -> None:
    """Score the files in the arguments, and print JSON."""
    parser = argparse.ArgumentParser(description="Scores pairs in straightforward PyTorch code.")
    for name in ("model", "pairs", "scores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(json.dumps(score(options.model, options.pairs, options.scores)))


if __name__ == "__main__":
    main(score_table)
