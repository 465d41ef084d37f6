"""Real Dask clusters on this machine, with a scheduler and workers as separate processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phrasescore.runs import processes
from tests.conftest import PROJECT
from tests.support.killed import wait_for


def require_dask() -> Any:
    """Return ``dask``; skip the test if the extra ``cluster`` is not installed."""
    reason = "needs the extra: pip install 'phrasescore[cluster]'"
    pytest.importorskip("distributed", reason=reason)
    return pytest.importorskip("dask", reason=reason)


class DaskCluster:
    """A scheduler and workers; use it in a ``with`` block.

    Args:
        folder: A new folder for the cluster's files.
        workers: The number of threads of each initial worker.
        environment: Environment variables to add for the scheduler and the workers.

    Attributes:
        workers: The processes of all workers, including workers that have ended.
    """

    def __init__(
        self, folder: Path, workers: Sequence[int] = (), environment: dict[str, str] | None = None
    ) -> None:
        self.folder, self._first, self._environment = folder, workers, environment or {}
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def scheduler_file(self) -> Path:
        """The argument of ``--cluster``."""
        return self.folder / "scheduler.json"

    def __enter__(self) -> DaskCluster:
        self.folder.mkdir(parents=True)
        self._scheduler = self._started(
            "scheduler",
            *("--scheduler-file", str(self.scheduler_file), "--host", "127.0.0.1", "--port", "0"),
        )
        for threads in self._first:
            self.add_worker(threads)
        try:
            wait_for(self.scheduler_file.exists)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add_worker(self, threads: int = 1) -> subprocess.Popen[bytes]:
        """Start one more worker, without waiting until it joins."""
        place = self.folder / f"worker{len(self.workers)}"
        worker = self._started(
            "worker",
            *("--scheduler-file", str(self.scheduler_file), "--host", "127.0.0.1"),
            *("--nthreads", str(threads), "--nworkers", "1", "--no-nanny"),
            *("--local-directory", str(place), "--memory-limit", "0"),
        )
        self.workers.append(worker)
        return worker

    def _started(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self.folder / f"{what}.log"
        with log.open("ab") as said:
            return processes.start(
                [
                    *(sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"),
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "PYTHONPATH": str(PROJECT), **self._environment},
            )

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a worker with SIGKILL."""
        worker.kill()
        worker.wait()

    def end_scheduler(self) -> None:
        """Kill the scheduler with SIGKILL."""
        self._scheduler.kill()
        self._scheduler.wait()

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self._scheduler):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
