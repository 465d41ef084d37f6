"""Compiled passes of the alignment: scores, softmax and weighted sum of each row at once.

What is attended to lies flat, the positions of one source after the other, so that nothing is
padded or copied and rows of one source share it. Matrices are float32, or bfloat16 as its bits;
what accumulates is float32. ``attention`` has the same in plain torch, and tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from phrasescore.compiled import compiled_with
from phrasescore.model.fast_math import FAST, exp, load, store, tanh

Array = npt.NDArray[Any]
_ONE, _ZERO = np.float32(1.0), np.float32(0.0)

_compiled = compiled_with(fastmath=FAST, error_model="numpy")


@_compiled
def attend(
    queries: Array,
    keys: Array,
    values: Array,
    vector: Array,
    begins: Array,
    lengths: Array,
    weights: Array,
    found: Array,
) -> None:
    """Align each row to its positions and sum up their values.

    Args:
        queries: ``(N, A)``, s W_a.
        keys: ``(P, A)``, h_j U_a of all positions.
        values: ``(P, D)``, what is summed.
        vector: ``(A,)`` float32, v_a.
        begins: ``(N,)`` the first position of each row.
        lengths: ``(N,)`` how many positions it has.
        weights: ``(N, J)`` float32, filled: alpha, 0 beyond the row's positions.
        found: ``(N, D)``, filled: the sum of alpha_j values_j.
    """
    query, total = np.empty(len(vector), np.float32), np.empty(values.shape[1], np.float32)
    for n in range(len(queries)):
        first, last = begins[n], begins[n] + lengths[n]
        alpha = weights[n]
        alpha[lengths[n] :] = _ZERO
        _align(queries[n], keys[first:last], vector, query, alpha)
        _sum_up(values[first:last], alpha, total, found[n])


@_compiled
def _align(row: Array, keys: Array, vector: Array, query: Array, alpha: Array) -> None:
    """Fill ``alpha`` with softmax of v_a tanh(row + keys); ``query`` is scratch."""
    A = len(vector)
    for a in range(A):
        query[a] = load(row, a)
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
        alpha[j] = exp(alpha[j] - top)
        mass += alpha[j]
    for j in range(len(keys)):
        alpha[j] /= mass


@_compiled
def _sum_up(values: Array, alpha: Array, total: Array, found: Array) -> None:
    """Fill ``found`` with the sum of ``alpha_j values_j``; ``total`` is scratch."""
    D = len(total)
    for d in range(D):
        total[d] = _ZERO
    for j in range(len(values)):
        share, value = alpha[j], values[j]
        for d in range(D):
            total[d] += share * load(value, d)
    for d in range(D):
        store(found, d, total[d])


@_compiled
def attend_backward(
    queries: Array,
    keys: Array,
    values: Array,
    vector: Array,
    begins: Array,
    lengths: Array,
    weights: Array,
    grad_found: Array,
    grad_queries: Array,
    grad_keys: Array,
    grad_vector: Array,
) -> None:
    """Turn the gradient of the sums into those of queries, keys and v_a; values are the caller's.

    Args:
        queries: As in :func:`attend`, likewise the next five.
        keys: ``(P, A)``.
        values: ``(P, D)``.
        vector: ``(A,)``.
        begins: ``(N,)``.
        lengths: ``(N,)``.
        weights: ``(N, J)``, alpha.
        grad_found: ``(N, D)``.
        grad_queries: ``(N, A)``, filled.
        grad_keys: ``(P, A)`` float32, added to.
        grad_vector: ``(A,)`` float32, added to.
    """
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
            grad_alpha[j] = inner
            mean += inner * alpha[j]
        for j in range(length):
            e = alpha[j] * (grad_alpha[j] - mean)
            key, out = keys[begin + j], grad_keys[begin + j]
            for a in range(A):
                t = tanh(query[a] + load(key, a))
                inside = e * vector[a] * (_ONE - t * t)
                grad[a] += inside
                out[a] += inside
                grad_vector[a] += e * t
        for a in range(A):
            store(grad_queries[n], a, grad[a])
