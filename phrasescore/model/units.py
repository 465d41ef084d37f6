"""The hidden units of recurrent networks: gated, tanh and LSTM.

A unit with a hidden state h of size H projects its inputs (words, and in a decoder the summary c of
the source) to H columns for the candidate and for each gate. It then steps through the sequence of
these projections. The rest of the network uses only h. The state that a unit carries from step to
step is h; in an LSTM it is h followed by the memory. Vectors are rows, so a layer is ``x @ W``. A
batch has B sequences of L steps.

The gradient of the gated unit over a sequence is written by hand. Autograd would record about
fifteen operations for each step and compute weight gradients step by step. Here a step is two
matrix products and a few passes over the gates, and each weight gradient is one large product at
the end. The formulas are from section 2.3 of the paper (Cho et al., 2014), as the authors' program
computes them (reset gate before the product). Tests compare the gradient with a numerical one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from phrasescore.model import kernels
from phrasescore.model.kinds import UnitName

# With this sigmoid input, the update gate is exactly 1 and keeps the old state. In this way, a
# phrase that has ended keeps its state until the longer phrases of the batch have ended.
_KEEP = 1e4


class RecurrentUnit(nn.Module, ABC):
    """A unit with a hidden state of size H, over word vectors of size E.

    Args:
        E: Size of a word vector.
        H: Size of the hidden state.
        parts: Number of parts of a projection (candidate and gates), of H columns each.
        biased: Number of parts with a bias; these parts come first.

    Attributes:
        carries: Size of the carried state in multiples of H: 1, or 2 with a memory.
    """

    carries: ClassVar[int] = 1
    context_weight: nn.Parameter  # (C, parts * H), only with a context of size C (in a decoder)

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
            waiting: ``(L, B)`` mask of steps that do not change the state; ``None`` if all steps
                change it.

        Returns:
            Hidden states ``(L + 1, B, H)``, beginning with the state in ``start``, and the carried
            state after the last step, ``(B, carries * H)``.
        """

    def states_with_context_inside(
        self, inputs: Tensor, context: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Run the unit; the reset gate also multiplies c in the candidate (paper's appendix).

        In units without a reset gate, c is simply added.

        Args:
            inputs: ``(L, B, parts * H)``, without c.
            context: ``(B, parts * H)`` projected c; ``(1, parts * H)`` if all sequences share c.
            start: ``(B, carries * H)``.
        """
        return self.states(inputs + context, start)


class GatedUnit(RecurrentUnit):
    """The hidden unit with reset and update gates, section 2.3, equations (5) to (8).

    ``torch.nn.GRU`` applies the reset gate after the matrix product, so it cannot express this
    unit. The parts of a projection are candidate, update and reset, in this order.

    Args:
        E: Size of a word vector.
        H: Size of the hidden state.
        C: Size of the context c (section 2.2); 0 without a context.
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
        weights = self.gate_weight.to(kind), self.candidate_weight.to(kind)
        hidden = run_gated_unit(inputs, start, *weights)
        return hidden, hidden[-1]

    def states_with_context_inside(
        self, inputs: Tensor, context: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See the base class; the candidate is tanh(a + r * (h U + c C)), with a from the words."""
        H = start.shape[1]
        gate_weight = self.gate_weight.to(inputs.dtype)
        candidate_weight = self.candidate_weight.to(inputs.dtype)
        states = [start]
        for step in inputs:
            h = states[-1]
            gates = torch.sigmoid(step[:, H:] + context[:, H:] + h @ gate_weight)  # (B, 2H): z | r
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
            state = torch.tanh(step + states[-1] @ weight)  # (B, H)
            if waiting is not None:
                state = torch.where(waiting[at][:, None], states[-1], state)
            states.append(state)
        return torch.stack(states), states[-1]


class LstmUnit(RecurrentUnit):
    """The long short-term memory without peepholes, like ``torch.nn.LSTM``.

    The parts of a projection are candidate k, input gate i, forget gate f and output gate o, each
    with a bias. The next memory and state are m' = f m + i tanh(k) and h' = o tanh(m'). The
    arguments are as for :class:`GatedUnit`.
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
        # rounding errors accumulate in the memory, so it is kept in float32 or a wider type
        wide = torch.promote_types(inputs.dtype, torch.float32)
        hidden, memory = [start[:, :H]], start[:, H:].to(wide)
        for at, step in enumerate(inputs):
            columns = torch.addmm(step, hidden[-1], weight)  # (B, 4H): k | i | f | o
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
    """Return ``inputs (L, B, 3H)`` with update gates of 1 where ``waiting (L, B)`` is true."""
    H = inputs.shape[2] // 3
    update = inputs[:, :, H : 2 * H].masked_fill(waiting[:, :, None], _KEEP)
    return torch.cat([inputs[:, :, :H], update, inputs[:, :, 2 * H :]], dim=2)


# -- the gated unit over a sequence -----------------------------------------------------------


class _Recurrence(torch.autograd.Function):
    """Computes all states of the gated unit over a sequence; see :func:`run_gated_unit`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, start: Tensor, gate_weight: Tensor, candidate_weight: Tensor
    ) -> Tensor:
        """Step through the sequence; keep the values that the gradient needs."""
        L, B, H3 = inputs.shape
        H = H3 // 3
        states = inputs.new_empty(L + 1, B, H)
        gates = inputs.new_empty(L, B, 2 * H)  # update z | reset r
        candidates = inputs.new_empty(L, B, H)
        resets = inputs.new_empty(L, B, H)  # r * h, the candidate's input from the state
        # rounding errors accumulate in the state, so it is float32 even if products run in bfloat16
        carried = start.to(torch.promote_types(start.dtype, torch.float32), copy=True)
        states[0] = start
        kept = states, gates, candidates, resets
        # creating the views one by one would take longer than a step of a small network
        s_t, g_t, k_t, r_t = (each.unbind() for each in kept)
        convert, finish_gates, finish_state = forward_passes(inputs)
        x, h, s, g, k, r = map(convert, (inputs, carried, *kept))
        # each product needs the previous pass: h -> z, r -> r * h -> k -> h'
        for t in range(L):
            torch.mm(s_t[t], gate_weight, out=g_t[t])  # (B, H) x (H, 2H)
            finish_gates(x[t], g[t], h, r[t])
            torch.mm(r_t[t], candidate_weight, out=k_t[t])  # (B, H) x (H, H)
            finish_state(x[t], g[t], k[t], h, s[t + 1])
        ctx.save_for_backward(states, gates, candidates, resets, gate_weight, candidate_weight)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Go back through the sequence; one product sums each weight gradient over all steps."""
        states, gates, candidates, resets, gate_weight, candidate_weight = ctx.saved_tensors
        L, B, H = candidates.shape
        grad_inputs = candidates.new_empty(L, B, 3 * H)  # candidate | update | reset
        grad_states = grad_states.contiguous()
        # dh, in float32: it is added to at every step
        flowing = grad_states[L].to(torch.promote_types(states.dtype, torch.float32), copy=True)
        product = candidates.new_empty(B, H)
        convert, back_state, back_reset, add_flow = backward_passes(candidates)
        into_candidate, into_gates = grad_inputs[:, :, :H].unbind(), grad_inputs[:, :, H:].unbind()
        gate_back, candidate_back = gate_weight.t(), candidate_weight.t()
        given = gates, candidates, states, grad_inputs, grad_states, flowing, product
        g, k, s, out, above, f, p = map(convert, given)
        # an iteration turns `flowing` from the gradient of the state after step t into the gradient
        # of the state before step t
        for t in range(L - 1, -1, -1):
            back_state(f, g[t], k[t], s[t], out[t])
            torch.mm(into_candidate[t], candidate_back, out=product)  # (B, H) x (H, H): d(r h)
            back_reset(f, g[t], s[t], p, out[t])
            torch.mm(into_gates[t], gate_back, out=product)  # (B, 2H) x (2H, H)
            add_flow(f, p, above[t])
        # each weight gradient, summed over the steps, is one product
        flat = grad_inputs.view(L * B, 3 * H)
        grad_gate_weight = states[:L].reshape(L * B, H).t() @ flat[:, H:]  # (H, LB) x (LB, 2H)
        grad_candidate_weight = resets.view(L * B, H).t() @ flat[:, :H]  # (H, LB) x (LB, H)
        return grad_inputs, flowing.to(states.dtype), grad_gate_weight, grad_candidate_weight


Pass = Callable[..., None]
Conversion = Callable[[Tensor], Any]


def forward_passes(like: Tensor) -> tuple[Conversion, Pass, Pass]:
    """Return the passes of a step, compiled or in torch; their arguments are as in ``kernels``.

    The first function converts each tensor for the passes. The second finishes the gates after
    their product, the third finishes the state.
    """
    if kernels.can_compile(like):
        return kernels.array_of, kernels.gates_forward, kernels.state_forward
    return _as_it_is, _gates_forward, _state_forward


def backward_passes(like: Tensor) -> tuple[Conversion, Pass, Pass, Pass]:
    """Return the passes back through a step, after the function that converts their arguments."""
    if kernels.can_compile(like):
        passes = kernels.state_backward, kernels.reset_backward, kernels.flow_backward
        return kernels.array_of, *passes
    return _as_it_is, _state_backward, _reset_backward, _flow_backward


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


# Versions of the kernels in plain torch, for float64, for other devices, and for tests.


def _gates_forward(inputs: Tensor, gates: Tensor, carried: Tensor, resets: Tensor) -> None:
    H = carried.shape[1]
    gates.add_(inputs[:, H:]).sigmoid_()
    torch.mul(gates[:, H:], carried, out=resets)


def _state_forward(
    inputs: Tensor, gates: Tensor, candidates: Tensor, carried: Tensor, states: Tensor
) -> None:
    H = carried.shape[1]
    candidates.add_(inputs[:, :H]).tanh_()
    # k + z (h - k), which equals z h + (1 - z) k
    carried.sub_(candidates).mul_(gates[:, :H]).add_(candidates)
    states.copy_(carried)


def _state_backward(
    flowing: Tensor, gates: Tensor, candidates: Tensor, states: Tensor, grad_inputs: Tensor
) -> None:
    H = flowing.shape[1]
    z, k = gates[:, :H], candidates
    kept = flowing * z
    replaced = flowing - kept
    # d a_k = dh' (1 - z) (1 - k^2);  d a_z = dh' (h - k) z (1 - z)
    grad_inputs[:, :H] = replaced * (1 - k * k)
    grad_inputs[:, H : 2 * H] = (states - k) * z * replaced
    flowing.copy_(kept)


def _reset_backward(
    flowing: Tensor, gates: Tensor, states: Tensor, grad_resets: Tensor, grad_inputs: Tensor
) -> None:
    H = flowing.shape[1]
    r = gates[:, H:]
    through = grad_resets * r
    flowing.add_(through)
    # d a_r = d(r h) h r (1 - r)
    grad_inputs[:, 2 * H :] = through * (1 - r) * states


def _flow_backward(flowing: Tensor, product: Tensor, grad_states: Tensor) -> None:
    flowing.add_(product).add_(grad_states)


def run_gated_unit(
    inputs: Tensor, start: Tensor, gate_weight: Tensor, candidate_weight: Tensor
) -> Tensor:
    """Run the gated unit over a sequence: k = tanh(a + (r * h) U) and h' = z h + (1 - z) k.

    Args:
        inputs: ``(L, B, 3H)`` contributions of the words to candidate k (this is a), update z and
            reset r.
        start: ``(B, H)`` state before the first step.
        gate_weight: ``(H, 2H)`` recurrent weights of update and reset.
        candidate_weight: ``(H, H)`` recurrent weight of the candidate.

    Returns:
        ``(L + 1, B, H)``: the states, ``start`` first.
    """
    return _Recurrence.apply(inputs, start, gate_weight, candidate_weight)  # type: ignore[no-untyped-call]
