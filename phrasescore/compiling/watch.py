"""Word of compiling where it takes a while: the first run on a machine is slower than the next.

Python's collector of garbage rests meanwhile: it would go over all that numba made, time and again,
and find nothing.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from typing import Any

from numba.core import event

from phrasescore import compile_cache

_PATIENCE = 1.0  # seconds of compiling, in all, without a word


class _Watch(event.Listener):
    """What numba has compiled in this process, and how long it took."""

    def __init__(self) -> None:
        self.functions = 0
        self.seconds = self._since = 0.0
        self._depth = 0
        self._collected = self._said = False

    def on_start(self, event: Any) -> None:
        """Begin to count, and say what takes so long."""
        now = time.monotonic()
        if not self._depth:
            self._since = now
            self._collected = gc.isenabled()
            gc.disable()
        self._depth += 1
        waited = self.seconds + now - self._since
        if compile_cache.serves_a_command and not self._said and waited > _PATIENCE:
            self._said = True
            with contextlib.suppress(OSError):
                print(  # noqa: T201
                    "compiling for this machine, once per version; "
                    "`phrasescore warm-up` does it ahead",
                    file=sys.stderr,
                    flush=True,
                )

    def on_end(self, event: Any) -> None:
        """Count what has been compiled."""
        self._depth -= 1
        self.functions += 1
        if not self._depth:
            self.seconds += time.monotonic() - self._since
            if self._collected:
                gc.enable()


_watch = _Watch()


def begin() -> None:
    """Watch from now on."""
    event.register("numba:compile", _watch)


def compiling_seconds() -> float:
    """Return how long this process has compiled, rather than read from a cache."""
    return _watch.seconds


def compiled_functions() -> int:
    """Return how many functions this process has compiled, rather than read from a cache."""
    return _watch.functions
