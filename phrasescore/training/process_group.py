"""Which of the processes of a run this one is, as ``torchrun`` says it in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

import torch.distributed

from phrasescore.errors import SettingsError

_REMEDY = "start several processes with torchrun; for one, unset RANK and WORLD_SIZE"
_MOST = 1 << 20  # processes


def rank_and_world(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return the number of this process, from 0, and how many there are.

    Raises:
        SettingsError: RANK and WORLD_SIZE are no such numbers, or only one of them is set.
    """
    known = {name: environment.get(name, "") for name in ("RANK", "WORLD_SIZE")}
    if not any(known.values()):
        return 0, 1
    for name, value in known.items():
        if not value:
            raise SettingsError(f"{name} is not set, and the other of the two is", remedy=_REMEDY)
        if not (value.isascii() and value.isdecimal() and len(value) < len(str(_MOST))):
            raise SettingsError(f"{name} is {value[:50]!r}, expected a number", remedy=_REMEDY)
    rank, world = int(known["RANK"]), int(known["WORLD_SIZE"])
    if rank >= world:
        raise SettingsError(
            f"RANK is {rank} and WORLD_SIZE {world}, but ranks are counted from 0", remedy=_REMEDY
        )
    return rank, world


def join_group(backend: str) -> None:
    """Find the other processes.

    Raises:
        SettingsError: The environment does not say where, or they do not answer.
    """
    try:
        torch.distributed.init_process_group(backend)
    except (ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise SettingsError(
            f"the processes of this run cannot find each other ({reason})", remedy=_REMEDY
        ) from None
