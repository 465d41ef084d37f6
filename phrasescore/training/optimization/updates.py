"""Updates of a model by all cores and all processes: gradient, its bounds, the optimiser's step.

On a CPU each core is a process of its own. It takes its share of the batch through the whole
network, where products on one core are as fast as a share of products on many and the passes
between them come along for nothing, and then its part of the weights through the optimiser. Shares
are added up in a fixed order, so results repeat to the bit for a given number of cores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.model.sequence_model import SequenceModel
from phrasescore.training.batches import Indices, share
from phrasescore.training.evaluation import HeldOutFigure, score_share
from phrasescore.training.optimization.crew import Crew, can_fork
from phrasescore.training.optimization.flat_weights import FlatWeights, shared_array
from phrasescore.training.optimization.gradient import ShareGradient
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
