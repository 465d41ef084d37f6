"""Which device to run on, and what it is good at."""

from __future__ import annotations

import torch

from phrasescore.errors import SettingsError


def choose_device(name: str) -> torch.device:
    """Return the device for ``auto``, ``cpu`` or ``cuda``.

    Raises:
        SettingsError: CUDA is asked for and this machine or this torch has none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError(
            "there is no CUDA device, or this torch is built without CUDA",
            remedy="use --device cpu, or install a CUDA build of torch",
        )
    return torch.device(name)


def has_fast_bf16(device: torch.device) -> bool:
    """Tell whether bfloat16 matrix products are faster than float32 ones there."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # The names below are private to torch; without them float32 is the safe answer.
    return any(
        bool(getattr(torch.cpu, name, lambda: False)())
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
