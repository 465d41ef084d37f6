"""Words per second of training, ours and peers in turn, on the batches of a real phrase table.

Ours is an update of `phrasescore train`, recipe fast: the batch made, loss and gradient, clipping,
Adam. The peers do the same on random batches of as many pairs, padded to the longest: (a) a plain
PyTorch loop of the same network (the forward pass of plain_scorer.py under autograd, a Python loop
of steps, all logits at once, Adam), and (b) the same loop with torch.nn.GRU of the same size, which
is another cell (it resets after the product) and the fastest recurrence that torch itself has.
Words are target words and </s>. The rate is by CPU seconds of all cores; wall-clock is given, too,
and is what counts on a GPU.

With --agreement, ours and the plain loop train from the same weights on the same batches instead,
and their losses are compared. The result is JSON on standard output.

    python -m benchmarks.bench_training TABLE [--threads N] [--updates N] [--agreement]
        [--device cuda]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.our_training import fast_updates, one_update
from benchmarks.plain_scorer import log_likelihoods, padded
from phrasescore.model.device import choose_device, has_fast_bf16
from phrasescore.model.model_settings import EncoderDecoderSettings
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.training.batches import Indices, uniform_plan
from phrasescore.training.encoding import encode_table
from phrasescore.training.pairs import EncodedPairs, PairSettings
from phrasescore.training.recipes import batch_size_for
from phrasescore.training.training_settings import TrainingSettings

_RATE = 1e-3  # learning rate
Update = Callable[[Indices], float]
Sides = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Task:
    """What all train on.

    Attributes:
        pairs: The table.
        sizes: Of the network.
        size: Pairs in a batch (of average length, in ours).
        threads: Cores to use.
        device: Where to train.
    """

    pairs: EncodedPairs
    sizes: EncoderDecoderSettings
    size: int
    threads: int
    device: torch.device

    def model(self) -> EncoderDecoder:
        model = EncoderDecoder(self.sizes)
        model.initialise(torch.Generator().manual_seed(1), "scaled")
        return model.to(self.device)

    def padded(self, rows: Indices) -> Sides:
        """Return both sides as ids ``(L, B)`` and what of them counts."""
        read, predicted = self.pairs.source.select(rows), self.pairs.target.select(rows)
        sides = [[phrases[i].tolist() for i in range(len(rows))] for phrases in (read, predicted)]
        source, target = (padded(side) for side in sides)
        there = self.device
        return (source[0].to(there), source[1].to(there)), (
            target[0].to(there),
            target[1].to(there),
        )

    def words(self, rows: Indices) -> int:
        return int(self.pairs.lengths(rows)[1].sum()) + len(rows)

    def random_batches(self, count: int) -> list[Indices]:
        rng = np.random.default_rng(1)
        return list(rng.choice(len(self.pairs), (count, self.size), replace=False))

    def uniform_batches(self, count: int) -> list[Indices]:
        rows = np.arange(len(self.pairs))
        plan = uniform_plan(*self.pairs.lengths(rows), self.size, np.random.default_rng(1))
        return plan[:count]


def our_update(task: Task, dtype: torch.dtype | None) -> Update:
    settings = TrainingSettings(max_epochs=1)
    updates = fast_updates(task.model(), task.pairs, settings, dtype, task.threads)
    return one_update(updates, task.pairs, _RATE)


def _autograd_update(task: Task, weights: list[Tensor], loss_of: Callable[[Sides], Tensor]) -> Any:
    optimizer = torch.optim.Adam(weights, lr=_RATE, betas=(0.9, 0.99))

    def update(rows: Indices) -> float:
        torch.set_num_threads(task.threads)
        optimizer.zero_grad()
        loss = loss_of(task.padded(rows)) / task.words(rows)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        return loss.item()

    return update


def plain_update(task: Task) -> Update:
    weights = dict(task.model().named_parameters())
    values: list[Tensor] = list(weights.values())
    return _autograd_update(
        task, values, lambda sides: -log_likelihoods(dict(weights), *sides).sum()
    )


class StandardUnits(nn.Module):
    """An encoder-decoder of the same sizes from torch.nn.GRU, Embedding and Linear."""

    def __init__(self, sizes: EncoderDecoderSettings) -> None:
        super().__init__()
        E, H, M, R = sizes.embedding, sizes.hidden, sizes.maxout, sizes.rank
        self.source = nn.Embedding(sizes.source_vocabulary, E)
        self.target = nn.Embedding(sizes.target_vocabulary, E)
        self.encoder, self.decoder = nn.GRU(E, H), nn.GRU(E + H, H)
        self.start = nn.Linear(H, H)
        self.readout = nn.Linear(H + E + H, 2 * M)
        self.inner = nn.Linear(M, R, bias=False)
        self.output = nn.Linear(R, sizes.target_vocabulary)

    def forward(self, sides: Sides) -> Tensor:
        """Return the summed loss."""
        (source, source_counted), (target, counted) = sides
        states = self.encoder(self.source(source))[0]
        last = source_counted.sum(0) - 1
        c = states[last, torch.arange(source.shape[1], device=last.device)]
        previous = nn.functional.pad(self.target(target[:-1]), (0, 0, 0, 0, 1, 0))
        above = c.expand(len(target), -1, -1)
        start = torch.tanh(self.start(c))
        later = self.decoder(torch.cat([previous, above], 2)[1:], start[None])[0]
        h = torch.cat([start[None], later])
        units = self.readout(torch.cat([h, previous, above], 2)).unflatten(2, (-1, 2)).amax(3)
        logits = self.output(self.inner(units))
        found = nn.functional.cross_entropy(
            logits.flatten(0, 1), target.flatten(), reduction="none"
        )
        return (found * counted.flatten()).sum()


def standard_update(task: Task) -> Update:
    model = StandardUnits(task.sizes).to(task.device)
    return _autograd_update(task, list(model.parameters()), model)


def rates(task: Task, updates: int, runs: int) -> dict[str, Any]:
    """Measure each in turn, ``updates`` at a time; return medians over the runs."""
    auto = torch.bfloat16 if has_fast_bf16(task.device) else None
    uniform, random = task.uniform_batches(updates), task.random_batches(updates)
    contenders: dict[str, tuple[Update, list[Indices]]] = {
        "ours, auto": (our_update(task, auto), uniform),
        "ours, fp32": (our_update(task, None), uniform),
        "plain loop": (plain_update(task), random),
        "torch.nn.GRU": (standard_update(task), random),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    # on a GPU the work for a shape is recorded when it comes again
    first = slice(None, 1) if task.device.type == "cpu" else slice(None)
    for update, batches in contenders.values():
        for rows in 2 * batches[first]:
            update(rows)
    for _ in range(runs):
        for name, (update, batches) in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for rows in batches:
                update(rows)
            taken = time.process_time() - cpu, time.perf_counter() - wall
            seconds[name].append(taken)
    result: dict[str, Any] = {}
    for name, (_, batches) in contenders.items():
        words = sum(map(task.words, batches))
        cpu, wall = (statistics.median(column) for column in zip(*seconds[name], strict=True))
        result[name] = {
            "words per CPU second": round(words / cpu),
            "words per second": round(words / wall),
        }
    rate = "words per CPU second" if task.device.type == "cpu" else "words per second"
    for name in ("plain loop", "torch.nn.GRU"):
        times = result["ours, auto"][rate] / result[name][rate]
        result[f"ours, auto, times {name}"] = round(times, 2)
    return result


def agreement(task: Task, updates: int) -> dict[str, Any]:
    """Train from the same weights on the same random batches; compare the last losses."""
    last = max(1, updates // 10)
    losses = {}
    contenders = {
        "plain loop": plain_update(task),
        "ours, fp32": our_update(task, None),
        "ours, bf16": our_update(task, torch.bfloat16),
    }
    for name, update in contenders.items():
        found = [update(rows) for rows in task.random_batches(updates)]
        losses[name] = statistics.mean(found[-last:])
    plain = losses["plain loop"]
    result: dict[str, Any] = {f"nats per word, last {last} of {updates} updates": losses}
    for name in ("ours, fp32", "ours, bf16"):
        result[f"{name}, difference"] = f"{(losses[name] - plain) / plain:+.3%}"
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--agreement", action="store_true", help="compare losses, not speed")
    parser.add_argument("--hidden", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, help="pairs  [default: train's for this table]")
    parser.add_argument("--updates", type=int, help="[default: 8 a turn; 200 with --agreement]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda  [default: cpu]")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="bench-training-") as scratch:
        pairs = encode_table(options.table, Path(scratch), PairSettings())
        sizes = EncoderDecoderSettings(
            source_vocabulary=len(pairs.source.vocabulary),
            target_vocabulary=len(pairs.target.vocabulary),
            hidden=options.hidden,
            maxout=max(1, options.hidden // 2),
        )
        size = options.batch_size or batch_size_for(len(pairs))
        device = choose_device(options.device)
        task = Task(pairs, sizes, size, options.threads, device)
        result: dict[str, Any] = {
            "hidden": options.hidden,
            "pairs a batch": size,
            "threads": options.threads,
            "device": str(device),
        }
        if options.agreement:
            result |= agreement(task, options.updates or 200)
        else:
            result |= rates(task, options.updates or 8, options.runs)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
