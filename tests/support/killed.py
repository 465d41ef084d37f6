"""Commands that are killed in the middle of their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from phrasescore.processes import start_of
from tests.support.warm_process import PROJECT


def kill_when_blocks_are_done(
    command: Sequence[str], folder: Path, output: str, blocks: int = 1
) -> None:
    """Start ``phrasescore COMMAND``, and kill -9 it when its journal has so many blocks.

    Args:
        command: Its arguments.
        folder: Where it runs.
        output: What it writes; it must not have its name yet when the process is dead.
        blocks: How many blocks to wait for.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "phrasescore", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.DEVNULL,
    )
    journal = folder / f".{output}.journal"
    deadline = time.monotonic() + 120
    # its first line says what is done
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 1 + blocks):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / output).exists()


def is_running(process: int) -> bool:
    """Tell whether a process of this machine is there and no zombie."""
    return start_of(process) is not None


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
