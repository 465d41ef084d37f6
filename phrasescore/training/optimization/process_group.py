"""The processes that ``torchrun`` started for one training run."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch
import torch.distributed
from torch import Tensor

from phrasescore.errors import SettingsError

_REMEDY = "start several processes with torchrun; for one, unset RANK and WORLD_SIZE"
_MAX_PROCESSES = 1 << 20


def rank_and_world(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return the rank of this process, from 0, and the number of processes.

    Raises:
        SettingsError: RANK or WORLD_SIZE is not a valid number, or only one of them is set.
    """
    known = {name: environment.get(name, "") for name in ("RANK", "WORLD_SIZE")}
    if not any(known.values()):
        return 0, 1
    for name, value in known.items():
        if not value:
            raise SettingsError(f"{name} is not set, and the other of the two is", remedy=_REMEDY)
        if not (value.isascii() and value.isdecimal() and len(value) < len(str(_MAX_PROCESSES))):
            raise SettingsError(f"{name} is {value[:50]!r}, expected a number", remedy=_REMEDY)
    rank, world = int(known["RANK"]), int(known["WORLD_SIZE"])
    if rank >= world:
        raise SettingsError(
            f"RANK is {rank} and WORLD_SIZE {world}, but ranks are counted from 0", remedy=_REMEDY
        )
    return rank, world


def join_group(backend: str) -> None:
    """Join the other processes.

    Raises:
        SettingsError: The environment has no address, or the others do not answer.
    """
    try:
        torch.distributed.init_process_group(backend)
    except (ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise SettingsError(
            f"the processes of this run cannot find each other ({reason})", remedy=_REMEDY
        ) from None


class Processes:
    """The processes of this run: one, or those that ``torchrun`` started.

    Args:
        device: The device of this process.

    Raises:
        SettingsError: The environment is contradictory, or the processes cannot be joined.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.world = rank_and_world()
        self._device = device
        if self.world > 1 and not torch.distributed.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(device.index or 0)  # NCCL takes the current one
            join_group("nccl" if device.type == "cuda" else "gloo")

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
