"""Loss and gradient of a share of a batch, by one process.

A GPU takes the whole batch (see ``recorded_gradients``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import Regularisation, SequenceModel
from phrasescore.training.batches import Indices, make_batch
from phrasescore.training.optimization.recorded_gradients import RecordedGradients
from phrasescore.training.rare_words import with_unknown
from phrasescore.training.training_pairs import TrainingPairs
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
        pairs: TrainingPairs,
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
