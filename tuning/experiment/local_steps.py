"""Commands of steps as processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from phrasescore.errors import InterruptedWorkError, PhrasescoreError
from phrasescore.runs import processes
from phrasescore.runs.final_names import own_file
from phrasescore.runs.processes import phrasescore_command
from tuning.experiment.command import PROGRAM

# Ctrl-C lets a command save its state; one that does not end is ended
SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True)
class Job:
    """A command that is to run.

    Args:
        name: Of its step.
        words: The program and its arguments.
        folder: Where it runs.
        log: Gets what it says.
        printed: Gets what it prints; ``None`` for the log.
        outputs: What is there when it has ended well.
    """

    name: str
    words: tuple[str, ...]
    folder: Path
    log: Path
    printed: Path | None
    outputs: tuple[Path, ...]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, seconds by the clock and of the processor."""

    status: int
    seconds: float
    cpu_seconds: float


class LocalSteps:
    """Runs commands on this machine; threads may share it.

    Args:
        jobs: How many at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped = False
        self._starting = threading.Lock()

    def room(self) -> int:
        """Return how many commands may run at a time."""
        return self._jobs

    def run(self, job: Job) -> Ended:
        """Run a command to its end.

        Raises:
            InterruptedWorkError: All was stopped before it began.
            PhrasescoreError: It could not be started.
        """

        def starting() -> subprocess.Popen[bytes]:
            # stopping everything must not miss a process between its start and its entry
            with self._starting:
                if self._stopped:
                    raise InterruptedWorkError("interrupted")
                return self._running.setdefault(job.name, begin(job, said, printed))

        with contextlib.ExitStack() as stack:
            said, printed = opened(job, stack)
            try:
                return waited_for(starting(), time.monotonic(), lambda process: None, 0)
            finally:
                self._running.pop(job.name, None)

    def stop(self) -> None:
        """End what runs."""
        with self._starting:
            self._stopped = True
        for number, patience in SIGNALS:
            # another Ctrl-C ends the patience
            with contextlib.suppress(KeyboardInterrupt):
                self._send(number, patience)

    def _send(self, number: signal.Signals, patience: float) -> None:
        """Send a signal to what runs; wait so many seconds for the end."""
        for process in list(self._running.values()):
            send(process, number)
        end = time.monotonic() + patience
        while self._running and time.monotonic() < end:
            time.sleep(0.05)


def opened(job: Job, stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """Open what a command says and prints into, until the stack is left."""
    said = stack.enter_context(own_file(job.log, os.O_APPEND))
    if job.printed is None:
        return said, said
    return said, stack.enter_context(own_file(job.printed, os.O_TRUNC))


def begin(job: Job, said: IO[bytes], printed: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a command.

    Raises:
        PhrasescoreError: It could not be started.
    """
    try:
        return processes.start(
            phrasescore_command(job.words[1:]) if job.words[0] == PROGRAM else job.words,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=said,
            cwd=job.folder,
            start_new_session=True,
        )
    except OSError as error:
        raise PhrasescoreError(
            f"the step {job.name} could not be started ({error.strerror})", path=job.words[0]
        ) from None


def send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a command and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def waited_for(
    process: subprocess.Popen[bytes],
    began: float,
    look: Callable[[subprocess.Popen[bytes]], None],
    every: float,
) -> Ended:
    """Wait for the end of a command.

    Args:
        process: It.
        began: When, on the clock that only goes forward.
        look: Called now and then while it runs.
        every: After how many seconds; 0 for never.
    """
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if every else 0)
        if pid:
            break
        look(process)
        time.sleep(every)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, cpu_seconds = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    return Ended(process.returncode, round(seconds, 1), round(cpu_seconds, 1))
