"""Loss and gradient of a share of a batch, by one process.

A GPU takes the whole batch, and records the work for each shape of batch to play it again: an
update asks a GPU for some thousand small things, and asking takes several times as long as doing
them. Batches of phrases have no padding and few shapes (lengths and number of pairs): from the
second batch of a shape on, its work is a CUDA graph, which is asked for as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from phrasescore.model.sequence_model import Batch, Regularisation, SequenceModel
from phrasescore.training.batches import Indices, make_batch, with_unknown
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.training_settings import TrainingSettings


class ShareGradient:
    """Differentiates the summed loss of some pairs.

    Args:
        model: What to differentiate; its parameters must not change during a call.
        pairs: Where the batches come from.
        dtype: What the matrix products run in; ``None`` for the parameters' own type.
        settings: Whose dropout and label smoothing the loss has.
        rank: Which of several processes of ``torchrun`` this is.
        rare: ``(V,)`` source and target words that are learnt as unknown at times, or ``None``.
    """

    def __init__(
        self,
        model: SequenceModel,
        pairs: EncodedPairs,
        dtype: torch.dtype | None,
        settings: TrainingSettings,
        rank: int = 0,
        rare: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None,
    ) -> None:
        self._model, self._pairs, self._dtype, self._device = model, pairs, dtype, model.device
        self._settings, self._rank = settings, rank
        self._rare: tuple[Tensor, Tensor] | None = None
        if rare is not None:
            source, target = (torch.from_numpy(words).to(self._device) for words in rare)
            self._rare = source, target
        self._parameters = list(model.parameters())
        self._recorded: RecordedGradients | None = None
        if self._device.type == "cuda":
            self._recorded = RecordedGradients(model, dtype, self._parameters)

    def __call__(self, rows: Indices, update: int, share: int, gradient: Sequence[Tensor]) -> float:
        """Set the gradient of a share of a batch.

        Args:
            rows: ``(B,)`` which pairs; with more processes than pairs there may be none.
            update: The number of the update, which decides what is dropped out.
            share: Which share of the batch these are.
            gradient: Where to write it, a tensor for each parameter.

        Returns:
            The summed loss in nats.
        """
        if not len(rows):
            torch._foreach_zero_(list(gradient))
            return 0.0
        regularisation = self._regularisation(update, share)
        batch = make_batch(self._pairs.source, self._pairs.target, rows).to(self._device)
        if self._recorded is not None and regularisation is None and batch.lengths is None:
            recorded, found = self._recorded(batch)
            torch._foreach_copy_(list(gradient), found)
            return recorded.item()
        if self._rare is not None and regularisation is not None:
            batch = with_unknown(batch, self._rare, regularisation.generator)
        loss = self._model.loss(batch, self._dtype, regularisation)
        torch._foreach_copy_(list(gradient), list(torch.autograd.grad(loss, self._parameters)))
        return loss.item()

    def _regularisation(self, update: int, share: int) -> Regularisation | None:
        settings = self._settings
        if not (settings.dropout or settings.label_smoothing or self._rare is not None):
            return None
        place = [settings.seed, update, self._rank, share]
        seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0])
        generator = torch.Generator(self._device).manual_seed(seed)
        return Regularisation(settings.dropout, settings.label_smoothing, generator)


_MOST = 512  # recordings; each takes some memory of the driver's


@dataclass(frozen=True)
class _Recording:
    """The work for batches of one shape; it reads ``batch``."""

    batch: Batch
    graph: torch.cuda.CUDAGraph


class RecordedGradients:
    """Differentiates batches without padding, of a model without regularisation.

    Args:
        model: On a CUDA device; its parameters stay where they are.
        dtype: What the matrix products run in; ``None`` for the parameters' own type.
        parameters: What to differentiate with respect to.
    """

    def __init__(
        self, model: SequenceModel, dtype: torch.dtype | None, parameters: list[nn.Parameter]
    ) -> None:
        self._model, self._dtype, self._parameters = model, dtype, parameters
        # the recordings share their memory, so what they find is kept outside it
        self._loss = torch.zeros((), device=model.device)
        self._gradients = [torch.empty_like(parameter) for parameter in parameters]
        self._pool = torch.cuda.graph_pool_handle()
        self._seen: dict[tuple[torch.Size, torch.Size], _Recording | None] = {}

    def __call__(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """Return the summed loss and its gradient, both overwritten by the next call.

        Args:
            batch: On the model's device, all lengths equal.
        """
        shape = batch.source.shape, batch.target.shape
        recording = self._seen.get(shape)
        if recording is None:
            if shape not in self._seen or len(self._seen) > _MOST:
                self._seen.setdefault(shape, None)
                self._differentiate(batch)
                return self._loss, self._gradients
            recording = self._seen[shape] = self._record(batch)
        recording.batch.source.copy_(batch.source)
        recording.batch.target.copy_(batch.target)
        recording.graph.replay()
        return self._loss, self._gradients

    def _record(self, batch: Batch) -> _Recording:
        kept = Batch(batch.source.clone(), batch.target.clone(), None, batch.words)
        graph = torch.cuda.CUDAGraph()
        with (
            torch.cuda.device(self._loss.device),
            # what other threads do at the same time is no part of it
            torch.cuda.graph(graph, self._pool, capture_error_mode="thread_local"),
        ):
            self._differentiate(kept)
        return _Recording(kept, graph)

    def _differentiate(self, batch: Batch) -> None:
        loss = self._model.loss(batch, self._dtype)
        self._loss.copy_(loss.detach())
        torch._foreach_copy_(self._gradients, list(torch.autograd.grad(loss, self._parameters)))
