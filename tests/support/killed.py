"""Commands that are killed in the middle of their work."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.warm_process import Observed, Started, die_at


def kill_when(
    is_so: Callable[[], bool], process: Started, number: signal.Signals = signal.SIGKILL
) -> Observed:
    """Wait for a condition while a process runs, kill the process, and return its status."""
    wait_for(lambda: is_so() or not process.is_running)
    assert is_so(), process.wait().errors.decode()
    process.send_signal(number)
    return process.wait()


def blocks_done(output: Path) -> int:
    """Return the number of blocks of an interrupted output, according to its journal."""
    journal = output.with_name(f".{output.name}.journal")
    return int(json.loads(journal.read_bytes())["blocks"]) if journal.exists() else 0


def killed_at(moment: int, work: Callable[[], object]) -> bool:
    """Do work in another process, which is killed after ``moment`` changes to folders.

    Returns:
        Whether the process was killed; if not, it made no further change.
    """
    child = os.fork()
    if child == 0:
        die_at(moment + 1)
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + 120  # a busy machine takes long to start Python
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
