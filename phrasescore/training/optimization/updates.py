"""Updates of a model on all cores and processes: gradient, clipping, and the optimiser's step.

On a CPU each core has its own process, if processes can fork. Each process computes the gradient
of a share of the batch; this is as fast as sharing each matrix product among all cores. Then each
process applies the optimiser to a part of the weights. The gradients of the shares are summed in a
fixed order, so results are reproducible to the bit for a given number of cores.

A GPU processes the whole batch. An update launches about a thousand small kernels, and launching
them takes several times as long as running them. From the second batch of a shape (lengths and
number of pairs) on, the work is therefore replayed as a CUDA graph with a single launch. There are
few shapes: batches of phrases have no padding with the recipe ``fast``, and other batches of pairs
are padded to rounded sizes (`in_few_shapes`). The training of a text is not recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from phrasescore.model.sequence_model import Batch, Regularisation, SequenceModel
from phrasescore.training.batches import Indices, in_few_shapes, make_batch, with_unknown
from phrasescore.training.evaluation import HeldOutFigure, fixed_batches
from phrasescore.training.optimization.flat_weights import FlatWeights
from phrasescore.training.optimization.processes import Crew, can_fork
from phrasescore.training.pairs import EncodedPairs
from phrasescore.training.recipes import Recipe, bound_gradient
from phrasescore.training.settings import TrainingSettings


class Updates:
    """Changes the weights of a model batch by batch, and scores held-out pairs.

    Args:
        model: A model on its device; its parameters are moved into one block of memory.
        pairs: All pairs.
        settings: Number of cores, precision, dropout and label smoothing.
        recipe: The optimiser, and how batches are cut and shared.
        rare: ``(V,)`` masks, on the model's device, of the source and target words that
            :func:`with_unknown` replaces by ``<unk>``; ``None`` to replace none.
    """

    def __init__(
        self,
        model: SequenceModel,
        pairs: EncodedPairs,
        settings: TrainingSettings,
        recipe: Recipe,
        rare: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self._model, self._pairs, self._recipe = model, pairs, recipe
        self._dtype = torch.bfloat16 if settings.precision == "bf16" else None
        self._threads = settings.threads or torch.get_num_threads()
        self._members = self._threads if model.device.type == "cpu" and can_fork() else 1
        self._weights = FlatWeights(model, self._members, self._dtype)
        self.moments = self._weights.moments
        self._gradient = ShareGradient(self._weights.working, pairs, self._dtype, settings, rare)
        steps = self._differentiate, self._add_up, self._step, self._score
        self._crew = Crew(self._members, steps)
        if self._members > 1:
            torch.set_num_threads(1)

    def __call__(
        self, rows: Indices, number: int, rate: float, scale: float, begun: int = 0
    ) -> float:
        """Change the weights by one batch.

        Args:
            rows: ``(B,)`` rows of the pairs.
            number: Index of the update, from 0.
            rate: The learning rate.
            scale: Factor for the gradient of the summed loss.
            begun: Index of the first update that the moments cover.

        Returns:
            The summed loss in nats, before the update.
        """
        # small batches use fewer cores, because products of few rows are inefficient
        shares = max(1, min(self._members, len(rows) // self._recipe.min_share))
        # in the order of the shares: the sum does not depend on which member was first
        loss = float(np.sum(self._crew.do(self._differentiate, rows, shares, number)[:shares]))
        # each member sums its part of the (N,) gradient over the shares, for the norm of the whole
        squares = float(np.sum(self._crew.do(self._add_up, shares)))
        self._crew.do(self._step, math.sqrt(squares), scale, rate, number - begun + 1)
        return loss

    def evaluate(self, rows: Indices, *, exact: bool = False) -> HeldOutFigure | None:
        """Score held-out pairs; return ``None`` if there are none.

        Args:
            rows: ``(N,)`` rows of the pairs.
            exact: Whether matrix products run in the type of the parameters.
        """
        if not len(rows):
            return None
        nll, words = np.sum(self._crew.do(self._score, rows, exact), axis=0)
        return HeldOutFigure(len(rows), int(words), float(nll / words))

    def restore(self, weights: Mapping[str, Tensor], moments: Tensor) -> None:
        """Continue from saved weights.

        Args:
            weights: The model's weights by name.
            moments: The optimiser's moments.

        Raises:
            RuntimeError: The weights belong to another model.
        """
        self._model.load_state_dict(weights)
        self.moments.copy_(moments)
        self._weights.narrow()

    def close(self) -> None:
        """End the other processes; this process may use all cores again."""
        self._crew.close()
        torch.set_num_threads(self._threads)

    # -- the steps of each member --------------------------------------------------------------

    def _differentiate(self, member: int, rows: Indices, shares: int, number: int) -> float:
        """Compute the gradient of a share of the batch; return the share's loss."""
        if member >= shares:
            return 0.0
        gradient = self._weights.gradient_views(member)
        # every n-th pair, so that all shares have about the same number of words
        return self._gradient(rows[member::shares], number, member, gradient)

    def _add_up(self, member: int, shares: int) -> float:
        """Sum a part of the gradient over all shares; return the part's squared norm."""
        part = self._weights.part(member, self._members)
        self._weights.add_up(shares, part)
        # squares add up; norms do not
        return float(torch.linalg.vector_norm(self._weights.gradient[part])) ** 2

    def _step(self, member: int, norm: float, scale: float, rate: float, update: int) -> None:
        """Change a part of the weights."""

        def change(values: Tensor, gradient: Tensor, moments: Tensor) -> None:
            bound_gradient(values, gradient, norm, scale)
            self._recipe.optimizer(values, gradient, moments, rate, update)

        self._weights.change(self._weights.part(member, self._members), change)

    def _score(self, member: int, rows: Indices, exact: bool) -> tuple[float, int]:
        """Score a share of held-out pairs; return their negative ln p and number of words."""
        total, words, dtype = 0.0, 0, None if exact else self._dtype
        batches = fixed_batches(self._pairs, rows, self._recipe.plan_held_out)
        with torch.no_grad():
            for part in batches[member :: self._members]:
                batch = make_batch(self._pairs, part).to(self._model.device)
                # float64, because float32 would lose digits over many pairs
                total -= float(self._model.score(batch, dtype).sum(dtype=torch.float64))
                words += self._pairs.target.words(part) + len(part)  # and </s> of each
        return total, words


class ShareGradient:
    """Differentiates the summed loss of some pairs.

    Args:
        model: The model; its parameters must not change during a call.
        pairs: The pairs that batches are gathered from.
        dtype: Type of the matrix products; ``None`` for the parameters' own type.
        settings: Dropout, label smoothing and seed.
        rare: As in `Updates`.
    """

    def __init__(
        self,
        model: SequenceModel,
        pairs: EncodedPairs,
        dtype: torch.dtype | None,
        settings: TrainingSettings,
        rare: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        self._model, self._pairs, self._dtype, self._device = model, pairs, dtype, model.device
        self._settings, self._rare = settings, rare
        self._parameters = list(model.parameters())
        drawn = torch.Generator(self._device)
        rates = settings.dropout or 0.0, settings.label_smoothing or 0.0
        self._regularisation = Regularisation(*rates, drawn)
        self._draws = bool(settings.dropout) or rare is not None
        self._recorded: RecordedGradients | None = None
        # feed-forward language models compute only positions without padding; their number varies
        if self._device.type == "cuda" and settings.learns_from != "text":
            generator = drawn if self._draws else None
            self._recorded = RecordedGradients(self._differentiate, self._parameters, generator)

    def __call__(self, rows: Indices, update: int, share: int, gradient: Sequence[Tensor]) -> float:
        """Compute the gradient of a share of a batch.

        Args:
            rows: ``(B,)`` rows of the pairs.
            update: Index of the update, a part of the seed of dropout.
            share: Index of the share, a part of the seed of dropout.
            gradient: Tensors to write the gradient into, one for each parameter.

        Returns:
            The summed loss in nats.
        """
        if self._draws:
            # from the place alone, so that a resumed run draws the same dropout; the draws of a
            # place depend on all four numbers
            place = [self._settings.seed, update, 0, share]
            seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0])
            self._regularisation.generator.manual_seed(seed)
        batch = make_batch(self._pairs, rows)  # source (B, S), target (B, T)
        differentiate = self._recorded or self._differentiate
        if self._recorded and (batch.lengths or self._settings.learns_from == "sentences"):
            batch = in_few_shapes(batch)  # a graph is recorded for each shape
        loss, found = differentiate(batch.to(self._device))
        _copy(found, gradient)
        return loss.item()

    def _differentiate(self, batch: Batch) -> tuple[Tensor, Sequence[Tensor]]:
        """Return the summed loss of a batch, and its gradient."""
        if self._rare is not None:
            batch = with_unknown(batch, self._rare, self._regularisation.generator)
        loss = self._model.loss(batch, self._dtype, self._regularisation)
        # without a target word, the weights of the decoder's steps have no part in the loss
        gradient = torch.autograd.grad(loss, self._parameters, materialize_grads=True)
        return loss.detach(), gradient


def _copy(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


_MAX_RECORDINGS = 512  # each recording takes some of the driver's memory


class RecordedGradients:
    """Differentiates batches, with a CUDA graph for each repeated shape.

    Args:
        differentiate: Returns the summed loss and its gradient. The parameters must keep their
            addresses, and no shape may depend on the numbers in a batch.
        parameters: The parameters of the gradient.
        generator: The random numbers of ``differentiate``; ``None`` if it uses none.
    """

    def __init__(
        self,
        differentiate: Callable[[Batch], tuple[Tensor, Sequence[Tensor]]],
        parameters: Sequence[nn.Parameter],
        generator: torch.Generator | None,
    ) -> None:
        self._differentiate, self._generator = differentiate, generator
        # all recordings share a memory pool and overwrite it, so results are kept outside the pool
        self._loss = torch.zeros((), dtype=torch.float64, device=parameters[0].device)
        self._gradients = [torch.empty_like(parameter) for parameter in parameters]
        self._pool = torch.cuda.graph_pool_handle()
        # for each shape, the recorded work and the batch that it reads; None for a shape seen once
        self._seen: dict[object, tuple[torch.cuda.CUDAGraph, Batch] | None] = {}

    def __call__(self, batch: Batch) -> tuple[Tensor, Sequence[Tensor]]:
        """Return the summed loss and its gradient; a later call may overwrite both.

        Args:
            batch: A batch on the parameters' device.
        """
        shape = batch.source.shape, batch.target.shape, batch.lengths is None
        recording = self._seen.get(shape)
        if recording is None:
            # recording takes longer than computing, so a shape is recorded only if it occurs again
            recordings = sum(each is not None for each in self._seen.values())
            if shape not in self._seen or recordings >= _MAX_RECORDINGS:
                self._seen.setdefault(shape, None)
                return self._differentiate(batch)
            recording = self._seen[shape] = self._record(batch)
        graph, kept = recording
        _copy(batch.tensors, kept.tensors)
        graph.replay()
        return self._loss, self._gradients

    def _record(self, batch: Batch) -> tuple[torch.cuda.CUDAGraph, Batch]:
        kept = batch.to(self._loss.device, copy=True)
        with torch.cuda.device(self._loss.device):
            graph = torch.cuda.CUDAGraph()
            if self._generator is not None:
                graph.register_generator_state(self._generator)
            # "thread_local": CUDA calls of other threads neither are recorded nor cause an error
            with torch.cuda.graph(graph, self._pool, capture_error_mode="thread_local"):
                loss, gradient = self._differentiate(kept)
                self._loss.copy_(loss)
                _copy(gradient, self._gradients)
        return graph, kept
