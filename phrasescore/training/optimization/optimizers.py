"""Adam and Adadelta, which change blocks of numbers in place.

``torch.optim`` has both, but creating an optimiser of ``torch.optim`` takes two seconds, because it
imports torch's compiler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from phrasescore.compiled import compiled_with
from phrasescore.model.fast_math import FAST
from phrasescore.model.kernels import Array, array_of, can_compile

_ONE = np.float32(1.0)


@dataclass(frozen=True)
class Adam:
    """Kingma and Ba (2015), algorithm 1: an update rule that treats each number separately."""

    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8

    def step(
        self, values: Tensor, gradient: Tensor, moments: Tensor, rate: float, update: int
    ) -> None:
        """Change weights.

        Args:
            values: ``(N,)`` weights, changed.
            gradient: ``(N,)`` gradient, possibly overwritten.
            moments: ``(2, N)`` moments, zeros before the first update; changed.
            rate: The learning rate.
            update: Number of the update, from 1.
        """
        # bias correction: both moments begin at 0, so they are too small in the first updates
        step = rate / (1 - self.beta1**update)
        root = 1 / math.sqrt(1 - self.beta2**update)
        if can_compile(values):
            numbers = np.array([self.beta1, self.beta2, self.epsilon, step, root], np.float32)
            means, squares = map(array_of, moments)
            _adam(array_of(values), array_of(gradient), means, squares, numbers)
            return
        mean, square = moments
        mean.lerp_(gradient, 1 - self.beta1)
        square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        deviation = gradient.copy_(square).sqrt_().mul_(root).add_(self.epsilon)
        values.addcdiv_(mean, deviation, value=-step)


@dataclass(frozen=True)
class Adadelta:
    """Zeiler (2012), algorithm 1; each step is multiplied by the learning rate."""

    rho: float = 0.95
    epsilon: float = 1e-6

    def step(
        self, values: Tensor, gradient: Tensor, moments: Tensor, rate: float, update: int
    ) -> None:
        """See :meth:`Adam.step`."""
        square, change = moments
        square.mul_(self.rho).addcmul_(gradient, gradient, value=1 - self.rho)
        shrunk = (change + self.epsilon).sqrt_().div_((square + self.epsilon).sqrt_())
        step = shrunk.mul_(gradient)
        change.mul_(self.rho).addcmul_(step, step, value=1 - self.rho)
        values.sub_(step, alpha=rate)


@compiled_with(fastmath=FAST, error_model="numpy")
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
