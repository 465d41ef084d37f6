"""Words per second of training RNNsearch on real texts, ours and peers in turn.

Ours is an update of `phrasescore train --kind search`, recipe fast: the batch made, loss and
gradient with dropout and label smoothing, clipping, Adam. The peers: (a) a plain PyTorch loop of
the same network (plain_attention.py under autograd, all logits at once, without dropout, Adam) on
random batches of as many pairs, padded to the longest; (b) with --joeynmt, JoeyNMT's updates on the
same texts (joeynmt_trainer.py). Words are target words and </s>. The rate is by CPU seconds of all
cores; wall-clock is given, too. With --agreement, ours and the plain loop train without dropout
from the same weights on the same batches instead, and their losses are compared.

    python -m benchmarks.bench_sentence_training SOURCE TARGET [--joeynmt PYTHON] [--threads N]
"""

from __future__ import annotations

import argparse
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

from benchmarks.costs import PROJECT
from benchmarks.our_training import fast_updates, one_update
from benchmarks.plain_attention import log_likelihoods
from benchmarks.plain_scorer import padded
from phrasescore.model.device import has_fast_bf16
from phrasescore.model.folder import save_model
from phrasescore.model.kinds import kind_named
from phrasescore.model.model_settings import RnnSearchSettings
from phrasescore.model.networks.attention_model import AttentionModel
from phrasescore.training.batches import Indices, bucket_plan
from phrasescore.training.encoding import encode_texts
from phrasescore.training.pairs import EncodedPairs, PairSettings
from phrasescore.training.recipes import SENTENCE_RECIPES
from phrasescore.training.settings import DEFAULTS, MAX_LENGTH, TrainingSettings

_RECIPE = SENTENCE_RECIPES["fast"]
_USUAL = DEFAULTS["sentences", "fast"]
Update = Callable[[Indices], float]


@dataclass(frozen=True)
class Task:
    """What all train on.

    Attributes:
        pairs: The texts.
        size: Pairs in a batch (of average length, in ours).
        threads: Cores to use.
    """

    pairs: EncodedPairs
    size: int
    threads: int

    def model(self) -> AttentionModel:
        sizes = RnnSearchSettings.completed(kind_named("search").fast_sizes)
        words = [len(side.vocabulary) for side in (self.pairs.source, self.pairs.target)]
        model = AttentionModel(
            RnnSearchSettings(source_vocabulary=words[0], target_vocabulary=words[1], **sizes)
        )
        model.initialise(torch.Generator().manual_seed(1), "scaled")
        return model

    def words(self, rows: Indices) -> int:
        return int(self.pairs.lengths(rows)[1].sum()) + len(rows)

    def random_batches(self, count: int) -> list[Indices]:
        rng = np.random.default_rng(1)
        return list(rng.choice(len(self.pairs), (count, self.size), replace=False))

    def buckets(self, count: int) -> list[Indices]:
        lengths = self.pairs.lengths(np.arange(len(self.pairs)))
        return bucket_plan(*lengths, self.size, np.random.default_rng(1))[:count]


def our_update(task: Task, dtype: torch.dtype | None, *, regularised: bool = True) -> Update:
    settings = TrainingSettings(max_epochs=1, kind="search")
    if regularised:
        settings = TrainingSettings(
            max_epochs=1,
            kind="search",
            dropout=_USUAL.dropout,
            label_smoothing=_USUAL.label_smoothing,
        )
    updates = fast_updates(task.model(), task.pairs, settings, dtype, task.threads)
    return one_update(updates, task.pairs, _RECIPE.learning_rate)


def plain_update(task: Task) -> Update:
    weights = dict(task.model().named_parameters())
    values: list[Tensor] = list(weights.values())
    optimizer = torch.optim.Adam(values, lr=_RECIPE.learning_rate, betas=(0.9, 0.99))

    def update(rows: Indices) -> float:
        torch.set_num_threads(task.threads)
        optimizer.zero_grad()
        chosen = [side.select(rows) for side in (task.pairs.source, task.pairs.target)]
        sides = [padded([one[i].tolist() for i in range(len(rows))]) for one in chosen]
        loss = -log_likelihoods(dict(weights), *sides).sum() / task.words(rows)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(values, 1.0)
        optimizer.step()
        return loss.item()

    return update


def joeynmt_rate(
    python: Path, task: Task, texts: list[Path], updates: int, scratch: Path
) -> dict[str, float]:
    """Train for some updates in JoeyNMT's environment; return its words and times."""
    vocabularies = task.pairs.source.vocabulary, task.pairs.target.vocabulary
    save_model(scratch / "sizes", task.model(), vocabularies, {})
    command = [python, PROJECT / "benchmarks" / "joeynmt_trainer.py", scratch / "sizes", *texts]
    options = [scratch, "--updates", updates, "--threads", task.threads, "--batch", task.size]
    done = subprocess.run(
        list(map(str, [*command, *options])), check=True, capture_output=True, cwd=scratch
    )
    found: dict[str, float] = json.loads(done.stdout.decode().strip().split("\n")[-1])
    return found


def rates(
    task: Task, updates: int, runs: int, joeynmt: Callable[[], dict[str, float]] | None
) -> dict[str, Any]:
    """Measure each in turn, ``updates`` at a time; return medians over the runs."""
    auto = torch.bfloat16 if has_fast_bf16(torch.device("cpu")) else None
    buckets, random = task.buckets(updates), task.random_batches(updates)
    contenders: dict[str, tuple[Update, list[Indices]]] = {
        "ours, auto": (our_update(task, auto), buckets),
        "ours, fp32": (our_update(task, None), buckets),
        "plain loop": (plain_update(task), random),
    }
    per_second: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for update, batches in contenders.values():
        update(batches[0])
    for _ in range(runs):
        for name, (update, batches) in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for rows in batches:
                update(rows)
            taken = time.process_time() - cpu, time.perf_counter() - wall
            words = sum(map(task.words, batches))
            per_second[name].append((words / taken[0], words / taken[1]))
        if joeynmt is not None:
            found = joeynmt()
            rate = found["words"] / found["cpu"], found["words"] / found["wall"]
            per_second.setdefault("JoeyNMT", []).append(rate)
    result: dict[str, Any] = {}
    for name, found_rates in per_second.items():
        cpu, wall = (statistics.median(column) for column in zip(*found_rates, strict=True))
        result[name] = {"words per CPU second": round(cpu), "words per second": round(wall)}
    ours = result["ours, auto"]["words per CPU second"]
    for name in list(result)[2:]:
        result[f"ours, auto, times {name}"] = round(ours / result[name]["words per CPU second"], 2)
    return result


def agreement(task: Task, updates: int) -> dict[str, Any]:
    """Train from the same weights on the same random batches; compare the last losses."""
    last = max(1, updates // 10)
    contenders = {
        "plain loop": plain_update(task),
        "ours, fp32": our_update(task, None, regularised=False),
        "ours, bf16": our_update(task, torch.bfloat16, regularised=False),
    }
    losses = {
        name: statistics.mean([update(rows) for rows in task.random_batches(updates)][-last:])
        for name, update in contenders.items()
    }
    return {f"nats per word, last {last} of {updates} updates": losses}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    for name in ("source", "target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--agreement", action="store_true", help="compare losses, not speed")
    parser.add_argument("--joeynmt", type=Path, help="a Python that can import joeynmt")
    parser.add_argument("--updates", type=int, help="[default: 10 a turn; 200 with --agreement]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = [options.source.resolve(), options.target.resolve()]
    with tempfile.TemporaryDirectory(prefix="bench-training-") as scratch:
        given = (texts[0], texts[1]), Path(scratch) / "pairs", PairSettings()
        pairs = encode_texts(*given, max_length=MAX_LENGTH)
        task = Task(pairs, _RECIPE.batch_size or 64, options.threads)
        result: dict[str, Any] = {"pairs a batch": task.size, "threads": options.threads}
        if options.agreement:
            result |= agreement(task, options.updates or 200)
        else:
            updates, python = options.updates or 10, options.joeynmt
            joeynmt = None
            if python is not None:
                place = Path(scratch)
                joeynmt = lambda: joeynmt_rate(python, task, texts, updates, place)  # noqa: E731
            result |= rates(task, updates, options.runs, joeynmt)
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
