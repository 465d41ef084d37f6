"""Work that is killed before it does one certain thing to files."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

_EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}


def killed_at(moment: int, work: Callable[[], object]) -> bool:
    """Do work in another process, killed before so many things that it does to files.

    Returns:
        Whether the process was killed; otherwise there are fewer.
    """
    child = os.fork()
    if child == 0:
        left = moment

        def count(event: str, arguments: object) -> None:
            nonlocal left
            if event in _EVENTS:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
