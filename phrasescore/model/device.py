"""Chooses a device, reports its abilities, and spreads work over its cores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from phrasescore.errors import SettingsError
from phrasescore.runs.identity import machine

Found = TypeVar("Found")


def choose_device(name: str) -> torch.device:
    """Return the device for ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Raises:
        SettingsError: The name is invalid, or there is no such CUDA device.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,4})?", name):
        raise SettingsError(
            f"{name[:30]!r} is not a device", remedy="give auto, cpu, cuda or cuda:1"
        )
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise SettingsError(
            "there is no CUDA device, or this torch is built without CUDA",
            remedy="choose the device cpu, or install a CUDA build of torch",
        )
    number = name.partition(":")[2]
    if number and int(number) >= torch.cuda.device_count():
        raise SettingsError(
            f"there is no device cuda:{number}: the last device is "
            f"cuda:{torch.cuda.device_count() - 1}",
            remedy="name one that nvidia-smi lists and CUDA_VISIBLE_DEVICES does not hide",
        )
    return torch.device("cuda", int(number)) if number else torch.device("cuda")


def processor_of(device: torch.device) -> str:
    """Return the product name of the processor or GPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return str(machine()["processor"])


class Cores:
    """Threads that compute on one core each; they start when there is work.

    On some processors the last digits of a matrix product depend on the number of cores that share
    it. Here a single core computes each group of rows, so results depend only on the group. Threads
    are kept until :meth:`rest` ends them, because each new thread would leak memory.

    Args:
        device: The device that computes. For a CPU, there are as many threads as torch uses.
        for_gpu: Number of threads for a GPU.
    """

    def __init__(self, device: torch.device, for_gpu: int = 1) -> None:
        self.count = torch.get_num_threads() if device.type == "cpu" else for_gpu
        self._pool: ThreadPoolExecutor | None = None

    def each(
        self, work: Callable[[NDArray[np.int64]], Found], groups: Iterable[NDArray[np.int64]]
    ) -> Iterator[list[tuple[NDArray[np.int64], Found]]]:
        """Work on groups of rows; yield each group's result of `in_fitting_parts`, in order."""

        def alone(rows: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], Found]]:
            torch.set_num_threads(1)
            return in_fitting_parts(work, rows)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count)
        before = torch.get_num_threads()
        try:
            yield from self._pool.map(alone, groups)
        finally:
            torch.set_num_threads(before)

    def rest(self) -> None:
        """End the threads; further work starts new threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def has_fast_bf16(device: torch.device) -> bool:
    """Tell whether bfloat16 matrix products are faster than float32 ones on a device."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # the names below are private to torch; if they do not exist, float32 is the safe choice
    return any(
        bool(getattr(torch.cpu, name, lambda: False)())
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )


def in_fitting_parts(
    work: Callable[[NDArray[np.int64]], Found], rows: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], Found]]:
    """Call ``work`` for the rows; halve them until each part fits into GPU memory.

    Returns:
        The parts in order, each with its result; usually a single part.

    Raises:
        torch.OutOfMemoryError: A single row does not fit.
    """
    try:
        return [(rows, work(rows))]
    except torch.OutOfMemoryError:
        if len(rows) < 2:
            raise
    # outside of the except block: inside, the traceback keeps the tensors of the failed work alive
    torch.cuda.empty_cache()
    halves = np.array_split(rows, 2)
    return [found for half in halves for found in in_fitting_parts(work, half)]
