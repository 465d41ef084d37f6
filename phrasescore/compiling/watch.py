"""What a process does while numba compiles: it takes turns with others, and says so if it is long.

numba numbers the files of its cache without a lock, so two processes that compile one function for
different types could leave the code of one under the name of the other. It looks into the cache
behind its own lock, and reports that lock: a process that waits here until another one has compiled
finds the function there and loads it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import sys
import threading
import time
from typing import Any

from phrasescore import compile_cache
from phrasescore.runs import terminal

_PATIENCE = 1.0  # seconds of compiling, in all, without a word
_LONGEST_TURN = 600.0  # a process that was stopped must not stop the others for good
_PAUSE = 0.01


class _Watch:
    """Counts what this process compiles, and prints one line when it takes longer than a second.

    Python's garbage collector rests meanwhile: it would search all that numba made, time and again,
    and find nothing.
    """

    def __init__(self) -> None:
        self.functions = 0
        self.seconds = self._since = 0.0
        self._depth = 0
        self._collected = self._said = False

    def on_start(self) -> None:
        """Begin to count when numba begins to compile a function."""
        if not self._depth:
            self._since = time.monotonic()
            self._collected = gc.isenabled()
            gc.disable()
        self._depth += 1
        self.tell(self.seconds + time.monotonic() - self._since)

    def on_end(self) -> None:
        """Count what has been compiled."""
        self._depth -= 1
        self.functions += 1
        if not self._depth:
            self.seconds += time.monotonic() - self._since
            if self._collected:
                gc.enable()

    def tell(self, seconds: float) -> None:
        """Print the message, once, if the user has waited for so long."""
        if terminal.serves_a_command and not self._said and seconds > _PATIENCE:
            self._said = True
            with contextlib.suppress(OSError):
                print(  # noqa: T201
                    "compiling for this machine, once per version; "
                    "`phrasescore warm-up` does it ahead",
                    file=sys.stderr,
                    flush=True,
                )


class _Turns:
    """Holds a lock file from before numba looks into its cache until it has saved there."""

    def __init__(self) -> None:
        self._threads = threading.Lock()
        self._depth = 0  # functions compile others; threads wait for numba's lock behind this one
        self._file = -1

    def on_start(self) -> None:
        """Wait for the other processes."""
        with self._threads:
            if not self._depth:
                self._file = _locked()
            self._depth += 1

    def on_end(self) -> None:
        """Let the next process go on."""
        with self._threads:
            self._depth -= 1
            if not self._depth and self._file >= 0:
                os.close(self._file)
                self._file = -1


def _locked() -> int:
    """Return the lock file, opened and locked, or -1 where that cannot be done."""
    try:
        file = os.open(compile_cache.chosen_folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # the folder is gone, so nothing can be saved
        return -1
    began = time.monotonic()
    with contextlib.suppress(OSError):  # some file systems have no locks
        while time.monotonic() - began < _LONGEST_TURN:
            try:
                # this kind of lock is not inherited by a process forked meanwhile
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except (BlockingIOError, PermissionError):
                _watch.tell(time.monotonic() - began)
                time.sleep(_PAUSE)
    return file


_watch = _Watch()


def begin() -> None:
    """Watch and take turns from now on; without numba's events there is no message and no turn."""
    with contextlib.suppress(ImportError, AttributeError):
        from numba.core import event

        class Listener(event.Listener):
            def __init__(self, own: _Watch | _Turns) -> None:
                self._own = own

            def on_start(self, event: Any) -> None:
                self._own.on_start()

            def on_end(self, event: Any) -> None:
                self._own.on_end()

        event.register("numba:compile", Listener(_watch))
        event.register("numba:compiler_lock", Listener(_Turns()))


def compiling_seconds() -> float:
    """Return how long this process has compiled, rather than read from a cache."""
    return _watch.seconds


def compiled_functions() -> int:
    """Return how many functions this process has compiled, rather than read from a cache."""
    return _watch.functions
