"""Other programs, which end when this process does: on Linux even if that is killed.

The kernel kills them, and what they started in the same way with them. Elsewhere a program
outlives a parent that is killed with kill -9.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).with_name("bound_program.py")
_LONGEST_REPORT = 16


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program that does not outlive the thread that calls this.

    Args:
        command: The program and its arguments.
        options: As for ``subprocess.Popen``, which itself would leave orphans.

    Raises:
        OSError: The program cannot be started, as with ``subprocess.Popen``.
    """
    if sys.platform != "linux":
        return subprocess.Popen(command, **options)
    failed, report = os.pipe()
    with os.fdopen(failed, "rb") as reading:
        try:
            process = subprocess.Popen(
                [*_bound(report), *command],
                pass_fds=(*options.pop("pass_fds", ()), report),
                **options,
            )
        finally:
            os.close(report)
        # empty once the script has turned into the program
        number = reading.read(_LONGEST_REPORT)
    if number:
        process.communicate()
        raise OSError(int(number), os.strerror(int(number)), command[0])
    return process


def _bound(report: int) -> list[str]:
    # Python ignores them, and what a process ignores is ignored by what it turns into
    signals = f"{signal.SIGPIPE:d},{signal.SIGXFSZ:d}"
    return [sys.executable, "-I", "-S", str(_SCRIPT), str(os.getpid()), str(report), signals]


def run(
    command: Sequence[str], *, timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; it is killed if that is not waited for.

    Args:
        command: The program and its arguments.
        timeout: In seconds.
        options: As for ``subprocess.Popen``.

    Raises:
        OSError: The program cannot be started.
        subprocess.TimeoutExpired: It took too long.
    """
    with start(command, **options) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
