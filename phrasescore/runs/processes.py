"""Which process this is, how many cores it has, and whether another of this machine is there."""

from __future__ import annotations

import os
from pathlib import Path


def machine() -> tuple[str, str]:
    """Return the host's name, and which list of process ids counts: containers have their own."""
    try:
        return os.uname().nodename, str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # no Linux
        return os.uname().nodename, ""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # no Linux


def start_of(process: int) -> int | None:
    """Return when a process of this machine started, in ticks since the machine's own start.

    ``None`` if there is no such process, 0 if the time is not to be seen.
    """
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return 0
    # the name before the bracket may hold blanks; fields 3 and 22 of proc(5)
    state, *rest = stat.rpartition(b")")[2].split()
    return None if state in (b"Z", b"X") else int(rest[18])


def is_alive(process: int, started: int) -> bool:
    """Tell whether a process of this machine is there: ids are used again, with another start.

    Args:
        process: Its id.
        started: When it started, as `start_of` says; 0 if that is unknown.
    """
    found = start_of(process)
    return found is not None and (found == started or 0 in (found, started))
