"""Adam and Adadelta, which change blocks of numbers in place.

``torch.optim`` has both, but creating an optimiser of ``torch.optim`` takes two seconds, because it
imports torch's compiler.
"""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from phrasescore.compiled import compiled_fast
from phrasescore.model.kernels import Array, array_of, can_compile

_BETA1, _BETA2, _ADAM_EPSILON = 0.9, 0.99, 1e-8
_RHO, _ADADELTA_EPSILON = 0.95, 1e-6
_ONE = np.float32(1.0)


def adam(values: Tensor, gradient: Tensor, moments: Tensor, rate: float, update: int) -> None:
    """Change weights by Adam (Kingma and Ba, 2015, algorithm 1), each number separately.

    Args:
        values: ``(N,)`` weights, changed.
        gradient: ``(N,)`` gradient, possibly overwritten.
        moments: ``(2, N)`` moments, zeros before the first update; changed.
        rate: The learning rate.
        update: Number of the update, from 1.
    """
    # bias correction: both moments begin at 0, so they are too small in the first updates
    step = rate / (1 - _BETA1**update)
    root = 1 / math.sqrt(1 - _BETA2**update)
    if can_compile(values):
        numbers = np.array([_BETA1, _BETA2, _ADAM_EPSILON, step, root], np.float32)
        means, squares = map(array_of, moments)
        _adam(array_of(values), array_of(gradient), means, squares, numbers)
        return
    mean, square = moments
    mean.lerp_(gradient, 1 - _BETA1)
    square.mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
    deviation = gradient.copy_(square).sqrt_().mul_(root).add_(_ADAM_EPSILON)
    values.addcdiv_(mean, deviation, value=-step)


def adadelta(values: Tensor, gradient: Tensor, moments: Tensor, rate: float, update: int) -> None:
    """Change weights by Adadelta (Zeiler, 2012, algorithm 1), with steps times the learning rate.

    The arguments are as for :func:`adam`.
    """
    square, change = moments
    square.mul_(_RHO).addcmul_(gradient, gradient, value=1 - _RHO)
    shrunk = (change + _ADADELTA_EPSILON).sqrt_().div_((square + _ADADELTA_EPSILON).sqrt_())
    step = shrunk.mul_(gradient)
    change.mul_(_RHO).addcmul_(step, step, value=1 - _RHO)
    values.sub_(step, alpha=rate)


@compiled_fast
def _adam(values: Array, gradient: Array, means: Array, squares: Array, numbers: Array) -> None:
    """Apply Adam in one pass; ``numbers`` are beta 1, beta 2, epsilon, step and root factor."""
    beta1, beta2, epsilon, step, root = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    new1, new2 = _ONE - beta1, _ONE - beta2
    for n in range(len(values)):
        g = gradient[n]
        mean = means[n] + new1 * (g - means[n])
        square = beta2 * squares[n] + new2 * g * g
        means[n], squares[n] = mean, square
        values[n] -= step * mean / (np.sqrt(square) * root + epsilon)
