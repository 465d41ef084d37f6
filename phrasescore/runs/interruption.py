"""Handles Ctrl-C, SIGTERM and SIGHUP, which all raise ``KeyboardInterrupt``.

Interrupted work saves its state, and a message says how to continue. The entry point installs the
handlers before it imports anything else, so this module has no slow imports at its top.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_RETRY = 0.02  # seconds until a postponed signal is handled again


def _active_signals() -> list[signal.Signals]:
    """Return the signals that are not ignored; ``nohup`` and ``&`` make a program ignore some."""
    return [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _torch_is_loading() -> bool:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


# Conditions under which an exception could crash the C++ code of a library.
postponed_while: list[Callable[[], bool]] = [_torch_is_loading]


def _interrupt(number: int, _frame: object) -> None:
    if any(condition() for condition in postponed_while):
        _interrupt_later()
        return
    raise KeyboardInterrupt


def _interrupt_later() -> None:
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _RETRY)


def _keep_interrupt(lost: sys.UnraisableHookArgs) -> None:
    # Python discards what is raised in a destructor or in a callback, such as those of imports.
    if isinstance(lost.exc_value, KeyboardInterrupt):
        _interrupt_later()
    else:
        sys.__unraisablehook__(lost)


def interrupt_on_signals() -> None:
    """Let the signals raise ``KeyboardInterrupt`` from now on."""
    sys.unraisablehook = _keep_interrupt
    for number in _active_signals():
        signal.signal(number, _interrupt)


def ignore_signals() -> None:
    """Ignore further signals during the last steps of an interrupted command."""
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def signals_handled(handler: Callable[[int, object], None] = _interrupt) -> Iterator[None]:
    """Handle the signals while the block runs, by default with ``KeyboardInterrupt``."""
    before = {number: signal.getsignal(number) for number in _active_signals()}
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
        path: The file or folder that keeps the work, for the error.
        without: An option that would discard the work; the suggested command does not contain it.

    Raises:
        InterruptedWorkError: Raised instead of ``KeyboardInterrupt``; suggests a command to type.
    """
    with signals_handled():
        try:
            yield
        except KeyboardInterrupt:
            import shlex  # not above, because handlers are installed before slow imports

            from phrasescore.errors import InterruptedWorkError

            words = [word for word in sys.argv[1:] if word != without]
            raise InterruptedWorkError(
                "stopped; finished work is kept",
                path=path,
                remedy=f"to continue, type: {shlex.join(['phrasescore', *words])}",
            ) from None


@contextlib.contextmanager
def stop_requests() -> Iterator[Sequence[int]]:
    """Collect signals while the block runs, for work that must reach a consistent state first.

    Yields:
        The numbers of the signals that have arrived. The second raises ``KeyboardInterrupt``.
    """
    arrived: list[int] = []

    def note(number: int, _frame: object) -> None:
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    with signals_handled(note):
        yield arrived
