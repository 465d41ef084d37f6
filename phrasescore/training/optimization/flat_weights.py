"""A model's parameters, and what an update needs beside them, each in one stretch of memory.

An optimiser works number by number and does not care where a parameter ends, so a stretch can be
cut into a part for each core. On a CPU the stretches are memory that forked processes share.

Where products run in bfloat16, the weights that are only multiplied by are kept in it, too, and
their gradients meet in it. Otherwise each process would narrow all weights and widen all gradients
by itself at every update, which is an eighth of its time at paper size. The bits are the same.
"""

from __future__ import annotations

import copy
import itertools
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from phrasescore.model.sequence_model import SequenceModel

_ALIGNED = 16  # numbers; a parameter or part that began elsewhere would be summed in another order
_MOMENTS = 2  # that Adam and Adadelta keep of each number
_BLOCK = 1 << 17  # numbers; a cache holds them with gradient and moments


def shared_array(count: int, kind: DTypeLike) -> NDArray[Any]:
    """Return zeros, ``(count,)``, that this process and those it forks see alike."""
    size = np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, max(1, count) * size), kind, count)


class FlatWeights:
    """The parameters of a model, moved into one stretch of N numbers.

    Args:
        model: On its device; from now on its parameters are views of ``values``.
        shares: How many gradients may be there at once.
        dtype: What the matrix products run in; ``None`` for the parameters' own.

    Attributes:
        values: ``(N,)`` float32.
        gradient: ``(N,)`` float32, what :meth:`add_up` found.
        moments: ``(2, N)``, what the optimiser remembers.
        working: What to differentiate: the model, or its like with weights that are narrow.
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
        self._runs = _runs(self._starts, self._is_narrow)
        # a GPU takes longer to be asked for a block than to do it
        self._block = _BLOCK if device.type == "cpu" else N
        self.values = _zeros(1, N, device)[0]
        self._gradients = _zeros(shares, N, device)
        self.gradient = self._gradients[0]
        self.moments = _zeros(_MOMENTS, N, device)
        for place, parameter in enumerate(parameters):
            view = self._view(self.values, place)
            view.copy_(parameter.detach())
            parameter.data = view
        self.working = model
        if narrow:
            self._narrow_values = _narrow_zeros(1, N)[0]
            self._narrow_gradients = _narrow_zeros(shares, N)
            self.working = self._narrowed(model)
            self.narrow()

    def gradient_views(self, share: int) -> list[Tensor]:
        """Return where a share's gradient goes, a tensor like each parameter of ``working``."""
        return [
            self._view((self._narrow_gradients if narrow else self._gradients)[share], place)
            for place, narrow in enumerate(self._is_narrow)
        ]

    def part(self, member: int, members: int) -> slice:
        """Return which numbers one of several members looks after."""
        aligned = len(self.values) // _ALIGNED
        first, end = (aligned * at // members * _ALIGNED for at in (member, member + 1))
        return slice(first, end)

    def add_up(self, shares: int, part: slice) -> None:
        """Set a part of ``gradient`` to the sum of so many shares', in their order."""
        for block, narrow in self._blocks(part):
            total, each = self.gradient[block], self._gradients
            if narrow:
                each = self._narrow_gradients
                total.copy_(each[0, block])
            for other in range(1, shares):
                total += each[other, block]

    def change(self, part: slice, rule: Callable[[Tensor, Tensor, Tensor], None]) -> None:
        """Apply a rule that changes ``(n,)`` values by their gradient and ``(2, n)`` moments."""
        for block, narrow in self._blocks(part):
            rule(self.values[block], self.gradient[block], self.moments[:, block])
            if narrow:
                self._narrow_values[block] = self.values[block]

    def narrow(self) -> None:
        """Have ``working`` see values that something else than :meth:`change` has set."""
        for block, narrow in self._blocks(slice(0, len(self.values))):
            if narrow:
                self._narrow_values[block] = self.values[block]

    def _blocks(self, part: slice) -> Iterator[tuple[slice, bool]]:
        """Cut a part into what a cache holds through several passes; say what is narrow."""
        for begin, stop, narrow in self._runs:
            end = min(stop, part.stop)
            for first in range(max(begin, part.start), end, self._block):
                yield slice(first, min(first + self._block, end)), narrow

    def _narrowed(self, model: SequenceModel) -> SequenceModel:
        working = copy.deepcopy(model)
        for place, parameter in enumerate(working.parameters()):
            kept = self._narrow_values if self._is_narrow[place] else self.values
            parameter.data = self._view(kept, place)
        return working

    def _view(self, flat: Tensor, place: int) -> Tensor:
        shape, start = self._shapes[place], self._starts[place]
        return flat[start : start + shape.numel()].view(shape)


def _runs(starts: list[int], kinds: list[bool]) -> list[tuple[int, int, bool]]:
    """Return beginning, end and kind of parameters of one kind that follow each other."""
    runs = []
    for kind, group in itertools.groupby(range(len(kinds)), kinds.__getitem__):
        places = list(group)
        runs.append((starts[places[0]], starts[places[-1] + 1], kind))
    return runs


def _zeros(rows: int, columns: int, device: torch.device) -> Tensor:
    if device.type != "cpu":
        return torch.zeros(rows, columns, device=device)
    return torch.from_numpy(shared_array(rows * columns, np.float32)).view(rows, columns)


def _narrow_zeros(rows: int, columns: int) -> Tensor:
    bits = torch.from_numpy(shared_array(rows * columns, np.uint16))
    return bits.view(torch.bfloat16).view(rows, columns)
