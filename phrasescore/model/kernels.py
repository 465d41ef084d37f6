"""Compiled passes over gates and logits; each replaces several operations of torch.

The passes run between the matrix products of ``units``, ``attention`` and ``softmax``. A pass uses
one core (callers run one thread per core) and does not hold Python's interpreter lock. Matrices are
float32, or bfloat16 as bit patterns (uint16, see ``fast_math``); sums accumulate in float32. Each
pass is also written in plain torch, in a calling module, and tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from phrasescore.compiled import compiled_fast
from phrasescore.model.fast_math import LOWEST_KEY, exp, load, order, sigmoid, store, tanh, unorder

Array = npt.NDArray[np.generic]
_ONE = np.float32(1.0)


def can_compile(tensor: Tensor) -> bool:
    """Tell whether the kernels support the device and type of this tensor."""
    return tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.bfloat16)


def array_of(tensor: Tensor) -> Array:
    """Return a numpy view of a CPU tensor; bfloat16 becomes uint16."""
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.uint16).numpy()
    return tensor.detach().numpy()


@compiled_fast
def gates_forward(inputs: Array, gates: Array, carried: Array, resets: Array) -> None:
    """Compute the update gate z, the reset gate r and r * h.

    Args:
        inputs: ``(B, 3H)``, contributions of the unit's inputs to candidate, update and reset.
        gates: ``(B, 2H)``, the state times the gates' weights on entry; z and r on return.
        carried: ``(B, H)`` float32, the state h.
        resets: ``(B, H)``, r * h on return.
    """
    B, H = carried.shape
    for b in range(B):
        x, g, h, rh = inputs[b], gates[b], carried[b], resets[b]  # (3H,), (2H,), (H,), (H,)
        for j in range(2 * H):
            store(g, j, sigmoid(load(x, H + j) + load(g, j)))
        for j in range(H):
            store(rh, j, load(g, H + j) * h[j])


@compiled_fast
def state_forward(
    inputs: Array, gates: Array, candidates: Array, carried: Array, states: Array
) -> None:
    """Compute the candidate k and the next state: h' = z h + (1 - z) k.

    Args:
        inputs: ``(B, 3H)``.
        gates: ``(B, 2H)``, z and r.
        candidates: ``(B, H)``, r * h times the candidate's weight on entry; k on return.
        carried: ``(B, H)`` float32, h on entry; h' on return.
        states: ``(B, H)``, h' on return, rounded to the type of the products.
    """
    B, H = carried.shape
    for b in range(B):
        x, g, k, h, s = inputs[b], gates[b], candidates[b], carried[b], states[b]
        for j in range(H):
            candidate = tanh(load(x, j) + load(k, j))
            # equals z h + (1 - z) k, with one multiplication fewer
            new = candidate + load(g, j) * (h[j] - candidate)
            store(k, j, candidate)
            store(s, j, new)
            h[j] = new


@compiled_fast
def state_backward(
    flowing: Array, gates: Array, candidates: Array, states: Array, grad_inputs: Array
) -> None:
    """Turn dh', the gradient of h', into the gradients of k's tanh input and z's sigmoid input.

    Args:
        flowing: ``(B, H)`` float32, dh' on entry; z dh', the part for h, on return.
        gates: ``(B, 2H)``, z and r.
        candidates: ``(B, H)``, k.
        states: ``(B, H)``, h.
        grad_inputs: ``(B, 3H)``, filled for the candidate and the update.
    """
    B, H = flowing.shape
    for b in range(B):
        f, g, ks, hs, out = flowing[b], gates[b], candidates[b], states[b], grad_inputs[b]
        for j in range(H):
            z, k = load(g, j), load(ks, j)
            kept = f[j] * z
            replaced = f[j] - kept  # dh' (1 - z)
            # d a_k = dh' (1 - z) (1 - k^2) and d a_z = dh' (h - k) z (1 - z)
            store(out, j, replaced * (_ONE - k * k))
            store(out, H + j, (load(hs, j) - k) * z * replaced)
            f[j] = kept


@compiled_fast
def reset_backward(
    flowing: Array, gates: Array, states: Array, grad_resets: Array, grad_inputs: Array
) -> None:
    """Turn d(r h) into the gradient of r's sigmoid input, and add r d(r h) to dh.

    Args:
        flowing: ``(B, H)`` float32, dh, changed.
        gates: ``(B, 2H)``, z and r.
        states: ``(B, H)``, h.
        grad_resets: ``(B, H)``, d(r h).
        grad_inputs: ``(B, 3H)``, filled for the reset.
    """
    B, H = flowing.shape
    for b in range(B):
        f, g, hs, d, out = flowing[b], gates[b], states[b], grad_resets[b], grad_inputs[b]
        for j in range(H):
            r = load(g, H + j)
            through = load(d, j) * r
            f[j] += through
            # d a_r = d(r h) h r (1 - r)
            store(out, 2 * H + j, through * (_ONE - r) * load(hs, j))


@compiled_fast
def flow_backward(flowing: Array, product: Array, grad_states: Array) -> None:
    """Add to dh ``(B, H)`` the gradients from the gates' products and from the layers above."""
    B, H = flowing.shape
    for b in range(B):
        f, p, g = flowing[b], product[b], grad_states[b]
        for j in range(H):
            f[j] += load(p, j) + load(g, j)  # dh of the step before is complete


@compiled_fast
def _add_bias(logits: Array, bias: Array, out: Array) -> Any:
    """Set ``out (V,)`` to the logits of a row plus bias, and return the maximum.

    The maximum is taken over integer keys that sort like the floats. A maximum of floats does not
    vectorise, because NaN needs a separate case.
    """
    highest = LOWEST_KEY
    for v in range(len(logits)):
        x = load(logits, v) + bias[v]
        out[v] = x
        key = order(x)
        highest = key if key > highest else highest
    return unorder(highest)


@compiled_fast
def softmax_gradient(
    logits: Array,
    bias: Array,
    wanted: Array,
    grad_bias: Array,
    smoothing: float,
    normaliser_weight: float,
    scratch: Array,
) -> float:
    """Replace logits by the gradient of the loss, and return the loss summed over the rows.

    The loss of a row is its cross-entropy plus ``normaliser_weight`` times (ln Z)^2, where Z is the
    sum of exp(logit).

    Args:
        logits: ``(N, V)`` without the bias on entry; on return the gradient: the softmax, times
            1 + 2 normaliser_weight ln Z, minus the target distribution.
        bias: ``(V,)`` float32.
        wanted: ``(N,)`` word ids.
        grad_bias: ``(V,)`` float32; the result is added to it.
        smoothing: Label smoothing: the target distribution is one-hot with weight 1 - smoothing
            plus uniform with weight smoothing.
        normaliser_weight: Weight of the term that keeps Z near 1.
        scratch: ``(V,)`` float32, overwritten. The caller allocates it, because allocation in
            compiled code loads more of numba.
    """
    N, V = logits.shape
    # the target distribution: `even` for every word, plus `kept` for the wanted word
    kept, even = np.float32(1.0 - smoothing), np.float32(smoothing / V)
    loss = 0.0
    for n in range(N):
        row = logits[n]
        top = _add_bias(row, bias, scratch)  # scratch: logits (V,)
        picked = scratch[wanted[n]]
        if smoothing > 0.0:
            everything = np.float32(0.0)
            for v in range(V):
                # the uniform part of the target needs the sum of all logits
                everything += scratch[v]
            loss += smoothing * picked - even * everything
        total = np.float32(0.0)  # Z e^-top; the maximum is subtracted so that exp cannot overflow
        for v in range(V):
            e = exp(scratch[v] - top)
            scratch[v] = e
            total += e
        normaliser = top + np.log(total)  # ln Z
        loss += normaliser - picked + normaliser_weight * normaliser * normaliser
        # one factor for softmax and penalty: the loop below multiplies once
        share = np.float32(1.0 + 2.0 * normaliser_weight * normaliser) / total
        for v in range(V):
            p = scratch[v] * share - even  # softmax minus the uniform part
            grad_bias[v] += p
            store(row, v, p)
        grad_bias[wanted[n]] -= kept
        store(row, wanted[n], scratch[wanted[n]] * share - even - kept)
    return loss


@compiled_fast
def log_softmax(logits: Array, bias: Array) -> None:
    """Replace logits by ln softmax(logits + bias); both arrays are float32.

    Args:
        logits: ``(N, V)``; further columns are ignored.
        bias: ``(V,)``.
    """
    N, V = len(logits), len(bias)
    for n in range(N):
        row = logits[n]
        # _add_bias is not used: it does not vectorise if `out` and `logits` are the same array
        highest = LOWEST_KEY
        for v in range(V):
            x = row[v] + bias[v]
            row[v] = x
            key = order(x)
            highest = key if key > highest else highest
        top = unorder(highest)
        total = np.float32(0.0)
        for v in range(V):
            total += exp(row[v] - top)
        shift = top + np.float32(np.log(total))
        for v in range(V):
            row[v] -= shift
