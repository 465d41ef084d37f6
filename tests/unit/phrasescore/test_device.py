"""Which device a process gets."""

from __future__ import annotations

import pytest
import torch

from phrasescore.device import choose_device
from phrasescore.errors import SettingsError


@pytest.fixture
def four_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with four CUDA devices, as far as torch says."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)


@pytest.mark.usefixtures("four_devices")
@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_each_process_of_torchrun_has_a_device_of_its_own(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """LOCAL_RANK counts the processes of a machine; without it there is but one process."""
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert choose_device(name) == torch.device("cuda")
    for rank in range(4):
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        assert choose_device(name) == torch.device("cuda", rank)
        assert choose_device("cpu") == torch.device("cpu")
    monkeypatch.setenv("LOCAL_RANK", "4")
    with pytest.raises(SettingsError, match=r"more processes than CUDA devices, .* has 4"):
        choose_device(name)


def test_a_machine_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Auto means the CPU there, and CUDA is an error."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(SettingsError, match="no CUDA device"):
        choose_device("cuda")
