"""Stops and kills workers and the coordinator of ``score --cluster``.

The model is small and random. The table is generated, large enough for runs of the requested
length. Each trial must write the same bytes as one machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phrasescore.runs.final_names import open_output
from tests.conftest import PROJECT
from tests.support.campaigns import Result, is_wanted, run
from tests.support.dask_clusters import DaskCluster
from tests.support.killed import blocks_done
from tests.support.random_models import save_random_model

_WORDS = [b"w%03d" % number for number in range(500)]
_TRIAL = 200_000  # lines to measure the speed of this machine
_BETWEEN_KILLS, _STOPPED = 20.0, 60.0  # seconds
_KILLING = 300.0  # minimum seconds, over several runs if necessary
_COORDINATORS = 10  # the number of coordinators to kill


def write_table(path: Path, lines: int) -> None:
    """Write a phrase table of random pairs, grouped by source."""
    rng = np.random.default_rng(19)
    phrases = [b" ".join(_WORDS[i] for i in rng.integers(0, 500, n % 6 + 1)) for n in range(30_000)]
    with open_output(path) as stream:
        for number in range(0, lines, 4):
            source, *targets = rng.integers(0, len(phrases), 5).tolist()
            for target in targets:
                pair = phrases[source], phrases[target], number + 1
                stream.write(b"%s ||| %s ||| 0.5 %g ||| 0-0 ||| 1 1 1\n" % pair)


@dataclass(frozen=True)
class Ground:
    """A folder for trials, with the table, the model and the output of one machine."""

    folder: Path

    @property
    def output(self) -> Path:
        """The path of a trial's output."""
        return self.folder / "trial" / "scored.gz"

    def score(self, output: Path, *more: str | Path) -> subprocess.Popen[bytes]:
        """Start to score; messages go to a log next to the output."""
        words = ["score", self.folder / "table.gz", "--model", self.folder / "model", "-o", output]
        with output.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "phrasescore", *map(str, words), *map(str, more)],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )

    def alone(self) -> tuple[float, float]:
        """Score on this machine; return the seconds, and the pairs per second."""
        report = self.folder / "report.json"
        reference = self.folder / "reference.gz"
        assert self.score(reference, "--threads", "2", "--json-file", report).wait() == 0
        told = json.loads(report.read_bytes())
        return told["seconds"], told["pairs_per_second"]

    @contextlib.contextmanager
    def cluster(self, workers: int, **environment: str) -> Iterator[DaskCluster]:
        """Start workers with one thread each, and an empty folder for a trial."""
        shutil.rmtree(self.output.parent, ignore_errors=True)
        self.output.parent.mkdir(parents=True)
        with DaskCluster(self.output.parent / "cluster", [1] * workers, environment) as dask:
            yield dask

    def faults(self, status: int) -> list[str]:
        """Return the faults of an output."""
        faults = []
        log = self.output.with_suffix(".log").read_text("utf-8", "replace")
        if status != 0:
            faults.append(f"status {status}: {log[-600:]}")
        elif self.output.read_bytes() != (self.folder / "reference.gz").read_bytes():
            faults.append("other bytes than on one machine")
        left = [path.name for path in self.output.parent.iterdir() if path.name.startswith(".")]
        return faults + [f"{name} is left over" for name in left]


def workers_killed(ground: Ground) -> list[str]:
    """Kill one of two workers (SIGKILL) every 20 s; a new worker joins."""
    begin, faults = time.monotonic(), list[str]()
    with ground.cluster(2) as dask:
        while time.monotonic() - begin < _KILLING and not faults:
            ground.output.unlink(missing_ok=True)
            running = ground.score(ground.output, "--cluster", dask.scheduler_file)
            while _runs_for(running, _BETWEEN_KILLS):
                dask.kill(next(worker for worker in dask.workers if worker.poll() is None))
                dask.add_worker()
            faults += ground.faults(running.returncode)
    return faults


def worker_stopped(ground: Ground) -> list[str]:
    """Stop one of two workers (SIGSTOP) for 60 s."""
    with ground.cluster(2) as dask:
        running = ground.score(ground.output, "--cluster", dask.scheduler_file)
        if not _runs_for(running, 10):
            return ["it was over before that"]
        dask.workers[0].send_signal(signal.SIGSTOP)
        _runs_for(running, _STOPPED)
        dask.workers[0].send_signal(signal.SIGCONT)
        return ground.faults(running.wait())


def coordinator_killed(ground: Ground) -> list[str]:
    """Kill the coordinator of two workers (SIGKILL) ten times, each after some more blocks."""
    done = 0
    with ground.cluster(2) as dask:
        for _ in range(_COORDINATORS):
            running = ground.score(ground.output, "--cluster", dask.scheduler_file)
            while running.poll() is None and blocks_done(ground.output) <= done:
                time.sleep(0.02)
            running.kill()
            running.wait()
            if ground.output.exists():
                return ["there was no work left to interrupt"]
            done = blocks_done(ground.output)
        status = ground.score(ground.output, "--cluster", dask.scheduler_file).wait()
    faults = ground.faults(status)
    going_on = ground.output.with_suffix(".log").read_bytes().count(b"continuing after line")
    return faults + ["a call did not go on"] * (going_on != _COORDINATORS)


def empty_cache(ground: Ground) -> list[str]:
    """Start four workers that share one empty compile cache."""
    with ground.cluster(4, NUMBA_CACHE_DIR=str(ground.folder / "numba")) as dask:
        running = ground.score(ground.output, "--cluster", dask.scheduler_file)
        return ground.faults(running.wait())


def _runs_for(running: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(seconds)
    return running.returncode is None


def options(parser: argparse.ArgumentParser) -> None:
    """Add the campaign's own arguments."""
    parser.add_argument("--seconds", type=float, default=300, help="of a run on this machine")


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Try the selected misfortunes."""
    save_random_model(folder / "model", _WORDS, _WORDS, hidden=32, embedding=32)
    ground = Ground(folder)
    write_table(folder / "table.gz", _TRIAL)
    lines = int(ground.alone()[1] * given.seconds)
    write_table(folder / "table.gz", lines)
    print(f"{lines:,} pairs, {ground.alone()[0]:,.0f} s alone", file=sys.stderr, flush=True)
    for trial in (workers_killed, worker_stopped, coordinator_killed, empty_cache):
        name = str(trial.__doc__).rstrip(".")
        if is_wanted(name, given):
            yield Result(name, name, "trials", trial(ground))


if __name__ == "__main__":
    sys.exit(run("tests.clusters", __doc__, trials, options, seconds=3600))
