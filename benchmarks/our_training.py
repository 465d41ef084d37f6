"""The updates of ``phrasescore train`` for benchmarks: gradient, its bounds, Adam's step."""

from __future__ import annotations

from collections.abc import Callable

import torch

from phrasescore.model.sequence_model import SequenceModel
from phrasescore.training.batches import Indices, uniform_plan
from phrasescore.training.optimization.process_group import Processes
from phrasescore.training.optimization.updates import LEAST_SHARE, Updates, Work
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import recipe_named
from phrasescore.training.training_settings import TrainingSettings


def fast_updates(
    model: SequenceModel,
    pairs: EncodedPairs,
    settings: TrainingSettings,
    dtype: torch.dtype | None,
    threads: int,
) -> Updates:
    """Return what recipe fast does with batches, by so many cores."""
    work = Work(
        model=model,
        pairs=pairs,
        settings=settings,
        optimizer=recipe_named("fast", settings.learns_from).optimizer,
        plan=uniform_plan,
        dtype=dtype,
        largest=len(pairs),
        least=LEAST_SHARE[settings.learns_from],
    )
    return Updates(work, threads, Processes(model.device))


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
