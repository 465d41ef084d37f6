"""The processes that ``torchrun`` started for one training run."""

from __future__ import annotations

import os

import torch
import torch.distributed
from torch import Tensor


class Processes:
    """The processes of this run: one, or those that ``torchrun`` started.

    Args:
        device: The device of this process.

    Attributes:
        rank: Number of this process, from 0.
        world: Number of processes.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.world = 0, 1
        self._device = device
        # RANK and WORLD_SIZE alone may be left over from something else
        if torch.distributed.is_available() and torch.distributed.is_torchelastic_launched():
            self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if self.world > 1:
            if device.type == "cuda":
                torch.cuda.set_device(device.index or 0)  # NCCL takes the current one
            torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def add_up(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes."""
        if self.world > 1:
            torch.distributed.all_reduce(tensor)

    def agree(self, value: float) -> float:
        """Return the leading process's value in every process."""
        if self.world == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self._device)
        torch.distributed.broadcast(shared, src=0)
        return float(shared.item())

    def close(self) -> None:
        """Leave the group."""
        if self.world > 1:
            torch.distributed.destroy_process_group()
