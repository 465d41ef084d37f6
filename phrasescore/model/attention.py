"""Attention, and the gated unit with attention to its source at every step.

Step i computes a context c_i from the decoder's state s_(i-1) and the encoder's states h_j
(Bahdanau et al., 2014, section 3.1 and appendix A.2.2): e_ij = v_a tanh(s_(i-1) W_a + h_j U_a),
alpha = softmax of e over j, c_i = sum over j of alpha_ij h_j. As in ``units``, the gradient is
written by hand, so that the gradient of each weight matrix is one large product after the steps.

Shapes: ``B`` sequences of ``L`` steps; ``H`` size of the decoder's state; ``N`` queries; ``J``
positions of the longest source, its </s> included; ``D`` size of the vectors that are summed; ``A``
alignment units. The ``P`` positions of all sources are the rows of one matrix. Each query names the
first row of its source (``begins``), so queries with the same source share its rows without copies.

The compiled passes take matrices in float32, or in bfloat16 as bit patterns, and sum in float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from phrasescore.compiled import compiled_fast
from phrasescore.model import kernels
from phrasescore.model.fast_math import exp, load, store, tanh
from phrasescore.model.kernels import Array, array_of
from phrasescore.model.units import Pass, backward_passes, forward_passes

_ONE, _ZERO = np.float32(1.0), np.float32(0.0)
Arrays: TypeAlias = tuple[Array, ...]  # arrays that belong together, such as those of `Attended`


@compiled_fast
def _attend_rows(queries: Array, seen: Arrays, vector: Array, weights: Array, found: Array) -> None:
    """Align each query with its source positions, and sum the positions' values by weight.

    Args:
        queries: ``(N, A)``, s W_a.
        seen: The positions of each query, see :class:`Attended`.
        vector: ``(A,)`` float32, v_a.
        weights: ``(N, J)`` float32, filled: alpha, 0 beyond the query's positions.
        found: ``(N, D)``, filled: the sum of alpha_j values_j.
    """
    keys, values, begins, lengths = seen
    query, total = np.empty(len(vector), np.float32), np.empty(values.shape[1], np.float32)
    for n in range(len(queries)):
        first, last = begins[n], begins[n] + lengths[n]
        alpha = weights[n]
        alpha[lengths[n] :] = _ZERO
        _align(queries[n], keys[first:last], vector, query, alpha)
        _sum_up(values[first:last], alpha, total, found[n])


@compiled_fast
def _align(row: Array, keys: Array, vector: Array, query: Array, alpha: Array) -> None:
    """Set ``alpha`` to softmax(v_a tanh(row + keys)) for a query ``row``; ``query`` is scratch."""
    A = len(vector)
    for a in range(A):
        query[a] = load(row, a)  # as float32, once for all positions
    top = np.float32(-np.inf)
    for j in range(len(keys)):
        key = keys[j]
        e = _ZERO
        for a in range(A):
            e += vector[a] * tanh(query[a] + load(key, a))
        alpha[j] = e
        top = max(top, e)
    mass = _ZERO
    for j in range(len(keys)):
        alpha[j] = exp(alpha[j] - top)  # the maximum is subtracted: no overflow
        mass += alpha[j]
    for j in range(len(keys)):
        alpha[j] /= mass


@compiled_fast
def _sum_up(values: Array, alpha: Array, total: Array, found: Array) -> None:
    """Set ``found`` to the sum of ``alpha_j values_j``; ``total`` is scratch space."""
    D = len(total)
    for d in range(D):
        total[d] = _ZERO
    # positions outside, so that the inner loop runs along memory
    for j in range(len(values)):
        share, value = alpha[j], values[j]
        for d in range(D):
            total[d] += share * load(value, d)
    for d in range(D):
        store(found, d, total[d])


@compiled_fast
def _attend_back(queries: Array, seen: Arrays, vector: Array, step: Arrays, totals: Arrays) -> None:
    """Turn the gradient of the sums into the gradients of queries, keys and v_a, not of values.

    Args:
        queries: ``(N, A)``; this and the next two arguments are as in :func:`_attend_rows`.
        seen: The positions.
        vector: ``(A,)``.
        step: ``(N, J)``, alpha; ``(N, D)``, the gradient of the sums; and ``(N, A)``, filled: the
            gradient of the queries.
        totals: ``(P, A)`` and ``(A,)`` float32; the gradients of keys and v_a are added to them.
    """
    keys, values, begins, lengths = seen
    weights, grad_found, grad_queries = step
    grad_keys, grad_vector = totals
    N, A = queries.shape
    D = values.shape[1]
    query, grad, slope = np.empty(A, np.float32), np.empty(A, np.float32), np.empty(D, np.float32)
    grad_alpha = np.empty(weights.shape[1], np.float32)
    for n in range(N):
        begin, length, alpha = begins[n], lengths[n], weights[n]
        for a in range(A):
            query[a] = load(queries[n], a)
            grad[a] = _ZERO
        for d in range(D):
            slope[d] = load(grad_found[n], d)
        mean = _ZERO
        for j in range(length):
            value = values[begin + j]
            inner = _ZERO
            for d in range(D):
                inner += slope[d] * load(value, d)
            grad_alpha[j] = inner  # d alpha_j = slope . value_j
            mean += inner * alpha[j]
        for j in range(length):
            # gradient of softmax: d e_j = alpha_j (d alpha_j - sum_i alpha_i d alpha_i)
            e = alpha[j] * (grad_alpha[j] - mean)
            key, out = keys[begin + j], grad_keys[begin + j]
            for a in range(A):
                # again, instead of keeping (N, J, A)
                t = tanh(query[a] + load(key, a))
                inside = e * vector[a] * (_ONE - t * t)
                grad[a] += inside
                out[a] += inside
                grad_vector[a] += e * t
        for a in range(A):
            store(grad_queries[n], a, grad[a])


class Attended(NamedTuple):
    """The source positions that queries attend to.

    Attributes:
        keys: ``(P, A)``, h_j U_a of all positions.
        values: ``(P, D)``, the vectors to sum: h_j, or h_j times a matrix.
        begins: ``(N,)`` the first position of each query.
        lengths: ``(N,)`` the number of positions of each query.
    """

    keys: Tensor
    values: Tensor
    begins: Tensor
    lengths: Tensor


def attend(queries: Tensor, seen: Attended, vector: Tensor, J: int) -> tuple[Tensor, Tensor]:
    """Return the weighted sums ``(N, D)`` and the alignments ``(N, J)``.

    Args:
        queries: ``(N, A)``, s W_a.
        seen: The positions of each query.
        vector: ``(A,)``, v_a.
        J: Number of columns of the alignments, at least the maximum of ``seen.lengths``.
    """
    if torch.is_grad_enabled() or not kernels.can_compile(queries):
        at = torch.arange(J, device=queries.device)
        places = (seen.begins[:, None] + at).masked_fill(at >= seen.lengths[:, None], 0)
        return _attend_equal(queries, seen.keys[places], seen.values[places], vector, seen.lengths)
    found = queries.new_empty(len(queries), seen.values.shape[1])
    weights = vector.new_empty(len(queries), J)
    arrays = tuple(map(array_of, seen))
    _attend_rows(array_of(queries), arrays, *map(array_of, (vector, weights, found)))
    return found, weights


def _attend_equal(
    queries: Tensor, keys: Tensor, values: Tensor, vector: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Compute :func:`attend` for keys ``(N, J, A)`` and values ``(N, J, D)``.

    In bfloat16, alpha is rounded before its product with the values.
    """
    outside = torch.arange(keys.shape[1], device=keys.device) >= lengths[:, None]
    scores = torch.tanh(_summed(queries, keys)) @ vector
    weights = scores.masked_fill(outside, float("-inf")).softmax(1)
    return (weights[:, None].to(values.dtype) @ values)[:, 0], weights  # (N, 1, J) x (N, J, D)


def _summed(queries: Tensor, keys: Tensor) -> Tensor:
    """Return s W_a + h_j U_a in float32 or a wider type, ``(N, J, A)``."""
    return queries[:, None].to(torch.promote_types(queries.dtype, torch.float32)) + keys


class AttentiveWeights(NamedTuple):
    """The weights of the gated unit with attention.

    The vector v_a is in float32 or a wider type, the matrices are in the type of their products.

    Attributes:
        gates: ``(H, 2H)``, the recurrent weights of update and reset.
        candidate: ``(H, H)``, the recurrent weights of the candidate.
        context: ``(D, 3H)``, from c_i to candidate, update and reset.
        query: ``(H, A)``, W_a.
        vector: ``(A,)``, v_a.
    """

    gates: Tensor
    candidate: Tensor
    context: Tensor
    query: Tensor
    vector: Tensor


def run_attentive_unit(
    inputs: Tensor, start: Tensor, seen: Attended, weights: AttentiveWeights, looks: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the gated unit: each step computes c_i from s_(i-1), then s_i from word i and c_i.

    Args:
        inputs: ``(L, B, 3H)`` contributions of the words to candidate, update and reset.
        start: ``(B, H)``.
        seen: Positions of B sequences, J for each; sequence b begins at row ``b * J``.
        weights: The parameters.
        looks: Number of contexts: L, or L + 1 to compute one more after the last step.

    Returns:
        States ``(L + 1, B, H)``, beginning with ``start``; contexts ``(looks, B, D)``;
        alignments ``(looks, B, J)``, which have no gradient.
    """
    given = inputs, start, *seen, *weights, looks
    return _AttentiveRecurrence.apply(*given)  # type: ignore[no-untyped-call]


class _AttentiveRecurrence(torch.autograd.Function):
    """Computes the states, contexts and alignments of :func:`run_attentive_unit`."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, start: Tensor, *given: Any) -> tuple[Tensor, ...]:
        """Step through the sequence; keep the values that the gradient needs."""
        seen, weights, looks = Attended(*given[:4]), AttentiveWeights(*given[4:9]), given[9]
        L, B, H3 = inputs.shape
        # every sequence is padded to J positions
        H, D, J = H3 // 3, seen.values.shape[1], len(seen.keys) // len(start)
        states, gates = inputs.new_empty(L + 1, B, H), inputs.new_empty(L, B, 2 * H)
        candidates, resets = inputs.new_empty(L, B, H), inputs.new_empty(L, B, H)
        queries = inputs.new_empty(looks, B, weights.query.shape[1])
        contexts, alignments = inputs.new_empty(looks, B, D), weights.vector.new_empty(looks, B, J)
        # rounding errors accumulate in the state, so it is float32 even if products run in bfloat16
        carried = start.to(torch.promote_types(start.dtype, torch.float32), copy=True)
        states[0] = start
        convert, finish_gates, finish_state = forward_passes(inputs)
        attend_all: Pass = _attend_rows if kernels.can_compile(inputs) else _attend_in_torch
        h, g, k, r, s = map(convert, (carried, gates, candidates, resets, states))
        parts = tuple(map(convert, seen)), convert(weights.vector)
        # each step needs the one before: s -> query -> alpha, c -> gates -> r * h -> k -> s'
        for t in range(looks):
            torch.mm(states[t], weights.query, out=queries[t])  # (B, H) x (H, A)
            attend_all(convert(queries[t]), *parts, convert(alignments[t]), convert(contexts[t]))
            if t < L:
                # (B, D) x (D, 3H)
                x = convert(torch.addmm(inputs[t], contexts[t], weights.context))
                torch.mm(states[t], weights.gates, out=gates[t])
                finish_gates(x, g[t], h, r[t])
                torch.mm(resets[t], weights.candidate, out=candidates[t])
                finish_state(x, g[t], k[t], h, s[t + 1])
        kept = states, gates, candidates, resets, queries, contexts, alignments
        ctx.save_for_backward(*kept, *given[:9])
        ctx.mark_non_differentiable(alignments)
        return states, contexts, alignments

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_states: Tensor, grad_contexts: Tensor, _: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Go back through the sequence, then compute each matrix's gradient as one product."""
        states, gates, candidates, resets, queries, contexts, alignments = ctx.saved_tensors[:7]
        seen = Attended(*ctx.saved_tensors[7:11])
        weights = AttentiveWeights(*ctx.saved_tensors[11:])
        L, B, H = candidates.shape
        looks = len(contexts)
        wide = torch.promote_types(states.dtype, torch.float32)
        grad_inputs = candidates.new_empty(L, B, 3 * H)  # candidate | update | reset
        grad_contexts, grad_queries = grad_contexts.clone(), torch.empty_like(queries)
        grad_keys = torch.zeros_like(seen.keys, dtype=wide)
        grad_vector = torch.zeros_like(weights.vector, dtype=wide)
        grad_states = grad_states.contiguous()
        flowing = grad_states[L].to(wide, copy=True)
        product = candidates.new_empty(B, H)
        convert, back_state, back_reset, add_flow = backward_passes(candidates)
        is_compiled = kernels.can_compile(candidates)
        attend_back: Pass = _attend_back if is_compiled else _attend_back_in_torch
        given = gates, candidates, states, grad_inputs, grad_states, flowing, product
        g, k, s, out, above, f, p = map(convert, given)
        parts = tuple(map(convert, seen)), convert(weights.vector)
        totals = convert(grad_keys), convert(grad_vector)
        for t in range(looks - 1, -1, -1):
            if t < L:
                back_state(f, g[t], k[t], s[t], out[t])
                torch.mm(grad_inputs[t, :, :H], weights.candidate.t(), out=product)
                back_reset(f, g[t], s[t], p, out[t])
                torch.mm(grad_inputs[t, :, H:], weights.gates.t(), out=product)
                add_flow(f, p, above[t])
                grad_contexts[t].addmm_(grad_inputs[t], weights.context.t())  # (B, 3H) x (3H, D)
            step = convert(alignments[t]), convert(grad_contexts[t]), convert(grad_queries[t])
            attend_back(convert(queries[t]), *parts, step, totals)
            # the query was computed from the state before the step, so its gradient joins here
            flowing += grad_queries[t] @ weights.query.t()
        flat, before = grad_inputs.view(L * B, 3 * H), states[:L].reshape(L * B, H)
        shares = alignments.permute(1, 2, 0).to(contexts.dtype)  # (B, J, looks)
        # c_t = sum_j alpha_tj h_j, so d h_j = sum_t alpha_tj d c_t: (B, J, looks) x (B, looks, D)
        grad_values = torch.bmm(shares, grad_contexts.permute(1, 0, 2)).view(seen.values.shape)
        return (
            grad_inputs,
            flowing.to(states.dtype),
            grad_keys.to(seen.keys.dtype),
            grad_values,
            None,
            None,
            before.t() @ flat[:, H:],
            resets.view(L * B, H).t() @ flat[:, :H],
            contexts[:L].flatten(0, 1).t() @ flat,
            states[:looks].flatten(0, 1).t() @ grad_queries.flatten(0, 1),
            grad_vector.to(weights.vector.dtype),
            None,
        )


# Versions of the compiled passes in plain torch. Each sequence has J positions; sequence b begins
# at row b * J.


def _attend_in_torch(
    queries: Tensor, seen: Attended, vector: Tensor, weights: Tensor, found: Tensor
) -> None:
    keys, values, _, lengths = seen
    B, J = weights.shape
    given = keys.view(B, J, -1), values.view(B, J, -1), vector, lengths
    for into, computed in zip((found, weights), _attend_equal(queries, *given), strict=True):
        into.copy_(computed)


def _attend_back_in_torch(
    queries: Tensor,
    seen: Attended,
    vector: Tensor,
    step: tuple[Tensor, Tensor, Tensor],
    totals: tuple[Tensor, Tensor],
) -> None:
    (keys, values, _, _), (weights, grad_found, grad_queries) = seen, step
    grad_keys, grad_vector = totals
    B, J = weights.shape
    grad_weights = torch.bmm(values.view(B, J, -1), grad_found[:, :, None])[:, :, 0] * weights
    # gradient of softmax: d e_j = alpha_j (d alpha_j - sum_i alpha_i d alpha_i)
    e = torch.addcmul(grad_weights, weights, grad_weights.sum(1, keepdim=True), value=-1)
    tanh = torch.tanh(_summed(queries, keys.view(B, J, -1)))
    grad_vector.addmv_(tanh.flatten(0, 1).t(), e.flatten())
    inside = torch.addcmul(vector, vector, tanh * tanh, value=-1)  # (B, J, A), v_a (1 - tanh^2)
    grad_queries.copy_(torch.bmm(e[:, None], inside)[:, 0])
    grad_keys.view(inside.shape).addcmul_(inside, e[:, :, None])
