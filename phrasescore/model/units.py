"""The hidden units of a recurrent network, each run over whole sequences.

A unit projects what comes from outside the state (words, and in a decoder the summary c) to its
columns, H for each thing that it computes, and steps through them. Row vectors: ``x @ W``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from phrasescore.model.gated_recurrence import run_gated_unit
from phrasescore.model.model_settings import UnitName

# An update gate opened this far keeps the old state exactly: the way a finished phrase waits for
# the longer ones of its batch.
_CLOSED = 1e4


class RecurrentUnit(nn.Module, ABC):
    """A unit of H states over word vectors of size E.

    Args:
        E: Size of a word vector.
        H: Number of units.
        parts: How many times H the columns of a projection are.
    """

    context_weight: nn.Parameter  # (H, parts * H), where a summary c enters (the decoder)

    def __init__(self, E: int, H: int, parts: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(E, parts * H))
        self.input_bias = nn.Parameter(torch.empty(H))  # the candidate's; gates have none

    def inputs(self, words: Tensor) -> Tensor:
        """Project word vectors ``(L, B, E)`` to the unit's columns ``(L, B, parts * H)``."""
        gates = self.input_weight.shape[1] - len(self.input_bias)
        projected = words @ self.input_weight.to(words.dtype)
        bias = torch.cat([self.input_bias, self.input_bias.new_zeros(gates)])
        return projected + bias.to(words.dtype)

    @abstractmethod
    def states(self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None) -> Tensor:
        """Return all states ``(L + 1, B, H)`` over ``inputs (L, B, parts * H)``, ``start`` first.

        Args:
            inputs: What reaches the unit from outside the state.
            start: ``(B, H)``.
            waiting: ``(L, B)`` bool, where a state stays as it is; ``None``: nowhere.
        """

    @abstractmethod
    def states_with_context_inside(self, inputs: Tensor, context: Tensor, start: Tensor) -> Tensor:
        """Like :meth:`states`, with c where the appendix has it: inside the reset product.

        Args:
            inputs: ``(L, B, parts * H)``, without c.
            context: ``(B, parts * H)``, c projected.
            start: ``(B, H)``.
        """


class GatedUnit(RecurrentUnit):
    """The hidden unit with reset and update gates, section 2.3, equations (5) to (8).

    Differs from ``torch.nn.GRU``, which resets after the product and so cannot express it. The
    columns of a projection hold candidate, update and reset.

    Args:
        E: Size of a word vector.
        H: Number of units.
        with_context: Whether a summary c enters too (section 2.2).
    """

    def __init__(self, E: int, H: int, *, with_context: bool) -> None:
        super().__init__(E, H, 3)  # W, W_z, W_r
        self.gate_weight = nn.Parameter(torch.empty(H, 2 * H))  # U_z, U_r
        self.candidate_weight = nn.Parameter(torch.empty(H, H))  # U
        if with_context:
            self.context_weight = nn.Parameter(torch.empty(H, 3 * H))  # C, C_z, C_r

    def states(self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None) -> Tensor:
        """See :meth:`RecurrentUnit.states`."""
        if waiting is not None:
            inputs = _hold(inputs, waiting)
        kind = inputs.dtype
        return run_gated_unit(
            inputs, start, self.gate_weight.to(kind), self.candidate_weight.to(kind)
        )

    def states_with_context_inside(self, inputs: Tensor, context: Tensor, start: Tensor) -> Tensor:
        """See :meth:`RecurrentUnit.states_with_context_inside`: tanh(a + r * (h U + c C))."""
        H = start.shape[1]
        gate_weight = self.gate_weight.to(inputs.dtype)
        candidate_weight = self.candidate_weight.to(inputs.dtype)
        states = [start]
        for step in inputs:
            h = states[-1]
            gates = torch.sigmoid(step[:, H:] + context[:, H:] + h @ gate_weight)
            update, reset = gates[:, :H], gates[:, H:]
            k = torch.tanh(step[:, :H] + reset * (h @ candidate_weight + context[:, :H]))
            states.append(update * h + (1 - update) * k)
        return torch.stack(states)


class TanhUnit(RecurrentUnit):
    """The plain unit, h' = tanh(x W + b + h U): equation (1) with tanh, ``torch.nn.RNN``.

    Arguments as for :class:`GatedUnit`.
    """

    def __init__(self, E: int, H: int, *, with_context: bool) -> None:
        super().__init__(E, H, 1)  # W
        self.recurrent_weight = nn.Parameter(torch.empty(H, H))  # U
        if with_context:
            self.context_weight = nn.Parameter(torch.empty(H, H))  # C

    def states(self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None) -> Tensor:
        """See :meth:`RecurrentUnit.states`."""
        weight = self.recurrent_weight.to(inputs.dtype)
        states = [start]
        for at, step in enumerate(inputs):
            state = torch.tanh(step + states[-1] @ weight)
            if waiting is not None:
                state = torch.where(waiting[at][:, None], states[-1], state)
            states.append(state)
        return torch.stack(states)

    def states_with_context_inside(self, inputs: Tensor, context: Tensor, start: Tensor) -> Tensor:
        """See :meth:`RecurrentUnit.states_with_context_inside`; without a reset c just adds."""
        return self.states(inputs + context, start)


UNITS: dict[UnitName, type[GatedUnit] | type[TanhUnit]] = {"gated": GatedUnit, "tanh": TanhUnit}


def _hold(inputs: Tensor, waiting: Tensor) -> Tensor:
    """Close the update gates of ``inputs (L, B, 3H)`` where ``waiting (L, B)`` is true."""
    H = inputs.shape[2] // 3
    update = inputs[:, :, H : 2 * H].masked_fill(waiting[:, :, None], _CLOSED)
    return torch.cat([inputs[:, :, :H], update, inputs[:, :, 2 * H :]], dim=2)
