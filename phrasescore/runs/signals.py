"""Ctrl-C, SIGTERM and SIGHUP end a command alike: all three raise ``KeyboardInterrupt``.

The entry point asks for it before anything else is imported, so this module imports nothing slow.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LATER = 0.02  # seconds


def _heard() -> list[signal.Signals]:
    """Return the signals but for those that ``nohup`` or ``&`` turned off."""
    return [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _torch_is_being_read() -> bool:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _interrupt(number: int, _frame: Any) -> None:
    # torch's C++ that sets up a module aborts the process if Python raises: so a little later
    if _torch_is_being_read():
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, _LATER)
        return
    raise KeyboardInterrupt


def interrupt_on_signals() -> None:
    """Let the signals raise ``KeyboardInterrupt`` from now on."""
    for number in _heard():
        signal.signal(number, _interrupt)


def ignore_signals() -> None:
    """Let nothing disturb the last steps of a command that has been interrupted already."""
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def signals_handled(handler: Callable[[int, Any], None] = _interrupt) -> Iterator[None]:
    """Handle the signals while the block runs, by default with ``KeyboardInterrupt``."""
    before = {number: signal.getsignal(number) for number in _heard()}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
