"""Trials of ``score --cluster``: each must come to the bytes of one machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import PROJECT
from tests.support.campaigns import table_of
from tests.support.dask_clusters import DaskCluster

_BETWEEN_KILLS = 20.0  # seconds
_KILLING = 300.0  # seconds, at least, in as many runs as it takes
_STOPPED = 60.0  # seconds that a worker sleeps


@dataclass(frozen=True)
class Ground:
    """Where trials run.

    Args:
        folder: For outputs and clusters.
        table: The phrase table.
        model: The model's folder.
        reference: The output of one machine.
    """

    folder: Path
    table: Path
    model: Path
    reference: Path

    def command(self, output: Path, *more: str | Path) -> list[str]:
        """Return the call of ``score``."""
        words = [sys.executable, "-m", "phrasescore", "score", self.table, "--model", self.model]
        return [*map(str, words), "-o", str(output), *map(str, more)]

    def begin(self, output: Path, *more: str | Path) -> subprocess.Popen[bytes]:
        """Begin to score; what is said goes to a log beside the output."""
        with output.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                self.command(output, *more),
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )


@dataclass
class Result:
    """How a trial went.

    Attributes:
        what: What was tried.
        seconds: How long it took.
        misfortunes: How many there were.
        faults: What was wrong.
    """

    what: str
    seconds: float = 0.0
    misfortunes: int = 0
    faults: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, str, str, str]:
        """Return a row of the table."""
        judged = "; ".join(self.faults) or "none"
        return self.what, str(self.misfortunes), f"{self.seconds:,.0f}", judged

    def __str__(self) -> str:
        return " | ".join(self.cells())


Disturb = Callable[[DaskCluster, "subprocess.Popen[bytes]"], int]


def undisturbed(dask: DaskCluster, running: subprocess.Popen[bytes]) -> int:
    """Nothing happens."""
    running.wait()
    return 0


def workers_killed(dask: DaskCluster, running: subprocess.Popen[bytes]) -> int:
    """Kill a worker every twenty seconds, in turn, and start another in its place."""
    kills = 0
    while _runs_for(running, _BETWEEN_KILLS):
        victims = [worker for worker in dask.workers if worker.poll() is None]
        dask.kill(victims[0])
        dask.add_worker()
        kills += 1
    return kills


def worker_stopped(dask: DaskCluster, running: subprocess.Popen[bytes]) -> int:
    """Stop a worker for a minute."""
    if not _runs_for(running, 10):
        return 0
    dask.workers[0].send_signal(signal.SIGSTOP)
    try:
        _runs_for(running, _STOPPED)
    finally:
        dask.workers[0].send_signal(signal.SIGCONT)
    running.wait()
    return 1


def _runs_for(running: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(seconds)
    return running.returncode is None


def tried(
    ground: Ground,
    what: str,
    workers: list[int],
    disturb: Disturb = undisturbed,
    environment: dict[str, str] | None = None,
    at_least: float = 0.0,
) -> Result:
    """Score with some workers, each with so many threads, and let something happen.

    Again and again with the same cluster, until so many seconds are over.
    """
    result, runs = Result(what), 0
    output = _fresh(ground) / "scored.gz"
    with DaskCluster(output.parent / "cluster", workers, environment) as dask:
        begin = time.monotonic()
        while not runs or (result.seconds < at_least and not result.faults):
            output.unlink(missing_ok=True)
            running = ground.begin(output, "--cluster", dask.scheduler_file)
            try:
                result.misfortunes += disturb(dask, running)
                status = running.wait()
            finally:
                running.kill()
                running.wait()
            runs += 1
            result.seconds = time.monotonic() - begin
            _judge(ground, output, status, result)
    if at_least:
        result.what += f", {runs} runs"
    return result


def coordinator_killed(ground: Ground, what: str, times: int) -> Result:
    """Kill the coordinator so many times, each after some more blocks."""
    result = Result(what)
    output = _fresh(ground) / "scored.gz"
    journal = output.with_name(f".{output.name}.journal")
    begin = time.monotonic()
    with DaskCluster(output.parent / "cluster", [1, 1]) as dask:
        blocks = 0
        for _ in range(times):
            running = ground.begin(output, "--cluster", dask.scheduler_file)
            # the first line says what is done, each other one is a block
            while running.poll() is None and _lines(journal) <= blocks + 1:
                time.sleep(0.02)
            running.kill()
            running.wait()
            result.misfortunes += 1
            done = _lines(journal) - 1
            if output.exists() or done <= blocks:
                result.faults.append("there was no work left to interrupt")
                break
            blocks = done
        status = ground.begin(output, "--cluster", dask.scheduler_file).wait()
    result.seconds = time.monotonic() - begin
    _judge(ground, output, status, result)
    if output.with_suffix(".log").read_bytes().count(b"going on after line") != times:
        result.faults.append("a call did not go on with the work of the one before")
    return result


def _lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def _fresh(ground: Ground) -> Path:
    folder = ground.folder / "trial"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _judge(ground: Ground, output: Path, status: int, result: Result) -> None:
    if status != 0:
        said = output.with_suffix(".log").read_text("utf-8", "replace")
        result.faults.append(f"status {status}: {said[-600:]}")
    elif output.read_bytes() != ground.reference.read_bytes():
        result.faults.append("other bytes than on one machine")
    left = [path.name for path in output.parent.iterdir() if path.name.startswith(".")]
    if left:
        result.faults.append(f"left over: {', '.join(left)}")


def trials(ground: Ground, empty_cache: Path) -> dict[str, Callable[[str], Result]]:
    """Return all trials by what is tried."""
    cache = {"NUMBA_CACHE_DIR": str(empty_cache)}
    return {
        "one worker, one thread": lambda what: tried(ground, what, [1]),
        "two workers, one and two threads": lambda what: tried(ground, what, [1, 2]),
        "four workers": lambda what: tried(ground, what, [1, 1, 1, 1]),
        "two workers: one killed (kill -9) every 20 s, another joins": lambda what: tried(
            ground, what, [1, 1], workers_killed, at_least=_KILLING
        ),
        "coordinator: kill -9, 10 times, two workers": lambda what: coordinator_killed(
            ground, what, 10
        ),
        "two workers: one stopped for 60 s (SIGSTOP)": lambda what: tried(
            ground, what, [1, 1], worker_stopped
        ),
        "four workers on one empty cache of numba": lambda what: tried(
            ground, what, [1] * 4, undisturbed, cache
        ),
    }


def table(results: list[Result]) -> str:
    """Return the results as a table in Markdown."""
    head = ("what", "misfortunes", "seconds", "faults")
    return table_of([head, *(result.cells() for result in results)])
