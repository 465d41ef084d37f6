"""A signal that comes while torch is being read waits until it has been."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from phrasescore.runs.interruption import signals_handled


def test_not_while_torch_is_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch would abort the process; afterwards the interruption comes by itself."""
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
