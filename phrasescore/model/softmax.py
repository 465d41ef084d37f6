"""The factored output layer and its softmax, computed in chunks that fit into the cache.

A training batch has about 3,000 positions, and the vocabulary has 10,000 words or more. All logits
would take 120 MB and pass through memory five times. Instead, a chunk of rows that fits into the
cache is computed, reduced to the result, and overwritten by the next chunk. On a GPU, chunks are
larger.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from phrasescore.model import kernels

# bytes of a chunk's logits; on a CPU, the last-level cache also has to hold the layer's weights
_CHUNK_BYTES = {"cpu": 8 << 20, "cuda": 512 << 20}
_CACHE_LINE = 16  # float32 numbers


def _rows(words: Tensor, features: Tensor) -> int:
    chunk = _CHUNK_BYTES[features.device.type]
    return max(16, chunk // (features.element_size() * words.shape[0]))


def gathered_log_softmax(features: Tensor, words: Tensor, bias: Tensor, wanted: Tensor) -> Tensor:
    """Return ln softmax(features @ words.T + bias) at the wanted words.

    Args:
        features: ``(..., R)``, in the type of the matrix product.
        words: ``(V, R)``, the output layer's row for each word.
        bias: ``(V,)``.
        wanted: ``(...)`` word ids.

    Returns:
        ``(...)`` natural logarithms, in the type of ``bias``.
    """
    weight = words.to(features.dtype).t()
    flat, ids = features.flatten(0, -2), wanted.flatten()
    step = _rows(words, features)
    parts = [
        torch.nn.functional.cross_entropy(part @ weight + bias, asked, reduction="none")
        for part, asked in zip(torch.split(flat, step), torch.split(ids, step), strict=True)
    ]
    return -torch.cat(parts).view(wanted.shape)


def log_softmax(features: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """Return ln softmax(features @ words.T + bias), ``(N, V)``.

    Args:
        features: ``(N, R)``.
        words: ``(V, R)``, the output layer's row for each word.
        bias: ``(V,)``.
    """
    if torch.is_grad_enabled() or not kernels.can_compile(features):
        return torch.log_softmax(features @ words.t() + bias, 1)
    # a matrix product is half as fast if the rows of its result do not start at cache lines
    V = len(words)
    logits = features.new_empty(len(features), V + -V % _CACHE_LINE)
    torch.mm(features, words.t(), out=logits[:, :V])
    kernels.log_softmax(kernels.array_of(logits), kernels.array_of(bias))
    return logits[:, :V]


def log_normalisers(features: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """Return ln Z of each row, ``(N,)``: the difference between every logit and its ln p.

    Args:
        features: ``(N, R)``.
        words: ``(V, R)``.
        bias: ``(V,)``.
    """
    step, weight = _rows(words, features), words.t()
    return torch.cat([(part @ weight + bias).logsumexp(1) for part in torch.split(features, step)])


class _Wanted(NamedTuple):
    """What the loss asks of each row; see :func:`summed_cross_entropy`."""

    words: Tensor
    counted: Tensor | None
    smoothing: float
    normaliser_weight: float


class _SummedCrossEntropy(torch.autograd.Function):
    """Computes the loss and its gradient chunk by chunk, so that logits stay in the cache."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, words: Tensor, bias: Tensor, wanted: _Wanted) -> Tensor:
        """Sum the loss, and already compute the gradients, which `backward` only scales."""
        N, R = features.shape
        V = words.shape[0]
        wide = torch.promote_types(features.dtype, torch.float32)
        grad_features = torch.empty_like(features)
        # the first chunk overwrites `grad_words`, which saves a pass that sets V x R zeros
        grad_words = (words.new_empty if N else words.new_zeros)(V, R, dtype=wide)
        grad_bias = bias.new_zeros(V, dtype=wide)
        narrow_words, wide_bias = words.to(features.dtype), bias.detach().to(wide)
        loss: float | Tensor = 0.0
        # at least R rows in a chunk, because each chunk adds to all V x R numbers of `grad_words`
        step = min(N, max(R, _rows(words, features)))
        buffer = features.new_empty(step, V)
        part_of_words = None if features.dtype == wide else features.new_empty(V, R)
        for first in range(0, N, max(1, step)):
            rows = slice(first, first + step)
            part = features[rows]
            # (n, R) x (R, V) -> (n, V), n rows of the chunk
            logits = torch.mm(part, narrow_words.t(), out=buffer[: len(part)])
            inside = None if wanted.counted is None else wanted.counted[rows]
            asked = wanted._replace(words=wanted.words[rows], counted=inside)
            loss += _softmax_gradient(logits, wide_bias, asked, grad_bias)
            # from here on `logits` holds d loss / d logits: (n, V) x (V, R) -> (n, R)
            torch.mm(logits, narrow_words, out=grad_features[rows])
            # (V, n) x (n, R) -> (V, R), summed over the chunks in float32
            if part_of_words is None:
                grad_words.addmm_(logits.t(), part, beta=float(first > 0))
            else:
                torch.mm(logits.t(), part, out=part_of_words)
                if first:
                    grad_words += part_of_words
                else:
                    grad_words.copy_(part_of_words)
        ctx.save_for_backward(grad_features, grad_words.to(words.dtype), grad_bias.to(bias.dtype))
        return torch.as_tensor(loss, dtype=wide, device=features.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Scale the gradients that the forward pass has computed."""
        features, words, bias = ctx.saved_tensors
        # if nothing follows the loss, the gradients need not be scaled
        if grad.device.type == "cpu" and float(grad) == 1.0:
            return features, words, bias, None
        return features * grad.to(features.dtype), words * grad, bias * grad, None


def _softmax_gradient(
    logits: Tensor, bias: Tensor, asked: _Wanted, grad_bias: Tensor
) -> float | Tensor:
    """Replace logits by the loss's gradient, add its rows to ``grad_bias``, and return the loss.

    Rows outside ``counted`` have no loss and no gradient. On a GPU the function does not wait for
    the result, because a CUDA graph cannot record a wait.
    """
    wanted, counted, smoothing, normaliser_weight = asked
    if counted is None and kernels.can_compile(logits):
        x, b, ids, out = map(kernels.array_of, (logits, bias, wanted, grad_bias))
        numbers = smoothing, normaliser_weight, np.empty(len(b), np.float32)
        return float(kernels.softmax_gradient(x, b, ids, out, *numbers))
    full = logits.to(bias.dtype) + bias  # (n, V)
    at = torch.arange(len(wanted), device=wanted.device)
    log_probabilities = full.log_softmax(1)
    losses = -log_probabilities[at, wanted] * (1 - smoothing)  # (n,)
    if smoothing:  # the share of the target probability that all V words get in equal parts
        losses -= log_probabilities.mean(1) * smoothing
    # d loss / d logits is p - target; (ln Z)^2 adds 2 w ln Z p, because d ln Z / d logits is p
    gradient = log_probabilities.exp_()
    if normaliser_weight:
        normaliser = full.logsumexp(1)
        losses += normaliser_weight * normaliser.square()
        gradient *= (1 + 2 * normaliser_weight * normaliser)[:, None]
    gradient[at, wanted] -= 1 - smoothing
    if smoothing:
        gradient -= smoothing / gradient.shape[1]
    if counted is not None:
        losses *= counted
        gradient *= counted[:, None]
    grad_bias += gradient.sum(0)
    logits.copy_(gradient)
    return losses.sum(dtype=torch.float64)


def summed_cross_entropy(
    features: Tensor,
    words: Tensor,
    bias: Tensor,
    wanted: Tensor,
    counted: Tensor | None = None,
    smoothing: float = 0.0,
    normaliser_weight: float = 0.0,
) -> Tensor:
    """Return the sum of -ln softmax(features @ words.T + bias) at the wanted words, a scalar.

    Compiled passes skip the rows that do not count. Otherwise these rows are computed and ignored,
    because a CUDA graph cannot record a number of rows that depends on the mask.

    Args:
        features: ``(N, R)``, in the type of the matrix products.
        words: ``(V, R)``.
        bias: ``(V,)``.
        wanted: ``(N,)`` word ids.
        counted: ``(N,)`` mask of the rows that count; ``None`` if all do.
        smoothing: Share of the target probability that is spread evenly over all words.
        normaliser_weight: Weight of (ln Z)^2 in the loss of each row, where Z is the sum of
            exp(logit). If Z is near 1, a logit is close to ln p (Devlin et al., 2014).
    """
    if counted is not None and kernels.can_compile(features):
        features, wanted, counted = features[counted], wanted[counted], None
    asked = _Wanted(wanted, counted, smoothing, normaliser_weight)
    return _SummedCrossEntropy.apply(features, words, bias, asked)  # type: ignore[no-untyped-call]
