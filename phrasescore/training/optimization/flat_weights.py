"""Parameters, gradients and moments of a model in contiguous blocks, and how Adam changes a block.

An optimiser treats each number by itself, so each core can take an equal part of a block, wherever
parameters begin and end. On a CPU, forked processes share the blocks. ``torch.optim`` has Adam and
Adadelta, too, but creating an optimiser of it takes two seconds, because it imports torch's
compiler.

If matrix products run in bfloat16, some weights are always converted before use. On a CPU,
`FlatWeights` keeps a bfloat16 copy of these weights, and each process stores their gradient in
bfloat16. Otherwise each process would convert these weights and gradients at every update, and for
a model of the paper's size would spend an eighth of its time on this. The copy does not change
results.
"""

from __future__ import annotations

import copy
import itertools
import math
import mmap
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from phrasescore.compiled import compiled_fast
from phrasescore.model.kernels import Array, array_of, can_compile
from phrasescore.model.sequence_model import SequenceModel

_BETA1, _BETA2, _ADAM_EPSILON = 0.9, 0.99, 1e-8
_RHO, _ADADELTA_EPSILON = 0.95, 1e-6
_ONE = np.float32(1.0)
# each parameter begins at a multiple of this number: alignment decides the order of sums
_ALIGNED = 16
_MOMENTS = 2  # moments of each number, in Adam and in Adadelta
_BLOCK = 1 << 17  # this many numbers fit into a cache together with their gradient and moments


class FlatWeights:
    """The parameters of a model, moved into one block of N numbers.

    Args:
        model: A model on its device; its parameters become views of ``values``.
        shares: Maximum number of shares of a batch; each share has its own gradient.
        dtype: Type of the matrix products; ``None`` for the type of the parameters.

    Attributes:
        values: ``(N,)`` float32.
        gradient: ``(N,)`` float32, the sum that :meth:`add_up` computes.
        moments: ``(2, N)``, the optimiser's moments.
        working: The model to differentiate: ``model``, or a copy with some weights in bfloat16.
    """

    def __init__(self, model: SequenceModel, shares: int, dtype: torch.dtype | None = None) -> None:
        parameters, device = list(model.parameters()), model.device
        narrow = model.multiplied() if dtype is torch.bfloat16 and device.type == "cpu" else []
        known = set(map(id, narrow))
        self._is_narrow = [id(parameter) in known for parameter in parameters]
        self._shapes = [parameter.shape for parameter in parameters]
        sizes = [-(-parameter.numel() // _ALIGNED) * _ALIGNED for parameter in parameters]
        self._starts = [sum(sizes[:at]) for at in range(len(sizes) + 1)]
        N = self._starts[-1]
        # begin, end and kind (has a bfloat16 copy) of each run of parameters of one kind
        self._runs: list[tuple[int, int, bool]] = []
        for kind, group in itertools.groupby(range(len(sizes)), self._is_narrow.__getitem__):
            places = list(group)
            self._runs.append((self._starts[places[0]], self._starts[places[-1] + 1], kind))
        # a GPU gets all numbers as one block: launching many kernels would cost more time than
        # small blocks save
        self._block = _BLOCK if device.type == "cpu" else N
        self.values = _zeros(1, N, device)[0]
        self._gradients = _zeros(shares, N, device)  # (shares, N): no two members write one row
        self.gradient = self._gradients[0]  # the sum overwrites the first share
        self.moments = _zeros(_MOMENTS, N, device)
        for place, parameter in enumerate(parameters):
            view = self._view(self.values, place)
            view.copy_(parameter.detach())
            parameter.data = view  # from now on a view of `values`
        self.working = model
        if narrow:
            self._narrow_values = _zeros(1, N, device, torch.bfloat16)[0]
            self._narrow_gradients = _zeros(shares, N, device, torch.bfloat16)
            self.working = copy.deepcopy(model)
            for place, parameter in enumerate(self.working.parameters()):
                kept = self._narrow_values if self._is_narrow[place] else self.values
                parameter.data = self._view(kept, place)
            self.narrow()

    def gradient_views(self, share: int) -> list[Tensor]:
        """Return tensors that hold the gradient of a share, one for each ``working`` parameter."""
        return [
            self._view((self._narrow_gradients if narrow else self._gradients)[share], place)
            for place, narrow in enumerate(self._is_narrow)
        ]

    def part(self, member: int, members: int) -> slice:
        """Return the part of the block that member ``member`` of ``members`` changes."""
        aligned = len(self.values) // _ALIGNED  # whole units, so that borders are aligned
        first, end = (aligned * at // members * _ALIGNED for at in (member, member + 1))
        return slice(first, end)

    def add_up(self, shares: int, part: slice) -> None:
        """Set a part of ``gradient`` to the sum over the first ``shares`` shares, in order."""
        for block, narrow in self._blocks(part):
            total, each = self.gradient[block], self._gradients  # (n,), (shares, N)
            if narrow:
                each = self._narrow_gradients
                total.copy_(each[0, block])  # bfloat16 to float32, before anything is added
            for other in range(1, shares):
                total += each[other, block]

    def change(self, part: slice, rule: Callable[[Tensor, Tensor, Tensor], None]) -> None:
        """Apply a rule to a part, block by block: values, gradient ``(n,)``, moments ``(2, n)``."""
        for block, narrow in self._blocks(part):
            rule(self.values[block], self.gradient[block], self.moments[:, block])
            if narrow:
                self._narrow_values[block] = self.values[block]

    def narrow(self) -> None:
        """Copy all values to the bfloat16 weights; :meth:`change` copies only its part."""
        for block, narrow in self._blocks(slice(0, len(self.values))):
            if narrow:
                self._narrow_values[block] = self.values[block]

    def _blocks(self, part: slice) -> Iterator[tuple[slice, bool]]:
        """Cut a part into blocks; yield each block, and whether it has a bfloat16 copy."""
        for begin, stop, narrow in self._runs:
            end = min(stop, part.stop)
            for first in range(max(begin, part.start), end, self._block):
                yield slice(first, min(first + self._block, end)), narrow

    def _view(self, flat: Tensor, place: int) -> Tensor:
        shape, start = self._shapes[place], self._starts[place]
        return flat[start : start + shape.numel()].view(shape)


def _zeros(
    rows: int, columns: int, device: torch.device, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return zeros; on a CPU, in memory that is shared with processes forked later."""
    if device.type != "cpu":
        return torch.zeros(rows, columns, dtype=dtype, device=device)
    memory = mmap.mmap(-1, rows * columns * dtype.itemsize)
    return torch.frombuffer(memory, dtype=dtype).view(rows, columns)


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
    mean.lerp_(gradient, 1 - _BETA1)  # m = beta1 m + (1 - beta1) g
    # v = beta2 v + (1 - beta2) g^2
    square.mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
    # the gradient's memory is free now, so an update allocates no array
    deviation = gradient.copy_(square).sqrt_().mul_(root).add_(_ADAM_EPSILON)
    values.addcdiv_(mean, deviation, value=-step)


def adadelta(values: Tensor, gradient: Tensor, moments: Tensor, rate: float, update: int) -> None:
    """Change weights by Adadelta (Zeiler, 2012, algorithm 1), with steps times the learning rate.

    The arguments are as for :func:`adam`.
    """
    square, change = moments
    square.mul_(_RHO).addcmul_(gradient, gradient, value=1 - _RHO)  # E[g^2]
    # the size of past steps over the size of the gradients
    shrunk = (change + _ADADELTA_EPSILON).sqrt_().div_((square + _ADADELTA_EPSILON).sqrt_())
    step = shrunk.mul_(gradient)
    change.mul_(_RHO).addcmul_(step, step, value=1 - _RHO)  # E[step^2]
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
