"""The gated hidden unit over a sequence, with a hand-written gradient.

Autograd would record about fifteen operations for each step and compute weight gradients step by
step. Here a step is two matrix products and a few passes over its gates, and each weight gradient
is one large product at the end. The formulas are from section 2.3 of the paper. As in the authors'
program, the reset gate is applied before the matrix product. Tests compare the gradients with
numerical ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from phrasescore.model import kernels


class _Recurrence(torch.autograd.Function):
    """All states of the unit over a sequence; see :func:`run_gated_unit`."""

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
        # the state accumulates over the steps: float32 even if products run in bfloat16
        carried = start.to(torch.promote_types(start.dtype, torch.float32), copy=True)
        states[0] = start
        kept = states, gates, candidates, resets
        # make all views in one call: single calls take longer than a step of a small network
        s_t, g_t, k_t, r_t = (each.unbind() for each in kept)
        finish_gates, finish_state = _forward_passes(inputs)
        x, h, s, g, k, r = map(_seen_by_passes, (inputs, carried, *kept))
        # each matrix product needs the result of the pass before it: h -> z, r -> r * h -> k -> h'
        for t in range(L):
            torch.mm(s_t[t], gate_weight, out=g_t[t])
            finish_gates(x[t], g[t], h, r[t])
            torch.mm(r_t[t], candidate_weight, out=k_t[t])
            finish_state(x[t], g[t], k[t], h, s[t + 1])
        ctx.save_for_backward(states, gates, candidates, resets, gate_weight, candidate_weight)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Go back through the sequence; the weight gradients are summed over it in one product."""
        states, gates, candidates, resets, gate_weight, candidate_weight = ctx.saved_tensors
        L, B, H = candidates.shape
        grad_inputs = candidates.new_empty(L, B, 3 * H)  # candidate | update | reset
        grad_states = grad_states.contiguous()
        flowing = grad_states[L].to(torch.promote_types(states.dtype, torch.float32), copy=True)
        product = torch.empty_like(candidates[0])
        back_state, back_reset, add_flow = _backward_passes(candidates)
        into_candidate, into_gates = (
            part.unbind() for part in (grad_inputs[:, :, :H], grad_inputs[:, :, H:])
        )
        gate_back, candidate_back = gate_weight.t(), candidate_weight.t()
        given = gates, candidates, states, grad_inputs, grad_states, flowing, product
        g, k, s, out, above, f, p = map(_seen_by_passes, given)
        # `flowing` is the gradient of the state after step t; the loop turns it into the gradient
        # of the state before step t
        for t in range(L - 1, -1, -1):
            back_state(f, g[t], k[t], s[t], out[t])
            torch.mm(into_candidate[t], candidate_back, out=product)
            back_reset(f, g[t], s[t], p, out[t])
            torch.mm(into_gates[t], gate_back, out=product)
            add_flow(f, p, above[t])
        # one product sums a weight's gradients over all steps
        flat = grad_inputs.view(L * B, 3 * H)
        grad_gate_weight = states[:L].reshape(L * B, H).t() @ flat[:, H:]
        grad_candidate_weight = resets.view(L * B, H).t() @ flat[:, :H]
        return grad_inputs, flowing.to(states.dtype), grad_gate_weight, grad_candidate_weight


Pass = Callable[..., None]


def _forward_passes(like: Tensor) -> tuple[Pass, Pass]:
    """Return the compiled or the torch passes, for arguments from :func:`_seen_by_passes`."""
    if kernels.can_compile(like):
        return kernels.gates_forward, kernels.state_forward
    return _gates_forward, _state_forward


def _backward_passes(like: Tensor) -> tuple[Pass, Pass, Pass]:
    if kernels.can_compile(like):
        return kernels.state_backward, kernels.reset_backward, kernels.flow_backward
    return _state_backward, _reset_backward, _flow_backward


def _seen_by_passes(tensor: Tensor) -> Any:
    return kernels.array_of(tensor) if kernels.can_compile(tensor) else tensor


# The same passes in plain torch, for float64, for other devices, and for tests.


def _gates_forward(inputs: Tensor, gates: Tensor, carried: Tensor, resets: Tensor) -> None:
    H = carried.shape[1]
    gates.add_(inputs[:, H:]).sigmoid_()
    torch.mul(gates[:, H:], carried, out=resets)


def _state_forward(
    inputs: Tensor, gates: Tensor, candidates: Tensor, carried: Tensor, states: Tensor
) -> None:
    H = carried.shape[1]
    candidates.add_(inputs[:, :H]).tanh_()
    # z h + (1 - z) k, as k + z (h - k)
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
    """Run the gated unit over a sequence: z, r, then k = tanh(a + (r * h) U), h' = z h + (1 - z) k.

    Args:
        inputs: ``(L, B, 3H)`` contributions of the words to candidate, update and reset.
        start: ``(B, H)`` state before the first step.
        gate_weight: ``(H, 2H)`` recurrent weights of update and reset.
        candidate_weight: ``(H, H)`` recurrent weight of the candidate.

    Returns:
        ``(L + 1, B, H)``: the states, ``start`` first.
    """
    return _Recurrence.apply(inputs, start, gate_weight, candidate_weight)  # type: ignore[no-untyped-call]
