"""The gated hidden unit run over a sequence, with its gradient written by hand.

Autograd would record some fifteen operations a step and form the weight gradients step by step.
Here a step is two matrix products and a few passes over its gates, and each weight gradient is one
large product at the end. The formulas are those of section 2.3 of the paper in the form the authors
ran (reset before the product); ``tests/unit/phrasescore/model`` holds them to numerical gradients.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class GatedRecurrence(torch.autograd.Function):
    """All states of the unit over a sequence; see :func:`run_gated_unit`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, start: Tensor, gate_weight: Tensor, candidate_weight: Tensor
    ) -> Tensor:
        """Step through the sequence, keeping what the gradient needs."""
        L, B, H3 = inputs.shape
        H = H3 // 3
        states = inputs.new_empty(L + 1, B, H)
        gates = inputs.new_empty(L, B, 2 * H)  # update z | reset r
        candidates = inputs.new_empty(L, B, H)
        resets = inputs.new_empty(L, B, H)  # r * h, what the candidate sees of the state
        # the state itself is carried in at least float32, whatever the products run in
        carried = start.to(torch.promote_types(start.dtype, torch.float32), copy=True)
        states[0] = start
        for t in range(L):
            gate = torch.addmm(inputs[t, :, H:], states[t], gate_weight, out=gates[t]).sigmoid_()
            update, reset = gate[:, :H], gate[:, H:]
            torch.mul(reset, states[t], out=resets[t])
            candidate = torch.addmm(
                inputs[t, :, :H], resets[t], candidate_weight, out=candidates[t]
            ).tanh_()
            # z h + (1 - z) k, as k + z (h - k)
            carried.sub_(candidate).mul_(update).add_(candidate)
            states[t + 1] = carried
        ctx.save_for_backward(states, gates, candidates, resets, gate_weight, candidate_weight)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Go back through the sequence; the weight gradients are summed over it in one product."""
        states, gates, candidates, resets, gate_weight, candidate_weight = ctx.saved_tensors
        L, B, H = candidates.shape
        grad_inputs = candidates.new_empty(L, B, 3 * H)  # candidate | update | reset
        wide = torch.promote_types(states.dtype, torch.float32)
        flowing = grad_states[L].to(wide, copy=True)
        for t in range(L - 1, -1, -1):
            update, reset = gates[t, :, :H], gates[t, :, H:]
            k, h = candidates[t], states[t]
            # d a_k = dh' (1 - z) (1 - k^2);  d a_z = dh' (h - k) z (1 - z)
            kept = flowing * update
            replaced = flowing - kept
            grad_inputs[t, :, :H] = torch.addcmul(replaced, replaced * k, k, value=-1)
            grad_inputs[t, :, H : 2 * H] = (h - k).mul_(update).mul_(replaced)
            # d(r h) = d a_k U';  d a_r = d(r h) h r (1 - r);  dh += d(r h) r
            grad_reset = grad_inputs[t, :, :H] @ candidate_weight.t()
            through = grad_reset * reset
            grad_inputs[t, :, 2 * H :] = torch.addcmul(through, through, reset, value=-1).mul_(h)
            flowing = kept.add_(through).add_(grad_inputs[t, :, H:] @ gate_weight.t())
            flowing.add_(grad_states[t])
        flat = grad_inputs.view(L * B, 3 * H)
        grad_gate_weight = states[:L].reshape(L * B, H).t() @ flat[:, H:]
        grad_candidate_weight = resets.view(L * B, H).t() @ flat[:, :H]
        return grad_inputs, flowing.to(states.dtype), grad_gate_weight, grad_candidate_weight


def run_gated_unit(
    inputs: Tensor, start: Tensor, gate_weight: Tensor, candidate_weight: Tensor
) -> Tensor:
    """Run the gated unit over a sequence: z, r, then k = tanh(a + (r * h) U), h' = z h + (1 - z) k.

    Args:
        inputs: ``(L, B, 3H)``: what reaches candidate, update and reset from outside the state.
        start: ``(B, H)``, the state before the first step.
        gate_weight: ``(H, 2H)``, the recurrences of update and reset.
        candidate_weight: ``(H, H)``, the recurrence of the candidate.

    Returns:
        ``(L + 1, B, H)``: the states, ``start`` first.
    """
    return GatedRecurrence.apply(inputs, start, gate_weight, candidate_weight)  # type: ignore[no-any-return,no-untyped-call]
