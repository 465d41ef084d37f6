"""The choice of a device for a process."""

from __future__ import annotations

import click
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from phrasescore.commands.options import device_name
from phrasescore.errors import SettingsError
from phrasescore.model.device import choose_device, in_fitting_parts


@pytest.fixture
def four_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let torch report four CUDA devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)


@pytest.mark.usefixtures("four_devices")
def test_a_device_by_its_number() -> None:
    """An existing device can be chosen by number; torch chooses one without a number."""
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda")
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("cuda:0") == torch.device("cuda", 0)
    assert choose_device("cuda:3") == torch.device("cuda", 3)
    with pytest.raises(SettingsError, match=r"no device cuda:4: the last device is cuda:3"):
        choose_device("cuda:4")


def test_a_machine_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CUDA, auto means the CPU, and cuda is an error."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    for name in ("cuda", "cuda:1"):
        with pytest.raises(SettingsError, match="no CUDA device"):
            choose_device(name)


@pytest.mark.parametrize("name", ["cuda:", "cuda:01", "gpu", "cuda 1", "", "cuda:12345"])
def test_what_is_no_name_of_a_device(name: str) -> None:
    """The option refuses wrong names before torch is imported."""
    with pytest.raises(click.BadParameter, match="is not a device; write auto, cpu, cuda or"):
        device_name(name)


def test_a_row_that_does_not_fit() -> None:
    """A single row that does not fit is an error."""

    def fail(rows: NDArray[np.int64]) -> int:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with pytest.raises(torch.OutOfMemoryError):
        in_fitting_parts(fail, np.arange(4))
