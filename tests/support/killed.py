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
    """Wait until something is so, while a process runs; kill it, and return how it ended."""
    deadline = time.monotonic() + 120
    while not is_so():
        assert process.is_running, process.wait().errors.decode()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(number)
    return process.wait()


def kill_when_blocks_are_done(process: Started, folder: Path, output: str, blocks: int = 1) -> None:
    """Kill -9 a process when its journal has so many blocks.

    Args:
        process: It has just been started.
        folder: Where it runs.
        output: What it writes; it must not have its name yet when the process is dead.
        blocks: How many blocks to wait for.
    """
    kill_when(lambda: blocks_done(folder / output) >= blocks, process)
    assert not (folder / output).exists()


def blocks_done(output: Path) -> int:
    """Return how many blocks an interrupted output has, according to its journal."""
    journal = output.with_name(f".{output.name}.journal")
    return int(json.loads(journal.read_bytes())["blocks"]) if journal.exists() else 0


def killed_at(moment: int, work: Callable[[], object]) -> bool:
    """Do work in another process, which is killed before it changes a folder for that time.

    Returns:
        Whether the process was killed; otherwise it changes folders fewer times.
    """
    child = os.fork()
    if child == 0:
        die_at(moment + 1)
        work()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
