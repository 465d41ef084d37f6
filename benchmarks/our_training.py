"""The updates of ``phrasescore train`` for benchmarks: gradient, its bounds, Adam's step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from phrasescore.model.sequence_model import SequenceModel
from phrasescore.training.batches import Indices
from phrasescore.training.optimization.process_group import Processes
from phrasescore.training.optimization.updates import Updates
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import recipe_named
from phrasescore.training.settings import TrainingSettings


def fast_updates(
    model: SequenceModel,
    pairs: EncodedPairs,
    settings: TrainingSettings,
    dtype: torch.dtype | None,
    threads: int,
) -> Updates:
    """Return what recipe fast does with batches, by so many cores."""
    settings = dataclasses.replace(
        settings, threads=threads, precision="bf16" if dtype == torch.bfloat16 else "fp32"
    )
    recipe = recipe_named("fast", settings.learns_from)
    return Updates(model, pairs, settings, recipe, Processes(model.device))


def one_update(updates: Updates, pairs: EncodedPairs, rate: float) -> Callable[[Indices], float]:
    """Return what changes the weights by a batch and gives its loss in nats per word."""
    done = 0

    def update(rows: Indices) -> float:
        nonlocal done
        words = int(pairs.lengths(rows)[1].sum()) + len(rows)
        loss = updates(rows, done, rate, 1.0 / words)
        done += 1
        return loss / words

    return update
