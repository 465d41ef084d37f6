"""Loss and gradient of a batch, by all cores and all processes.

On a CPU each core takes its own share of the batch through the whole network: products on one core
are as fast as a share of products on many, and the passes between them come along for nothing.
The shares are added up in a fixed order, so results repeat to the bit for a given thread count.
A GPU takes the whole batch (see ``recorded_gradients``).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.distributed
from numpy.typing import NDArray
from torch import Tensor, nn

from phrasescore.model.sequence_model import Regularisation, SequenceModel
from phrasescore.pairs.training_pairs import TrainingPairs
from phrasescore.training.batches import Indices, make_batch, share
from phrasescore.training.process_group import join_group, rank_and_world
from phrasescore.training.rare_words import with_unknown
from phrasescore.training.recorded_gradients import RecordedGradients
from phrasescore.training.training_settings import TrainingSettings

# pairs; a smaller share leaves the matrix products too thin
_LEAST_SHARE = {"phrases": 64, "sentences": 32, "text": 32}


class Processes:
    """The processes of this run: one, or those that ``torchrun`` started.

    Args:
        device: That of this process.

    Raises:
        SettingsError: The environment says no order of processes, or they find no group.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.world = rank_and_world()
        self._device = device
        if self.world > 1 and not torch.distributed.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(device.index or 0)  # NCCL takes the current one
            join_group("nccl" if device.type == "cuda" else "gloo")

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.world > 1:
            for tensor in tensors:
                torch.distributed.all_reduce(tensor)

    def agree(self, value: float) -> float:
        """Return the leading process's value in every process."""
        if self.world == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self._device)
        torch.distributed.broadcast(shared, src=0)
        return float(shared.item())

    def close(self) -> None:
        """Leave the group."""
        if self.world > 1:
            torch.distributed.destroy_process_group()


class GradientWorkers:
    """Threads that each take a share of a batch, one for each core.

    Args:
        model: What to differentiate; its parameters must not change during a call.
        pairs: Where the batches come from.
        dtype: What the matrix products run in; ``None`` for the parameters' own type.
        device: Where the model is; elsewhere than on the CPU one thread does all.
        threads: Cores to use.
        settings: Whose dropout and label smoothing the loss has.
        rank: Which of several processes this is.
        rare: ``(V,)`` target words of which some are learnt as unknown; ``None`` for none.
    """

    def __init__(
        self,
        model: SequenceModel,
        pairs: TrainingPairs,
        dtype: torch.dtype | None,
        device: torch.device,
        threads: int,
        settings: TrainingSettings,
        rank: int = 0,
        rare: NDArray[np.bool_] | None = None,
    ) -> None:
        self._model, self._pairs, self._dtype, self._device = model, pairs, dtype, device
        self._threads = threads if device.type == "cpu" else 1
        self._settings, self._rank = settings, rank
        self._rare = None if rare is None else torch.from_numpy(rare).to(device)
        self._least = _LEAST_SHARE[settings.learns_from]
        self._pool = ThreadPoolExecutor(self._threads)
        self.parameters: list[nn.Parameter] = list(model.parameters())
        self._recorded: RecordedGradients | None = None
        if device.type == "cuda":
            self._recorded = RecordedGradients(model, dtype, self.parameters)

    def __call__(self, rows: Indices, update: int) -> float:
        """Set every parameter's ``grad`` to that of the summed loss of a batch.

        Args:
            rows: ``(B,)`` which pairs; with more processes than pairs there may be none.
            update: The number of the update, which decides what is dropped out.

        Returns:
            The summed loss in nats.
        """
        if not len(rows):
            for parameter in self.parameters:
                parameter.grad = torch.zeros_like(parameter)
            return 0.0
        count = max(1, min(self._threads, len(rows) // self._least))
        shares = [share(rows, at, count) for at in range(count)]
        noise = [self._regularisation(update, at) for at in range(count)]
        results = list(self._pool.map(self._differentiate, shares, [count] * count, noise))
        gradients = list(results[0][1])
        for _, more in results[1:]:
            torch._foreach_add_(gradients, list(more))
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        return sum(loss for loss, _ in results)

    def _regularisation(self, update: int, share: int) -> Regularisation | None:
        settings = self._settings
        if not (settings.dropout or settings.label_smoothing or self._rare is not None):
            return None
        place = [settings.seed, update, self._rank, share]
        seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0])
        generator = torch.Generator(self._device).manual_seed(seed)
        return Regularisation(settings.dropout, settings.label_smoothing, generator)

    def _differentiate(
        self, rows: Indices, count: int, regularisation: Regularisation | None
    ) -> tuple[float, Sequence[Tensor]]:
        torch.set_num_threads(max(1, self._threads // count))
        batch = make_batch(self._pairs.source, self._pairs.target, rows).to(self._device)
        if self._recorded is not None and regularisation is None and batch.lengths is None:
            loss, gradients = self._recorded(batch)
            return loss.item(), gradients
        if self._rare is not None and regularisation is not None:
            batch = with_unknown(batch, self._rare, regularisation.generator)
        loss = self._model.loss(batch, self._dtype, regularisation)
        # the loss of two shares cannot both write to .grad, so the gradients come back instead
        return loss.item(), torch.autograd.grad(loss, self.parameters)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()
