"""The factored output layer and its softmax, in chunks that stay in the cache.

A batch of training has some 3,000 positions over 10,000 words or more: 120 MB of logits, which
would go through memory five times. A chunk of rows small enough for the cache is made, reduced to
what is wanted, and overwritten by the next.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_CHUNK_BYTES = 4 << 20  # of logits: fits the last-level cache beside the weights of the layer


def _rows(words: Tensor) -> int:
    return max(16, _CHUNK_BYTES // (4 * words.shape[0]))


def gathered_log_softmax(features: Tensor, words: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
    """Return ln softmax(features @ words.T + bias) at the wanted words.

    Args:
        features: ``(..., R)``.
        words: ``(V, R)``, the output layer's row for each word.
        bias: ``(V,)``.
        wanted: ``(...)`` word ids.

    Returns:
        ``(...)`` natural logarithms, in the type of ``bias``.
    """
    kind = torch.promote_types(features.dtype, bias.dtype)
    flat, ids = features.flatten(0, -2), wanted.flatten()
    weight = words.to(features.dtype).t()
    step = _rows(words)
    parts = []
    for first in range(0, flat.shape[0], step):
        logits = (flat[first : first + step] @ weight).to(kind) + bias
        picked = logits.gather(1, ids[first : first + step, None]).squeeze(1)
        parts.append(picked - logits.logsumexp(1))
    return torch.cat(parts).view(wanted.shape)


class _SummedCrossEntropy(torch.autograd.Function):
    """Loss and gradient of a chunk while its logits are in the cache; no logits are kept."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, words: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
        """Sum the loss; form the gradients at once, to be scaled by the incoming one."""
        N, R = features.shape
        V = words.shape[0]
        wide = torch.promote_types(features.dtype, torch.float32)
        grad_features = torch.empty_like(features)
        grad_words = words.new_zeros(V, R, dtype=wide)
        grad_bias = bias.new_zeros(V, dtype=wide)
        weight, offset = words.to(wide).t(), bias.to(wide)
        narrow_words = words.to(features.dtype)
        loss = features.new_zeros((), dtype=torch.float64)
        step = _rows(words)
        buffer = features.new_empty(min(step, N), V, dtype=wide)
        for first in range(0, N, step):
            rows = features[first : first + step]
            ids = wanted[first : first + step, None]
            logits = torch.addmm(offset, rows.to(wide), weight, out=buffer[: rows.shape[0]])
            picked = logits.gather(1, ids)
            top, at = logits.max(1, keepdim=True)
            probabilities = torch.softmax(logits, 1)
            # ln sum exp = logit - ln p, taken at the likeliest word, whose p cannot underflow
            normaliser = top - probabilities.gather(1, at).log_()
            loss += (normaliser - picked).sum(dtype=torch.float64)
            probabilities.scatter_add_(1, ids, -torch.ones_like(ids, dtype=wide))
            grad_bias += probabilities.sum(0)
            narrow = probabilities.to(features.dtype)
            grad_features[first : first + step] = narrow @ narrow_words
            grad_words += (narrow.t() @ rows).to(wide)
        ctx.save_for_backward(grad_features, grad_words.to(words.dtype), grad_bias.to(bias.dtype))
        return loss.to(wide)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Scale what the forward pass prepared."""
        features, words, bias = ctx.saved_tensors
        return features * grad.to(features.dtype), words * grad, bias * grad, None


def summed_cross_entropy(features: Tensor, words: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
    """Return the sum of -ln softmax(features @ words.T + bias) at the wanted words, a scalar.

    Args:
        features: ``(N, R)``, of the type that the products of the gradient run in.
        words: ``(V, R)``.
        bias: ``(V,)``.
        wanted: ``(N,)`` word ids.
    """
    return _SummedCrossEntropy.apply(features, words, bias, wanted)  # type: ignore[no-any-return,no-untyped-call]
