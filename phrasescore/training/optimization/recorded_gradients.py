"""Loss and gradient on a GPU, where the work for each shape of batch is recorded and played again.

An update asks a GPU for some thousand small things, and asking takes several times as long as doing
them. Batches of phrases have no padding and few shapes (lengths and number of pairs): from the
second batch of a shape on, its work is a CUDA graph, which is asked for as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from phrasescore.model.sequence_model import Batch, SequenceModel

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
