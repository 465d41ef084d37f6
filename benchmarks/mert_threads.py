"""How much of two cores MERT with two threads uses: against two runs of one thread side by side.

Each process reads the lists, warms up, says so, and waits until it may begin; what is timed is the
optimiser alone. `python -m benchmarks.mert_threads THREADS SEEDS LISTS...` is such a process.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.costs import PROJECT
from moses_integration.ini.moses_ini import MosesIni
from tuning.loop.lists import read_scored
from tuning.loop.weights import WeightPlan
from tuning.metrics.metric_scores import CandidateStatistics
from tuning.metrics.metric_settings import Objective
from tuning.optimizers.candidate_pool import CandidatePool
from tuning.optimizers.mert import Mert
from tuning.optimizers.optimizer import Problem

_RESTARTS = 20


def problem_of(ini: str, reference: str, lists: Sequence[str]) -> Problem:
    """Read lists into one problem."""
    texts = CandidateStatistics([reference], Objective())
    plan = WeightPlan.from_ini(MosesIni.read(ini))
    pool = CandidatePool(len(texts), plan.layout.nbest.size, texts.columns)
    for path in lists:
        read_scored(path, texts, expected=plan.expected).add_to(pool, None)
    return plan.problem(pool.arrays, Objective())


def _wall(processes: int, threads: int, seeds: int, files: Sequence[str]) -> float:
    """Run some processes side by side; return the mean of what they took."""
    command = [sys.executable, "-m", "benchmarks.mert_threads", str(threads), str(seeds), *files]
    started = [
        subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("begin\n")
        process.stdin.flush()
    return statistics.mean(float(process.communicate()[0]) for process in started)


def measured(golden: Path, runs: int) -> dict[str, object]:
    """Measure the two in turn; return seconds, and what share of two cores two threads are."""
    tuning = golden / "tuning"
    lists = [tuning / f"run{number}.best100.gz" for number in (1, 2, 3)]
    files = [str(path) for path in (golden / "system" / "moses.ini", tuning / "refs.fr", *lists)]
    rows = [(_wall(2, 1, 3, files), _wall(1, 2, 3, files)) for _ in range(runs)]
    shares = [beside / (2 * together) for beside, together in rows]
    return {
        "one thread, two side by side: seconds each": [round(row[0], 2) for row in rows],
        "two threads: seconds": [round(row[1], 2) for row in rows],
        "rate of two threads by that of two side by side": [round(share, 3) for share in shares],
        "median": round(statistics.median(shares), 3),
    }


def main() -> None:
    """Optimise with some seeds when told to, and print the seconds."""
    threads, seeds, ini, reference, *lists = sys.argv[1:]
    problem = problem_of(ini, reference, lists)
    Mert(0, int(threads)).optimize(problem, np.random.default_rng(0))
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    for seed in range(1, int(seeds) + 1):
        Mert(_RESTARTS, int(threads)).optimize(problem, np.random.default_rng(seed))
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
