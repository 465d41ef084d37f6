"""Signals are held back while torch is being imported."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from phrasescore.runs.interruption import signals_handled


def test_not_while_torch_is_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """During the import torch would abort the process; the signal is handled afterwards."""
    half_read = ModuleType("torch")
    spec = SimpleNamespace(_initializing=True)
    monkeypatch.setattr(half_read, "__spec__", spec)
    monkeypatch.setitem(sys.modules, "torch", half_read)
    with signals_handled():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
        spec._initializing = False
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
