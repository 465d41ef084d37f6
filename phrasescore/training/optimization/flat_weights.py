"""A model's parameters, and what an update needs beside them, each in one stretch of memory.

An optimiser works number by number and does not care where a parameter ends, so a stretch can be
cut into a part for each core. On a CPU the stretches are memory that forked processes share.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from phrasescore.model.sequence_model import SequenceModel

_ALIGNED = 16  # numbers; a parameter or part that began elsewhere would be summed in another order
_MOMENTS = 2  # that Adam and Adadelta keep of each number


def shared_array(count: int, kind: DTypeLike) -> NDArray[Any]:
    """Return zeros, ``(count,)``, that this process and those it forks see alike."""
    size = np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, max(1, count) * size), kind, count)


class FlatWeights:
    """The parameters of a model, moved into one stretch of N numbers.

    Args:
        model: On its device; from now on its parameters are views of ``values``.
        shares: How many gradients may be there at once.

    Attributes:
        parameters: Of the model, in order.
        values: ``(N,)`` float32.
        gradients: ``(shares, N)``.
        moments: ``(2, N)``, what the optimiser remembers.
    """

    def __init__(self, model: SequenceModel, shares: int) -> None:
        self.parameters = list(model.parameters())
        device = model.device
        sizes = [-(-parameter.numel() // _ALIGNED) * _ALIGNED for parameter in self.parameters]
        self._starts = [sum(sizes[:at]) for at in range(len(sizes))]
        N = sum(sizes)
        self.values = _zeros(1, N, device)[0]
        self.gradients = _zeros(shares, N, device)
        self.moments = _zeros(_MOMENTS, N, device)
        for parameter, view in zip(self.parameters, self._views(self.values), strict=True):
            view.copy_(parameter.detach())
            parameter.data = view

    def gradient_views(self, share: int) -> list[Tensor]:
        """Return a gradient as tensors of the parameters' shapes."""
        return self._views(self.gradients[share])

    def part(self, member: int, members: int) -> slice:
        """Return which numbers one of several members looks after."""
        blocks = len(self.values) // _ALIGNED
        first, end = (blocks * at // members * _ALIGNED for at in (member, member + 1))
        return slice(first, end)

    def _views(self, flat: Tensor) -> list[Tensor]:
        return [
            flat[start : start + parameter.numel()].view(parameter.shape)
            for start, parameter in zip(self._starts, self.parameters, strict=True)
        ]


def _zeros(rows: int, columns: int, device: torch.device) -> Tensor:
    if device.type != "cpu":
        return torch.zeros(rows, columns, device=device)
    return torch.from_numpy(shared_array(rows * columns, np.float32)).view(rows, columns)
