"""Runs the commands of steps on the workers of a cluster, one command at a time on each worker.

Workers and this process must see the same files under the same names. A command never outlives its
task, which ends when the worker dies, when this process exits or is killed, or when the experiment
is stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

from phrasescore.cluster.cluster import Cluster, LostWorkerError, Task, cancellation_check, own_name
from phrasescore.errors import ClusterError, InterruptedWorkError, ResumeError
from tuning.experiment.plan import CommandStep
from tuning.experiment.runner import run_command

_LOOK = 0.5  # seconds between two checks for free workers and new files
# seconds to wait for a lock, and between attempts: after a command on another machine was killed,
# a network file system may keep the command's lock for ten minutes
_LOCKED, _BETWEEN = 660.0, 15.0
_SEEN = 60.0  # maximum seconds until a file from another machine is visible here


class ClusterSteps:
    """Runs commands on workers; threads may share it.

    Args:
        cluster: The workers.
        jobs: The maximum number of commands at a time; ``None`` for one per worker.
        say: Prints a line for each retry.
    """

    def __init__(self, cluster: Cluster, jobs: int | None, say: Callable[[str], None]) -> None:
        self._cluster, self._jobs, self._say = cluster, jobs, say
        self._busy: set[str] = set()
        self._choosing = threading.Lock()
        self._running: set[Task[int]] = set()
        self._stopped = False

    def room(self) -> int:
        """Return how many commands may run at a time."""
        workers = max(1, len(self._cluster.workers))
        return workers if self._jobs is None else min(self._jobs, workers)

    def run(self, step: CommandStep, folder: Path, log: Path) -> int:
        """Run a step's command to its end; if its worker is lost, retry on another worker.

        Raises:
            InterruptedWorkError: The experiment was stopped.
            ClusterError: A worker does not see the folders.
            PhrasescoreError: The command could not be started.
        """
        locked_until = 0.0
        while True:
            try:
                status = self._run_somewhere(step, folder, log)
            except LostWorkerError as error:
                self._say(f"{step.name}: {error.problem}; running it on another worker")
                locked_until = time.monotonic() + _LOCKED
                continue
            if status != ResumeError.exit_code or time.monotonic() > locked_until:
                break
            self._say(f"{step.name}: waiting for an earlier try to end")
            self._wait(lambda: False, _BETWEEN)
        if status == 0:
            outputs = [path for path in step.outputs if path != step.work.standard_output]
            self._wait(lambda: all(path.exists() for path in outputs), _SEEN)
        return status

    def _run_somewhere(self, step: CommandStep, folder: Path, log: Path) -> int:
        worker = self._free_worker()
        task = self._cluster.start(run_on_worker, step, folder, log, worker=worker)
        try:
            with self._choosing:
                self._running.add(task)
                if self._stopped:
                    task.cancel()
            return task.result()
        except CancelledError:
            raise InterruptedWorkError("interrupted") from None
        finally:
            with self._choosing:
                self._running.discard(task)
                self._busy.discard(worker)

    def _free_worker(self) -> str:
        """Wait for an idle worker and return its address."""
        while True:
            with self._choosing:
                for worker in sorted(self._cluster.workers):
                    if worker not in self._busy:
                        self._busy.add(worker)
                        return worker
            self._wait(lambda: False, _LOOK)

    def _wait(self, is_over: Callable[[], bool], seconds: float) -> None:
        """Wait until ``is_over`` returns true, at most for ``seconds``.

        Raises:
            InterruptedWorkError: The experiment was stopped.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not is_over():
            if self._stopped:
                raise InterruptedWorkError("interrupted")
            time.sleep(min(_LOOK, seconds))

    def stop(self) -> None:
        """End the running commands; their workers interrupt them like Ctrl-C."""
        with self._choosing:
            self._stopped = True
            for task in self._running:
                task.cancel()


def run_on_worker(step: CommandStep, folder: Path, log: Path) -> int:
    """Run a step's command on this worker; end the command if its task is cancelled.

    Raises:
        ClusterError: This machine does not see a folder.
        PhrasescoreError: The command could not be started.
    """
    for place in (folder, log.parent):
        if not place.is_dir():
            raise ClusterError(
                f"the worker {own_name()} does not see this folder",
                path=place,
                remedy="put it on a file system that all workers share, under one name",
            )
    is_cancelled = cancellation_check()
    return run_command(step, folder, log, lambda: int(is_cancelled()))
