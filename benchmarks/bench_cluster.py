"""Measures the cost of scoring on a cluster, and how many cores a coordinator can keep busy.

The first part measures the CPU seconds of the whole command `phrasescore score` in three ways: with
two workers of one thread each on this machine (scheduler and coordinator included); with two
threads of one process; and as two simultaneous commands of one thread each, one for each half of
the table. Like the two workers, the two commands keep two copies of the model in the processor's
caches. The cost of start-up is subtracted: each way also scores the first lines of the table, by
workers that have already loaded the model.

The second part measures how fast blocks pass through the scheduler and the coordinator if workers
do nothing and return as many bytes as they receive. This rate divided by the scoring rate of one
core is the number of cores that one coordinator can keep busy. The result is JSON on standard
output.

    python -m benchmarks.bench_cluster MODEL TABLE [--runs N] [--idle-workers N] [--blocks N]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from benchmarks.costs import PROJECT, Cost, run
from benchmarks.sampled_tables import read_lines, write_lines
from phrasescore.cluster import Cluster, in_order
from phrasescore.runs.final_names import GzipMember
from phrasescore.runs.stream import JournaledOutputs
from phrasescore.scoring.cluster_scoring import BLOCKS, PackedBlock, packed_block
from phrasescore.table.block import TableBlock, read_blocks

_SHORT = 8000  # lines of a short table: three blocks, so that both workers have one
_TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """Run a scheduler and workers with one thread each; yield the scheduler file and processes."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    common = ["--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1"]
    scheduler = ["-m", "distributed.cli.dask_scheduler", *common, "--port", "0"]
    worker = ["-m", "distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-nanny"]
    with (folder / "dask.log").open("ab") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, *words],
                cwd=folder,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )
            for words in (scheduler, *[worker] * workers)
        ]
    try:
        yield file, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU seconds of a running process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@dataclass(frozen=True)
class Bench:
    """Scores tables in a folder with one model."""

    model: Path
    folder: Path

    def _command(self, table: Path, *more: str) -> list[str]:
        for leftover in self.folder.glob("*scored.gz*"):
            leftover.unlink()  # otherwise the command would continue the last run
        words = [sys.executable, "-m", "phrasescore", "score", str(table), "-o", "scored.gz"]
        return [*words, "--model", str(self.model), *more]

    def alone(self, table: Path) -> Cost:
        """Score with two threads of one process."""
        return run(self._command(table, "--threads", "2"), folder=self.folder)

    def beside(self, table: Path) -> Cost:
        """Score both halves of a table at once, with two commands of one thread each."""
        lines = read_lines(table)
        halves = lines[: len(lines) // 2], lines[len(lines) // 2 :]
        folders = [self.folder / name for name in ("first", "second")]
        for folder, half in zip(folders, halves, strict=True):
            folder.mkdir(exist_ok=True)
            write_lines(folder / "half.gz", half)
        with ThreadPoolExecutor() as both:
            costs = list(both.map(lambda folder: Bench(self.model, folder).one_thread(), folders))
        walls, cpus, memories = zip(*map(astuple, costs), strict=True)
        return Cost(max(walls), sum(cpus), max(memories))

    def one_thread(self) -> Cost:
        """Score the folder's half of a table with one thread."""
        return run(self._command(Path("half.gz"), "--threads", "1"), folder=self.folder)

    def clustered(self, short: Path, table: Path) -> list[tuple[Cost, dict[str, float]]]:
        """Score both tables with two workers; return each total cost, and CPU seconds by process.

        The workers score the short table twice; the first time, which loads the model, is left out.
        """
        costs = []
        with cluster(self.folder, 2) as (file, processes):
            for each in (short, short, table):
                before = [cpu_of(process) for process in processes]
                own = run(self._command(each, "--cluster", str(file)), folder=self.folder)
                scheduler, *workers = (
                    cpu_of(process) - earlier
                    for process, earlier in zip(processes, before, strict=True)
                )
                parts = {"coordinator": own.cpu, "scheduler": scheduler, "workers": sum(workers)}
                costs.append((Cost(own.wall, sum(parts.values()), own.memory), parts))
        return costs[1:]


def overhead(bench: Bench, table: Path, runs: int) -> dict[str, Any]:
    """Compare the three ways on a table; subtract start-up, the cost of the table's first lines."""
    short = bench.folder / "short.gz"
    write_lines(short, read_lines(table)[:_SHORT])
    rows: list[dict[str, Any]] = []
    for _ in range(runs):
        start, alone = bench.alone(short), bench.alone(table)
        beside_start, beside = bench.beside(short), bench.beside(table)
        (cluster_start, start_parts), (clustered, parts) = bench.clustered(short, table)
        own, theirs = alone.cpu - start.cpu, clustered.cpu - cluster_start.cpu
        rows.append(
            {
                "alone_cpu": own,
                "cluster_cpu": theirs,
                "overhead": theirs / own - 1,
                "beside_cpu": beside.cpu - beside_start.cpu,
                "overhead_over_processes": theirs / (beside.cpu - beside_start.cpu) - 1,
                "alone_wall": alone.wall - start.wall,
                "cluster_wall": clustered.wall - cluster_start.wall,
                "cluster_parts": {name: parts[name] - start_parts[name] for name in parts},
                "start_up_cpu": [start.cpu, cluster_start.cpu],
            }
        )
        print(rows[-1], file=sys.stderr)
    return {
        "overhead_of_cpu_seconds": statistics.median(row["overhead"] for row in rows),
        "overhead_over_two_processes": statistics.median(
            row["overhead_over_processes"] for row in rows
        ),
        "runs": rows,
    }


def idle_work(block: PackedBlock) -> tuple[bytes, str]:
    """Return the text of a block: no work, but a reply as large as the request."""
    return block[0], block[3]


def feeding(table: Path, folder: Path, workers: int, blocks: int) -> dict[str, Any]:
    """Measure how fast blocks pass through workers that do nothing into a journaled output."""
    first = next(read_blocks(table))
    coming: Iterator[TableBlock] = itertools.repeat(first, blocks)
    with cluster(folder, workers) as (file, processes), Cluster(str(file)) as joined:
        while len(joined.workers) < workers:
            time.sleep(0.1)
        before = cpu_of(processes[0]), time.process_time(), time.monotonic()
        made = in_order(
            coming,
            lambda block: joined.start(idle_work, packed_block(block)),
            lambda: BLOCKS * workers,
        )
        with JournaledOutputs([folder / "idle.gz"], None).opened() as output:
            for text, _ in made:
                output.append([GzipMember(text)], {})
        seconds = time.monotonic() - before[2]
        spent = cpu_of(processes[0]) - before[0], time.process_time() - before[1]
    return {
        "workers": workers,
        "pairs_per_second": blocks * len(first) / seconds,
        "scheduler_cpu_seconds_per_block": spent[0] / blocks,
        "coordinator_cpu_seconds_per_block": spent[1] / blocks,
        "pairs_per_block": len(first),
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--runs", type=int, default=3, help="runs of each way; 0: no first part")
    parser.add_argument("--idle-workers", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=200, help="blocks of the second part")
    given = parser.parse_args()
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder, table = Path(scratch), given.table.absolute()
        if given.runs:
            result["two_workers"] = overhead(
                Bench(given.model.absolute(), folder), table, given.runs
            )
        result["idle"] = feeding(table, folder, given.idle_workers, given.blocks)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
