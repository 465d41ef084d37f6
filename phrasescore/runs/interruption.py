"""Ctrl-C, SIGTERM and SIGHUP end a command alike: all three raise ``KeyboardInterrupt``.

Work ends in order, and a sentence says how to continue. The entry point asks for the signals before
anything else is imported, so this module imports nothing slow at its top.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
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


@contextlib.contextmanager
def interruptible(path: str | Path | None = None, *, without: str = "") -> Iterator[None]:
    """Let SIGTERM and SIGHUP act like Ctrl-C while the block runs.

    Args:
        path: Where the work is kept, for the error.
        without: An option that would start again, to be left out when the command is repeated.

    Raises:
        InterruptedWorkError: For a ``KeyboardInterrupt`` in the block, with the command to type.
    """
    with signals_handled():
        try:
            yield
        except KeyboardInterrupt:
            import shlex  # here, as signals must be heard before slow imports

            from phrasescore.errors import InterruptedWorkError

            words = [word for word in sys.argv[1:] if word != without]
            raise InterruptedWorkError(
                "stopped; what is done is kept",
                path=path,
                remedy=f"to continue, type: {shlex.join(['phrasescore', *words])}",
            ) from None


class StopRequest:
    """Notes a signal, for work that must come to a good place before it stops.

    Attributes:
        made: Whether a signal came; the second one raises ``KeyboardInterrupt`` at once.
    """

    def __init__(self) -> None:
        self.made = False

    def listening(self) -> contextlib.AbstractContextManager[None]:
        """Note signals while the block runs."""
        return signals_handled(self._note)

    def _note(self, number: int, _frame: Any) -> None:
        if self.made:
            raise KeyboardInterrupt
        self.made = True
