"""Signals are held back while torch is being imported, and while numba loads machine code."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest
from numba.core.compiler_lock import global_compiler_lock

import phrasescore.compiled  # noqa: F401 - watches numba
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


def test_not_while_machine_code_is_loaded() -> None:
    """An exception in the midst of LLVM's code can crash the process."""
    with signals_handled():
        with global_compiler_lock:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
