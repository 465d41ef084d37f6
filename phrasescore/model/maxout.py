"""Maxout over pairs (Goodfellow et al., 2013): the larger of each two neighbours, and its gradient.

On a CPU one compiled pass each way. Torch finds its gradient in five passes over numbers twice as
many as the state has, which is a part in fifteen of the time of an update.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from phrasescore.compiled import compiled_with
from phrasescore.model.fast_math import FAST, load, store
from phrasescore.model.kernels import Array, array_of, can_compile

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)


def maxout(values: Tensor) -> Tensor:
    """Return the larger of each two neighbours, NaN if one of them is; equal ones share a gradient.

    Args:
        values: ``(..., 2M)``.

    Returns:
        ``(..., M)``.
    """
    if values.requires_grad and can_compile(values):
        return _Maxout.apply(values)  # type: ignore[no-untyped-call]
    return plain_maxout(values)


def plain_maxout(values: Tensor) -> Tensor:
    """Return what :func:`maxout` does, by torch."""
    return values.reshape(*values.shape[:-1], values.shape[-1] // 2, 2).amax(-1)


class _Maxout(torch.autograd.Function):
    """The compiled passes."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        """Keep the values, which say where the gradient goes."""
        values = values.contiguous()
        larger = values.new_empty(*values.shape[:-1], values.shape[-1] // 2)
        _larger(array_of(values).reshape(-1), array_of(larger).reshape(-1))
        ctx.save_for_backward(values)
        return larger

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Give each gradient to the larger of its two."""
        (values,) = ctx.saved_tensors
        into = torch.empty_like(values)
        given = values, grad.contiguous(), into
        _to_larger(*(array_of(each).reshape(-1) for each in given))
        return into


@compiled_with(fastmath=FAST, error_model="numpy")
def _larger(values: Array, larger: Array) -> None:
    """Set ``larger (N,)`` to the larger of the neighbours in ``values (2N,)``."""
    for n in range(len(larger)):
        a, b = load(values, 2 * n), load(values, 2 * n + 1)
        most = a if a >= b else b
        # a NaN is not even itself; choices inside the call of an inlined function come out wrong
        most = most if a == a else a
        store(larger, n, most)


@compiled_with(fastmath=FAST, error_model="numpy")
def _to_larger(values: Array, grad: Array, into: Array) -> None:
    """Set ``into (2N,)`` to ``grad (N,)`` where ``values (2N,)`` is larger, to halves if equal."""
    for n in range(len(grad)):
        a, b, g = load(values, 2 * n), load(values, 2 * n + 1), load(grad, n)
        share = _HALF if a == b else _ONE
        first, second = _ZERO if a < b else share, _ZERO if b < a else share
        store(into, 2 * n, g * first)
        store(into, 2 * n + 1, g * second)
