"""Measures words per second of training on batches of real data, by us and by peers.

"Ours" is an update of `phrasescore train` with the fast recipe: batch, loss, gradient, clipping,
Adam; for sentences (--kind search, RNNsearch) also dropout and label smoothing. The peers update on
random batches of ``--batch-size`` pairs, padded to the longest:

(a) a plain PyTorch loop of the same network (plain_scorer.py or plain_attention.py under autograd,
    a Python loop over time steps, all logits at once, Adam, no dropout);
(b) for phrases, a network of the same sizes from torch.nn.GRU, the fastest recurrence in torch; its
    reset gate comes after the product;
(c) for sentences, with --joeynmt, JoeyNMT's own updates on the same texts (joeynmt_trainer.py).

All run alternately. Words are target words and </s>. The rates are per CPU second of all cores, and
per second of wall-clock time, which matters on a GPU.

--agreement instead trains ours and the plain loop from equal weights on equal batches, without
dropout or label smoothing, and compares their losses. The result is JSON on standard output.

    python -m benchmarks.bench_training TABLE [--threads N] [--agreement] [--device cuda]
    python -m benchmarks.bench_training SOURCE TARGET --kind search [--joeynmt PYTHON]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import plain_attention, plain_scorer
from benchmarks.costs import PROJECT
from phrasescore.model.device import choose_device, has_fast_bf16
from phrasescore.model.folder import save_model
from phrasescore.model.kinds import EncoderDecoderSettings, RnnSearchSettings, kind_named
from phrasescore.model.sequence_model import SequenceModel, build
from phrasescore.training.batches import Indices, bucket_plan, uniform_plan
from phrasescore.training.encoding import encode
from phrasescore.training.optimization.updates import Updates
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import RECIPES, batch_size_for
from phrasescore.training.settings import DEFAULTS, TrainingSettings

Update = Callable[[Indices], float]
Sides = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def fast_updates(
    model: SequenceModel,
    pairs: EncodedPairs,
    settings: TrainingSettings,
    dtype: torch.dtype | None,
    threads: int,
) -> Updates:
    """Return the updates of the fast recipe with this number of threads."""
    settings = dataclasses.replace(
        settings, threads=threads, precision="bf16" if dtype == torch.bfloat16 else "fp32"
    )
    recipe = RECIPES[settings.learns_from, "fast"]
    return Updates(model, pairs, settings, recipe)


def one_update(updates: Updates, pairs: EncodedPairs, rate: float) -> Update:
    """Return a function that updates the weights with a batch and returns nats per word."""
    done = 0

    def update(rows: Indices) -> float:
        nonlocal done
        words = int(pairs.lengths(rows)[1].sum()) + len(rows)
        loss = updates(rows, done, rate, 1.0 / words)
        done += 1
        return loss / words

    return update


@dataclass(frozen=True)
class Task:
    """The data and settings that all contenders share.

    Attributes:
        pairs: The table or the texts.
        sizes: The sizes of the network.
        training: Our training settings; the peers have their own.
        rate: The learning rate.
        size: Pairs in a peer's batch; our batches have about as many words, or fewer.
        threads: The number of threads.
        device: The device to train on.
    """

    pairs: EncodedPairs
    sizes: EncoderDecoderSettings | RnnSearchSettings
    training: TrainingSettings
    rate: float
    size: int
    threads: int
    device: torch.device

    @property
    def of_sentences(self) -> bool:
        return isinstance(self.sizes, RnnSearchSettings)

    def model(self) -> SequenceModel:
        model = build(self.sizes)
        model.initialise(torch.Generator().manual_seed(1), "scaled")
        return model.to(self.device)

    def padded(self, rows: Indices) -> Sides:
        """Return the ids of both sides, ``(L, B)``, each with a mask that excludes padding."""
        chosen = [side.select(rows) for side in (self.pairs.source, self.pairs.target)]
        lists = [[phrases[i].tolist() for i in range(len(rows))] for phrases in chosen]
        source, target = (
            (ids.to(self.device), counted.to(self.device))
            for ids, counted in map(plain_scorer.padded, lists)
        )
        return source, target

    def words(self, rows: Indices) -> int:
        return int(self.pairs.lengths(rows)[1].sum()) + len(rows)

    def random_batches(self, count: int) -> list[Indices]:
        rng = np.random.default_rng(1)
        return list(rng.choice(len(self.pairs), (count, self.size), replace=False))

    def own_batches(self, count: int) -> list[Indices]:
        lengths = self.pairs.lengths(np.arange(len(self.pairs)))
        plan = bucket_plan if self.of_sentences else uniform_plan
        return plan(*lengths, self.size, np.random.default_rng(1))[:count]


def our_update(task: Task, dtype: torch.dtype | None) -> Update:
    updates = fast_updates(task.model(), task.pairs, task.training, dtype, task.threads)
    return one_update(updates, task.pairs, task.rate)


def _autograd_update(
    task: Task, weights: list[nn.Parameter], loss_of: Callable[[Sides], Tensor]
) -> Update:
    optimizer = torch.optim.Adam(weights, lr=task.rate, betas=(0.9, 0.99))

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
    peer = plain_attention if task.of_sentences else plain_scorer

    def loss(sides: Sides) -> Tensor:
        return -peer.log_likelihoods({**weights}, *sides).sum()

    return _autograd_update(task, list(weights.values()), loss)


class StandardUnits(nn.Module):
    """An encoder-decoder of our sizes, built from torch.nn.GRU, Embedding and Linear."""

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
    assert isinstance(task.sizes, EncoderDecoderSettings)
    model = StandardUnits(task.sizes).to(task.device)
    return _autograd_update(task, list(model.parameters()), model)


def joeynmt_rate(
    python: Path, task: Task, texts: list[Path], updates: int, scratch: Path
) -> tuple[float, float]:
    """Train for some updates with JoeyNMT; return words per CPU second and per second."""
    vocabularies = task.pairs.source.vocabulary, task.pairs.target.vocabulary
    save_model(scratch / "sizes", task.model(), vocabularies, {})
    command = [python, PROJECT / "benchmarks" / "joeynmt_trainer.py", scratch / "sizes", *texts]
    options = [scratch, "--updates", updates, "--threads", task.threads, "--batch", task.size]
    done = subprocess.run(
        list(map(str, [*command, *options])), check=True, capture_output=True, cwd=scratch
    )
    found: dict[str, float] = json.loads(done.stdout.decode().strip().split("\n")[-1])
    return found["words"] / found["cpu"], found["words"] / found["wall"]


def rates(
    task: Task, updates: int, runs: int, joeynmt: Callable[[], tuple[float, float]] | None
) -> dict[str, Any]:
    """Measure the contenders alternately, ``updates`` at a time; return medians over the runs."""
    auto = torch.bfloat16 if has_fast_bf16(task.device) else None
    own, random = task.own_batches(updates), task.random_batches(updates)
    contenders: dict[str, tuple[Update, list[Indices]]] = {
        "ours, auto": (our_update(task, auto), own),
        "ours, fp32": (our_update(task, None), own),
        "plain loop": (plain_update(task), random),
    }
    if not task.of_sentences:
        contenders["torch.nn.GRU"] = standard_update(task), random
    per_second: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    # warm up; on a GPU every batch runs twice: the second batch of a shape records its CUDA graph
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
            words = sum(map(task.words, batches))
            per_second[name].append((words / taken[0], words / taken[1]))
        if joeynmt is not None:
            per_second.setdefault("JoeyNMT", []).append(joeynmt())
    result: dict[str, Any] = {}
    for name, found in per_second.items():
        cpu, wall = (round(statistics.median(column)) for column in zip(*found, strict=True))
        result[name] = {"words per CPU second": cpu, "words per second": wall}
    rate = "words per CPU second" if task.device.type == "cpu" else "words per second"
    for name in list(result)[2:]:
        times = result["ours, auto"][rate] / result[name][rate]
        result[f"ours, auto, times {name}"] = round(times, 2)
    return result


def agreement(task: Task, updates: int) -> dict[str, Any]:
    """Train from equal weights on equal random batches; compare the means of the last losses."""
    last = max(1, updates // 10)
    task = dataclasses.replace(task, training=_training(task.training.kind, regularised=False))
    contenders = {
        "plain loop": plain_update(task),
        "ours, fp32": our_update(task, None),
        "ours, bf16": our_update(task, torch.bfloat16),
    }
    losses = {
        name: statistics.mean([update(rows) for rows in task.random_batches(updates)][-last:])
        for name, update in contenders.items()
    }
    plain = losses["plain loop"]
    result: dict[str, Any] = {f"nats per word, last {last} of {updates} updates": losses}
    for name in ("ours, fp32", "ours, bf16"):
        result[f"{name}, difference"] = f"{(losses[name] - plain) / plain:+.3%}"
    return result


def _training(kind: str, *, regularised: bool) -> TrainingSettings:
    usual = DEFAULTS["sentences", "fast"]
    if kind == "search" and regularised:
        return TrainingSettings(
            max_epochs=1, kind=kind, dropout=usual.dropout, label_smoothing=usual.label_smoothing
        )
    return TrainingSettings(max_epochs=1, kind=kind)


def phrase_sizes(pairs: EncodedPairs, hidden: int) -> EncoderDecoderSettings:
    """Return the sizes of a network of phrases with this number of hidden units."""
    return EncoderDecoderSettings(
        source_vocabulary=len(pairs.source.vocabulary),
        target_vocabulary=len(pairs.target.vocabulary),
        hidden=hidden,
        maxout=max(1, hidden // 2),
    )


def task_of(options: argparse.Namespace, texts: list[Path], scratch: Path) -> Task:
    """Read the data, and choose the sizes of the network."""
    training = _training(options.kind, regularised=True)
    where = options.threads, choose_device(options.device)
    if options.kind == "search":
        pairs = encode(TrainingSettings("search", (texts[0], texts[1])), scratch / "pairs")
        source, target = (len(side.vocabulary) for side in (pairs.source, pairs.target))
        others = RnnSearchSettings.completed(kind_named("search").fast_sizes)
        sizes = RnnSearchSettings(source_vocabulary=source, target_vocabulary=target, **others)
        recipe = RECIPES["sentences", "fast"]
        size = options.batch_size or recipe.batch_size or 64
        return Task(pairs, sizes, training, recipe.learning_rate, size, *where)
    pairs = encode(TrainingSettings(inputs=(texts[0],)), scratch)
    size = options.batch_size or batch_size_for(len(pairs))
    return Task(pairs, phrase_sizes(pairs, options.hidden), training, 1e-3, size, *where)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("texts", type=Path, nargs="+", metavar="TABLE | SOURCE TARGET")
    parser.add_argument("--kind", choices=["phrase", "search"], default="phrase")
    parser.add_argument("--agreement", action="store_true", help="compare losses, not speed")
    parser.add_argument("--joeynmt", type=Path, help="a Python that can import joeynmt")
    parser.add_argument("--hidden", type=int, default=1000, help="units of --kind phrase")
    parser.add_argument("--batch-size", type=int, help="pairs  [default: as in phrasescore train]")
    parser.add_argument("--updates", type=int, help="[default: 8 per run; 200 with --agreement]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda  [default: cpu]")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = [path.resolve() for path in options.texts]
    with tempfile.TemporaryDirectory(prefix="bench-training-") as scratch:
        task = task_of(options, texts, Path(scratch))
        result: dict[str, Any] = {
            "pairs a batch": task.size,
            "threads": options.threads,
            "device": str(task.device),
        }
        if options.agreement:
            result |= agreement(task, options.updates or 200)
        else:
            updates, joeynmt = options.updates or 8, None
            if options.joeynmt is not None:
                place = Path(scratch)
                joeynmt = lambda: joeynmt_rate(options.joeynmt, task, texts, updates, place)  # noqa: E731
            result |= rates(task, updates, options.runs, joeynmt)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
