"""Signals are handled from the start, while libraries are still being imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.fresh_process import run_fresh
from tests.support.killed import wait_for


def hears(process: int, number: signal.Signals) -> bool:
    """Return whether a process handles a signal."""
    status = Path(f"/proc/{process}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process handles")
@pytest.mark.parametrize(
    ("number", "seconds", "times"),
    [
        (signal.SIGTERM, 0.0, 1),
        (signal.SIGHUP, 0.1, 1),
        (signal.SIGINT, 0.4, 2),
        pytest.param(signal.SIGTERM, 0.2, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 0.3, 2, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 0.6, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 0.9, 2, marks=pytest.mark.slow),
    ],
)
def test_a_command_that_has_hardly_begun(
    tmp_path: Path, number: signal.Signals, seconds: float, times: int
) -> None:
    """The command prints one word and no traceback, and ends with the right status."""
    os.mkfifo(tmp_path / "table")  # nothing writes to the pipe, so the command never ends
    process = subprocess.Popen(
        [sys.executable, "-m", "phrasescore", "train", "table", "model"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    wait_for(lambda: hears(process.pid, signal.SIGTERM))
    time.sleep(seconds)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.01)
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_discards_exceptions(tmp_path: Path, number: signal.Signals) -> None:
    """Python discards what a destructor raises, but the signal still ends the program."""
    program = f"""
import os, time
from phrasescore.runs.interruption import interrupt_on_signals

class Dying:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        time.sleep(0.01)

interrupt_on_signals()
try:
    Dying()
    time.sleep(30)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run_fresh(tmp_path, program=("-c", program), timeout=60)
    assert (done.stdout, done.stderr) == (b"interrupted\n", b"")


def test_other_discarded_exceptions_are_still_reported(tmp_path: Path) -> None:
    """Python's report of a discarded exception lacks interrupts only."""
    program = """
from phrasescore.runs.interruption import interrupt_on_signals

class Dying:
    def __del__(self):
        raise ValueError("wrong")

interrupt_on_signals()
Dying()
"""
    done = run_fresh(tmp_path, program=("-c", program), timeout=60)
    assert b"ValueError: wrong" in done.stderr
