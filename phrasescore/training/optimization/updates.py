"""Updates of a model by all cores and all processes: gradient, its bounds, the optimiser's step.

On a CPU each core is a process of its own. It takes its share of the batch through the whole
network, where products on one core are as fast as a share of products on many and the passes
between them come along for nothing, and then its part of the weights through the optimiser. Shares
are added up in a fixed order, so results repeat to the bit for a given number of cores.

A GPU takes the whole batch, and records the work for each shape of batch to play it again: an
update asks a GPU for some thousand small things, and asking takes several times as long as doing
them. Batches of phrases have no padding and few shapes (lengths and number of pairs): from the
second batch of a shape on, its work is a CUDA graph, which is asked for as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from phrasescore.model.sequence_model import Batch, Regularisation, SequenceModel
from phrasescore.training.batches import Indices, make_batch, share, with_unknown
from phrasescore.training.evaluation import HeldOutFigure, score_share
from phrasescore.training.optimization.crew import Crew, can_fork
from phrasescore.training.optimization.flat_weights import FlatWeights, shared_array
from phrasescore.training.optimization.process_group import Processes
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import Recipe, bound_gradient
from phrasescore.training.settings import TrainingSettings

_GRADIENT, _SUM, _STEP, _SCORE = range(4)


class Updates:
    """Changes the weights of a model batch by batch, and says how well it does.

    Args:
        model: On its device; its parameters move into one stretch of memory.
        pairs: All pairs.
        settings: How to train: cores, precision, dropout and label smoothing.
        recipe: Its optimiser, and how batches are cut and shared.
        processes: Those of ``torchrun`` that share the work.
        max_rows: How many rows are worked on at once, at most.
        rare: ``(V,)`` source and target words that are learnt as unknown at times, or ``None``.
    """

    def __init__(
        self,
        model: SequenceModel,
        pairs: EncodedPairs,
        settings: TrainingSettings,
        recipe: Recipe,
        processes: Processes,
        max_rows: int,
        rare: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None,
    ) -> None:
        self._model, self._pairs, self._recipe, self._processes = model, pairs, recipe, processes
        self._dtype = torch.bfloat16 if settings.precision == "bf16" else None
        self._threads = settings.threads or torch.get_num_threads()
        self._members = 1
        if model.device.type == "cpu" and can_fork():
            self._members = self._threads
        self._weights = FlatWeights(model, self._members, self._dtype)
        self.moments = self._weights.moments
        given = self._weights.working, pairs, self._dtype, settings, processes.rank
        self._gradient = ShareGradient(*given, rare)
        self._rows = shared_array(max_rows, np.int64)
        self._asked = shared_array(6, np.float64)
        self._found = shared_array(2 * self._members, np.float64).reshape(-1, 2)
        steps = self._differentiate, self._add_up, self._step, self._score
        self._crew = Crew(self._members, steps)
        if self._members > 1:
            torch.set_num_threads(1)

    def __call__(
        self, rows: Indices, number: int, rate: float, scale: float, begun: int = 0
    ) -> float:
        """Change the weights by one batch.

        Args:
            rows: ``(B,)`` which pairs; with more processes than pairs there may be none.
            number: Of the update, from 0.
            rate: The learning rate.
            scale: What the gradient of the summed loss is times.
            begun: The number of the first update that the moments remember.

        Returns:
            The summed loss in nats, before.
        """
        shares = max(1, min(self._members, len(rows) // self._recipe.min_share))
        self._ask(rows, shares, number, rate, scale, begun)
        self._crew.do(_GRADIENT)
        loss = float(self._found[:shares, 0].sum())
        self._crew.do(_SUM)
        if self._processes.world > 1:
            gradient = self._weights.gradient
            self._processes.add_up(gradient)
            self._found[:, 1] = 0.0
            self._found[0, 1] = float(torch.linalg.vector_norm(gradient)) ** 2
        self._crew.do(_STEP)
        return loss

    def evaluate(self, rows: Indices, *, exact: bool = False) -> HeldOutFigure | None:
        """Score held-out pairs; ``None`` if there are none.

        Args:
            rows: ``(N,)`` which pairs.
            exact: Whether products run in the parameters' own type.
        """
        if not len(rows):
            return None
        self._ask(rows, self._members, 0, 0.0, float(exact))
        self._crew.do(_SCORE)
        total, words = self._found.sum(0)
        return HeldOutFigure(len(rows), int(words), float(total / words))

    def take_up(self, weights: Mapping[str, Tensor], moments: Tensor) -> None:
        """Go on from these.

        Args:
            weights: The model's, by name.
            moments: What the optimiser remembered.

        Raises:
            RuntimeError: They are another model's.
        """
        self._model.load_state_dict(weights)
        self.moments.copy_(moments)
        self._weights.narrow()

    def close(self) -> None:
        """End the other processes; this one has all cores again."""
        self._crew.close()
        torch.set_num_threads(self._threads)

    # -- what each member does -----------------------------------------------------------------

    def _ask(
        self, rows: Indices, shares: int, number: int, rate: float, scale: float, begun: int = 0
    ) -> None:
        self._rows[: len(rows)] = rows
        self._asked[:] = len(rows), shares, number, rate, scale, begun

    def _differentiate(self, member: int) -> None:
        count, shares, number = map(int, self._asked[:3])
        if member < shares:
            mine = share(self._rows[:count], member, shares)
            gradient = self._weights.gradient_views(member)
            self._found[member, 0] = self._gradient(mine, number, member, gradient)

    def _add_up(self, member: int) -> None:
        shares, part = int(self._asked[1]), self._weights.part(member, self._members)
        self._weights.add_up(shares, part)
        self._found[member, 1] = float(torch.linalg.vector_norm(self._weights.gradient[part])) ** 2

    def _step(self, member: int) -> None:
        rate, scale = map(float, self._asked[3:5])
        remembered = int(self._asked[2] - self._asked[5])
        norm = math.sqrt(self._found[:, 1].sum())

        def change(values: Tensor, gradient: Tensor, moments: Tensor) -> None:
            bound_gradient(values, gradient, norm, scale)
            self._recipe.optimizer.step(values, gradient, moments, rate, remembered + 1)

        self._weights.change(self._weights.part(member, self._members), change)

    def _score(self, member: int) -> None:
        rows, plan = self._rows[: int(self._asked[0])], self._recipe.plan_held_out
        dtype = None if self._asked[4] else self._dtype
        asked = self._model, self._pairs, rows, plan, dtype
        self._found[member] = score_share(*asked, member, self._members)


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
            for each in gradient:
                each.zero_()
            return 0.0
        regularisation = self._regularisation(update, share)
        batch = make_batch(self._pairs, rows).to(self._device)
        if self._recorded is not None and regularisation is None and batch.lengths is None:
            recorded, found = self._recorded(batch)
            _copy(found, gradient)
            return recorded.item()
        if self._rare is not None and regularisation is not None:
            batch = with_unknown(batch, self._rare, regularisation.generator)
        loss = self._model.loss(batch, self._dtype, regularisation)
        _copy(torch.autograd.grad(loss, self._parameters), gradient)
        return loss.item()

    def _regularisation(self, update: int, share: int) -> Regularisation | None:
        settings = self._settings
        if not (settings.dropout or settings.label_smoothing or self._rare is not None):
            return None
        place = [settings.seed, update, self._rank, share]
        seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0])
        generator = torch.Generator(self._device).manual_seed(seed)
        dropout, smoothing = settings.dropout or 0.0, settings.label_smoothing or 0.0
        return Regularisation(dropout, smoothing, generator)


def _copy(found: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    for source, target in zip(found, into, strict=True):
        target.copy_(source)


_MAX_RECORDINGS = 512  # each takes some memory of the driver's


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
            if shape not in self._seen or len(self._seen) > _MAX_RECORDINGS:
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
        _copy(torch.autograd.grad(loss, self._parameters), self._gradients)
