"""One process at a time writes to the cache of compiled functions.

numba numbers the files of a function without a lock: two processes that compile it for different
types at the same time can leave the code of one under the name of the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from typing import Any

from numba.core import event

from phrasescore import compile_cache


class _CacheLock(event.Listener):
    """Holds a lock while numba saves: after a function is compiled, until numba's own lock ends."""

    def __init__(self) -> None:
        self._thread = threading.local()

    def on_start(self, event: Any) -> None:
        """Do nothing: compiling side by side is fine."""

    def on_end(self, event: Any) -> None:
        """Take the lock after a function is compiled, give it back after it is saved."""
        if event.kind == "numba:compile":
            self._acquire()
        elif (held := getattr(self._thread, "held", None)) is not None:
            self._thread.held = None
            os.close(held)

    def _acquire(self) -> None:
        # without the folder nothing is saved, and some file systems have no locks
        with contextlib.suppress(OSError):
            held = os.open(compile_cache.chosen_folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
            self._thread.held = held
            fcntl.flock(held, fcntl.LOCK_EX)


def begin() -> None:
    """Lock the cache from now on, whenever a function is saved."""
    lock = _CacheLock()
    for kind in ("numba:compile", "numba:compiler_lock"):
        event.register(kind, lock)
