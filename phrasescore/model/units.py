"""The hidden units of recurrent networks: gated, tanh and LSTM.

A unit projects its inputs (words, and in a decoder the summary c) to H columns for each gate and
candidate, and steps through a sequence of such projections. The rest of the network uses only the
hidden state h. The state that a unit carries from step to step is h; in an LSTM it is h followed by
the memory. Vectors are rows, so a layer is ``x @ W``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from phrasescore.model.gated_recurrence import run_gated_unit
from phrasescore.model.model_settings import UnitName

# With this input to its sigmoid, the update gate is exactly 1 and keeps the old state. After its
# end, a phrase keeps its state in this way until the longer phrases of the batch have ended.
_KEEP = 1e4


class RecurrentUnit(nn.Module, ABC):
    """A unit of H states over word vectors of size E.

    Args:
        E: Size of a word vector.
        H: Number of units.
        parts: Number of columns of a projection, in multiples of H.
        biased: How many parts have a bias; these are the first ones.

    Attributes:
        carries: Size of the carried state in multiples of H: 1, or 2 with a memory.
    """

    carries: ClassVar[int] = 1
    context_weight: nn.Parameter  # (C, parts * H), for a context (decoder)

    def __init__(self, E: int, H: int, parts: int, biased: int = 1) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(E, parts * H))
        self.input_bias = nn.Parameter(torch.empty(biased * H))

    def inputs(self, words: Tensor) -> Tensor:
        """Project word vectors ``(L, B, E)`` to the unit's columns ``(L, B, parts * H)``."""
        without = self.input_weight.shape[1] - len(self.input_bias)
        projected = words @ self.input_weight.to(words.dtype)
        bias = torch.cat([self.input_bias, self.input_bias.new_zeros(without)])
        return projected + bias.to(words.dtype)

    @abstractmethod
    def states(
        self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Run the unit over ``inputs (L, B, parts * H)``.

        Args:
            inputs: The projected inputs.
            start: ``(B, carries * H)`` carried state before the first step, h first.
            waiting: ``(L, B)`` mask of steps that do not change the state; ``None`` for no such
                step.

        Returns:
            Hidden states ``(L + 1, B, H)``, of which the first is the one in ``start``, and the
            carried state after the last step, ``(B, carries * H)``.
        """

    def states_with_context_inside(
        self, inputs: Tensor, context: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run the unit with c multiplied by the reset gate, as in the paper's appendix.

        In units without a reset gate, c is simply added.

        Args:
            inputs: ``(L, B, parts * H)``, without c.
            context: ``(B, parts * H)`` projected c; ``(1, parts * H)`` if all sequences share c.
            start: ``(B, carries * H)``.
        """
        return self.states(inputs + context, start)


class GatedUnit(RecurrentUnit):
    """The hidden unit with reset and update gates, section 2.3, equations (5) to (8).

    ``torch.nn.GRU`` cannot express this unit, because it applies the reset gate after the matrix
    product. The columns of a projection hold candidate, update and reset.

    Args:
        E: Size of a word vector.
        H: Number of units.
        C: Size of an additional context (section 2.2); 0 for none.
    """

    def __init__(self, E: int, H: int, C: int = 0) -> None:
        super().__init__(E, H, 3)  # W, W_z, W_r
        self.gate_weight = nn.Parameter(torch.empty(H, 2 * H))  # U_z, U_r
        self.candidate_weight = nn.Parameter(torch.empty(H, H))  # U
        if C:
            self.context_weight = nn.Parameter(torch.empty(C, 3 * H))  # C, C_z, C_r

    def states(
        self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`RecurrentUnit.states`."""
        if waiting is not None:
            inputs = _hold(inputs, waiting)
        kind = inputs.dtype
        hidden = run_gated_unit(
            inputs, start, self.gate_weight.to(kind), self.candidate_weight.to(kind)
        )
        return hidden, hidden[-1]

    def states_with_context_inside(
        self, inputs: Tensor, context: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor]:
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
        return torch.stack(states), states[-1]


class TanhUnit(RecurrentUnit):
    """The plain unit h' = tanh(x W + b + h U): equation (1) with tanh, like ``torch.nn.RNN``.

    The arguments are as for :class:`GatedUnit`.
    """

    def __init__(self, E: int, H: int, C: int = 0) -> None:
        super().__init__(E, H, 1)  # W
        self.recurrent_weight = nn.Parameter(torch.empty(H, H))  # U
        if C:
            self.context_weight = nn.Parameter(torch.empty(C, H))  # C

    def states(
        self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`RecurrentUnit.states`."""
        weight = self.recurrent_weight.to(inputs.dtype)
        states = [start]
        for at, step in enumerate(inputs):
            state = torch.tanh(step + states[-1] @ weight)
            if waiting is not None:
                state = torch.where(waiting[at][:, None], states[-1], state)
            states.append(state)
        return torch.stack(states), states[-1]


class LstmUnit(RecurrentUnit):
    """The long short-term memory without peepholes, like ``torch.nn.LSTM``.

    m' = f m + i tanh(k), h' = o tanh(m'). The columns of a projection hold candidate k, input gate
    i, forget gate f and output gate o, each with a bias. The arguments are as for
    :class:`GatedUnit`.
    """

    carries = 2  # h and the memory m

    def __init__(self, E: int, H: int, C: int = 0) -> None:
        super().__init__(E, H, 4, biased=4)  # W, W_i, W_f, W_o
        self.recurrent_weight = nn.Parameter(torch.empty(H, 4 * H))  # U, U_i, U_f, U_o
        if C:
            self.context_weight = nn.Parameter(torch.empty(C, 4 * H))  # C, C_i, C_f, C_o

    def states(
        self, inputs: Tensor, start: Tensor, waiting: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`RecurrentUnit.states`."""
        weight = self.recurrent_weight.to(inputs.dtype)
        H = len(weight)
        # the memory accumulates over the steps, so it is kept in float32 or better
        wide = torch.promote_types(inputs.dtype, torch.float32)
        hidden, memory = [start[:, :H]], start[:, H:].to(wide)
        for at, step in enumerate(inputs):
            columns = torch.addmm(step, hidden[-1], weight)
            gates = torch.sigmoid(columns[:, H:])
            admit, keep, show = gates.chunk(3, dim=1)
            m = keep * memory + admit * torch.tanh(columns[:, :H])
            h = (show * torch.tanh(m)).to(inputs.dtype)
            if waiting is not None:
                waits = waiting[at][:, None]
                m, h = torch.where(waits, memory, m), torch.where(waits, hidden[-1], h)
            memory = m
            hidden.append(h)
        return torch.stack(hidden), torch.cat([hidden[-1], memory.to(inputs.dtype)], dim=1)


UNITS: dict[UnitName, type[GatedUnit] | type[TanhUnit] | type[LstmUnit]] = {
    "gated": GatedUnit,
    "tanh": TanhUnit,
    "lstm": LstmUnit,
}


def _hold(inputs: Tensor, waiting: Tensor) -> Tensor:
    """Set the update gates of ``inputs (L, B, 3H)`` to 1 where ``waiting (L, B)`` is true."""
    H = inputs.shape[2] // 3
    update = inputs[:, :, H : 2 * H].masked_fill(waiting[:, :, None], _KEEP)
    return torch.cat([inputs[:, :, :H], update, inputs[:, :, 2 * H :]], dim=2)
