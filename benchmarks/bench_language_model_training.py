"""Words per second of training feed-forward language models, ours and a plain loop in turn.

Ours is an update of `phrasescore train --kind feed-forward-lm`, recipe fast: the batch made, loss
and gradient with dropout, clipping, Adam. The plain loop is the same network of torch's own modules
on as many n-grams, all logits at once, with dropout, clipping and fused Adam: in float32, and under
torch's autocast to bfloat16. The rate is by CPU seconds of all cores; wall-clock is given, too.

    python -m benchmarks.bench_language_model_training TEXT [--recipe paper] [--threads N]
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
from torch import nn

from benchmarks.our_training import fast_updates, one_update
from phrasescore.model.device import has_fast_bf16
from phrasescore.model.kinds import kind_named
from phrasescore.model.model_settings import FeedForwardLmSettings
from phrasescore.model.networks.feed_forward_lm import FeedForwardLm
from phrasescore.training.batches import Indices, bucket_plan, make_batch
from phrasescore.training.encoding import encode_texts
from phrasescore.training.pairs import EncodedPairs, PairSettings
from phrasescore.training.recipes import TEXT_RECIPES
from phrasescore.training.settings import DEFAULTS, MAX_LENGTH, TrainingSettings

_RECIPE = TEXT_RECIPES["fast"]
_USUAL = DEFAULTS["text", "fast"]
Update = Callable[[Indices], object]


@dataclass(frozen=True)
class Task:
    """What all train on: a text, a model of these sizes, so many cores."""

    text: EncodedPairs
    settings: FeedForwardLmSettings
    threads: int

    def model(self) -> FeedForwardLm:
        model = FeedForwardLm(self.settings)
        model.initialise(torch.Generator().manual_seed(1), "scaled")
        return model

    def words(self, rows: Indices) -> int:
        return int(self.text.target.lengths(rows).sum()) + len(rows)


def our_update(task: Task, dtype: torch.dtype | None) -> Update:
    settings = TrainingSettings(max_epochs=1, kind="feed-forward-lm", dropout=_USUAL.dropout)
    updates = fast_updates(task.model(), task.text, settings, dtype, task.threads)
    return one_update(updates, task.text, _RECIPE.learning_rate)


def plain_update(task: Task, dtype: torch.dtype | None) -> Update:
    model, sizes = task.model(), task.settings
    layers = nn.Sequential(
        nn.Embedding(sizes.target_vocabulary + 1, sizes.embedding),
        nn.Flatten(),
        nn.Linear((sizes.order - 1) * sizes.embedding, sizes.hidden),
        nn.ReLU(),
        nn.Dropout(_USUAL.dropout),
        nn.Linear(sizes.hidden, sizes.second_hidden),
        nn.ReLU(),
        nn.Dropout(_USUAL.dropout),
        nn.Linear(sizes.second_hidden, sizes.target_vocabulary),
    )
    values = list(layers.parameters())
    optimizer = torch.optim.Adam(values, lr=_RECIPE.learning_rate, betas=(0.9, 0.99), fused=True)

    def update(rows: Indices) -> None:
        torch.set_num_threads(task.threads)
        optimizer.zero_grad()
        histories, wanted = model._n_grams(make_batch(task.text, rows))
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype is not None):
            loss = nn.functional.cross_entropy(layers(histories), wanted)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(values, 1.0)
        optimizer.step()

    return update


def rates(task: Task, updates: int, runs: int) -> dict[str, dict[str, int]]:
    """Measure each in turn, ``updates`` at a time; return medians over the runs."""
    lengths = task.text.lengths(np.arange(len(task.text)))
    size = _RECIPE.batch_size or 64
    batches = bucket_plan(*lengths, size, np.random.default_rng(1))[:updates]
    contenders = {"ours, fp32": our_update(task, None), "plain, fp32": plain_update(task, None)}
    if has_fast_bf16(torch.device("cpu")):
        contenders["ours, bf16"] = our_update(task, torch.bfloat16)
        contenders["plain, bf16"] = plain_update(task, torch.bfloat16)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    words = sum(map(task.words, batches))
    for update in contenders.values():
        update(batches[0])
    for _ in range(runs):
        for name, update in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for rows in batches:
                update(rows)
            taken = time.process_time() - cpu, time.perf_counter() - wall
            found[name].append((words / taken[0], words / taken[1]))
    return {
        name: dict(
            zip(
                ("words per CPU second", "words per second"),
                (round(statistics.median(column)) for column in zip(*each, strict=True)),
                strict=True,
            )
        )
        for name, each in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--recipe", choices=["fast", "paper"], default="fast", help="whose sizes")
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory(prefix="bench-training-") as scratch:
        given = (options.text.resolve(),), Path(scratch) / "pairs", PairSettings()
        text = encode_texts(*given, max_length=MAX_LENGTH)
        kind = kind_named("feed-forward-lm")
        sizes: dict[str, Any] = dict(kind.fast_sizes) if options.recipe == "fast" else {}
        settings = FeedForwardLmSettings(
            target_vocabulary=len(text.target.vocabulary), self_normalise=0.1, **sizes
        )
        task = Task(text, settings, options.threads)
        result = rates(task, options.updates, options.runs)
        print(json.dumps({"threads": options.threads, "sizes": options.recipe, **result}, indent=2))


if __name__ == "__main__":
    main()
