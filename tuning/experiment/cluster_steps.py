"""Commands of steps on the workers of a cluster, one at a time on each.

Workers and this process see the same files under the same names. A command ends with the task that
it is: when its worker dies, when this process ends or is killed, when all is stopped.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

from phrasescore.cluster.cluster import (
    Cluster,
    LostWorkerError,
    Task,
    cancellation_check,
    own_name,
)
from phrasescore.errors import ClusterError, InterruptedWorkError, ResumeError
from phrasescore.runs.final_names import hidden
from phrasescore.runs.lock import LOCK, is_held
from tuning.experiment.runner import SIGNALS, Ended, Job, begin, opened, send, waited_for

_LOOK = 0.5  # seconds between two looks at what is free, and at whether a command is still wanted
# a command that was killed on another machine leaves a lock that counts for ten minutes
_LOCKED, _BETWEEN = 660.0, 15.0
_SEEN = 60.0  # seconds until a file shows that another machine has made


class ClusterSteps:
    """Runs commands on workers; threads may share it.

    Args:
        cluster: The workers.
        jobs: How many commands at a time at most; ``None`` for one on each worker.
        say: Gets a line for what goes another way than wished.
    """

    def __init__(self, cluster: Cluster, jobs: int | None, say: Callable[[str], None]) -> None:
        self._cluster, self._jobs, self._say = cluster, jobs, say
        self._busy: set[str] = set()
        self._choosing = threading.Lock()
        self._running: set[Task[tuple[int, float, float]]] = set()
        self._stopped = False

    def room(self) -> int:
        """Return how many commands may run at a time."""
        workers = max(1, len(self._cluster.workers))
        return workers if self._jobs is None else min(self._jobs, workers)

    def run(self, job: Job) -> Ended:
        """Run a command to its end, on another worker if one is lost.

        Raises:
            InterruptedWorkError: All was stopped.
            ClusterError: A worker does not see the folders.
            PhrasescoreError: It could not be started.
        """
        refused_until: float | None = None
        while True:
            try:
                ended = self._run_somewhere(job)
            except LostWorkerError as error:
                self._say(f"{job.name}: {error.problem}; another one takes it")
                continue
            if ended.status != ResumeError.exit_code:
                break
            # the first time in any case: an earlier try may end between refusal and look
            if refused_until is not None and not _is_locked(job):
                break
            now = time.monotonic()
            refused_until = refused_until or now + _LOCKED
            if now > refused_until or self._stopped:
                break
            self._say(f"{job.name}: waiting for an earlier try to end")
            self._pause(_BETWEEN)
        if ended.status == 0:
            self._wait_for(job.outputs)
        return ended

    def _run_somewhere(self, job: Job) -> Ended:
        worker = self._free_worker()
        printed = None if job.printed is None else str(job.printed)
        arguments = job.name, list(job.words), str(job.folder), str(job.log), printed
        task = self._cluster.start(run_command, *arguments, worker=worker)
        try:
            with self._choosing:
                self._running.add(task)
                if self._stopped:
                    task.cancel()
            return Ended(*task.result())
        except CancelledError:
            raise InterruptedWorkError("interrupted") from None
        finally:
            with self._choosing:
                self._running.discard(task)
                self._busy.discard(worker)

    def _free_worker(self) -> str:
        """Return a worker that has nothing to do, once there is one."""
        while True:
            with self._choosing:
                for worker in sorted(self._cluster.workers):
                    if worker not in self._busy:
                        self._busy.add(worker)
                        return worker
            self._pause(_LOOK)

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._stopped:
                raise InterruptedWorkError("interrupted")
            time.sleep(min(_LOOK, seconds))

    def _wait_for(self, outputs: tuple[Path, ...]) -> None:
        """Wait until this machine sees what another one has made."""
        deadline = time.monotonic() + _SEEN
        while time.monotonic() < deadline and not self._stopped:
            if all(path.exists() for path in outputs):
                return
            time.sleep(_LOOK)

    def stop(self) -> None:
        """End what runs: workers send their commands Ctrl-C."""
        with self._choosing:
            self._stopped = True
            for task in self._running:
                task.cancel()


def _is_locked(job: Job) -> bool:
    """Tell whether a process holds the lock of something that a command makes or works in."""
    return any(
        is_held(lock)
        for path in (*job.outputs, *job.states)
        for lock in (path / LOCK, hidden(path, LOCK[1:]))
    )


def run_command(
    name: str, words: list[str], folder: str, log: str, printed: str | None
) -> tuple[int, float, float]:
    """Run a command on the worker that this is called on, as long as that is wanted.

    Returns:
        The fields of ``Ended``.

    Raises:
        ClusterError: A folder is not here.
        PhrasescoreError: It could not be started.
    """
    for place in (folder, str(Path(log).parent)):
        if not Path(place).is_dir():
            raise ClusterError(
                f"the worker {own_name()} does not see this folder",
                path=place,
                remedy="put it on a file system that all workers share, under one name",
            )
    is_unwanted = cancellation_check()
    signals = iter(SIGNALS)
    until = 0.0

    def look(process: subprocess.Popen[bytes]) -> None:
        nonlocal until
        if not is_unwanted() or time.monotonic() < until:
            return
        for number, patience in signals:
            send(process, number)
            until = time.monotonic() + patience
            return

    part = None if printed is None else Path(printed)
    job = Job(name, tuple(words), Path(folder), Path(log), part)
    with contextlib.ExitStack() as stack:
        process = begin(job, *opened(job, stack))
        ended = waited_for(process, time.monotonic(), look, _LOOK)
    return ended.status, ended.seconds, ended.cpu_seconds
