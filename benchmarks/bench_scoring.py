"""Measures the rate of scoring a phrase table, by us and by peers, and compares it to a floor.

"Ours" is the whole command `phrasescore score`, from .gz to .gz, in float32 and bfloat16. It scores
part of the table (with --lines 0 the whole table), the same part with its sources shuffled, and a
table with 20 targets for each source. The peers are a plain PyTorch scorer (plain_scorer.py) and,
if --joeynmt names a Python that can import it, JoeyNMT (joeynmt_scorer.py). The peers score a
smaller part. All run alternately. Pairs per CPU second exclude start-up: the peers do not count it,
and ours subtracts the CPU seconds for a table with one line, which are also reported. CPU seconds
are summed over all cores. On a busy machine they change less than wall-clock time, but they do
change, so use a quiet machine.

The floor (floor.py) is measured before and after, and the better rates are used. The result is JSON
on standard output.

    python -m benchmarks.bench_scoring MODEL TABLE [--joeynmt PYTHON] [--lines N] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.costs import PROJECT, Cost, run
from benchmarks.floor import Floor, measure_floors
from benchmarks.sampled_tables import (
    part_of,
    read_lines,
    shuffled_by_source,
    with_many_targets,
    write_lines,
)
from benchmarks.shared_work import Work, work_of_table
from phrasescore.model.folder import LoadedModel, load_model

PRECISIONS = ("fp32", "bf16")


@dataclass(frozen=True)
class Bench:
    """Scores tables with one model."""

    model: LoadedModel
    folder: Path
    threads: int
    runs: int
    precisions: Sequence[str] = PRECISIONS

    def ours(self, table: Path, precision: str) -> Cost:
        for leftover in self.folder.glob("*scored.gz*"):
            leftover.unlink()  # otherwise the command would continue the last run
        command = [
            *(sys.executable, "-m", "phrasescore", "score", str(table), "-o", "scored.gz"),
            *("--model", str(self.model.path), "--precision", precision),
            *("--threads", str(self.threads)),
        ]
        return run(command, folder=self.folder)

    def peer(self, command: list[str]) -> Cost:
        """Run a peer that prints its own wall-clock and CPU seconds as JSON on its last line."""
        run([*command, "--threads", str(self.threads)], folder=self.folder)
        last = (self.folder / "log").read_text("utf-8").rstrip("\n").rpartition("\n")[2]
        figures = json.loads(last)
        return Cost(figures["wall"], figures["cpu"], 0.0)

    def plain(self, table: Path) -> Cost:
        scores = str(self.folder / "plain.gz")
        script = [sys.executable, "-m", "benchmarks.plain_scorer"]
        return self.peer([*script, str(self.model.path), str(table), scores])

    def joeynmt(self, python: str, table: Path) -> Cost:
        script = str(PROJECT / "benchmarks" / "joeynmt_scorer.py")
        return self.peer([python, script, str(self.model.path), str(table), str(self.folder)])


def has_joeynmt(python: str | None) -> bool:
    if python is None:
        print("no peer JoeyNMT, because --joeynmt is not given", file=sys.stderr)
        return False
    check = [python, "-c", "import joeynmt.prediction"]
    if subprocess.run(check, capture_output=True, check=False).returncode:
        print(f"no peer JoeyNMT: {python} cannot import joeynmt", file=sys.stderr)
        return False
    return True


def figures(pairs: int, costs: list[Cost], start: Cost | None = None) -> dict[str, float]:
    """Return medians; the CPU rate excludes ``start``, the cost of a table with one line."""
    wall, cpu = (statistics.median(getattr(c, name) for c in costs) for name in ("wall", "cpu"))
    scoring = max(cpu - start.cpu, 0.01) if start else cpu
    result = {
        "wall": round(wall, 2),
        "cpu": round(cpu, 2),
        "cpu of scoring": round(scoring, 2),
        "pairs per second": round(pairs / wall, 1),
        "pairs per CPU second": round(pairs / scoring, 1),
    }
    memory = max(cost.memory for cost in costs)
    return {**result, "peak MiB": round(memory)} if memory else result


def shares(work: Work, measured: dict[str, float], floor: Floor, bench: Bench) -> dict[str, float]:
    """Return the floor in seconds, and its shares in a run's CPU seconds and wall-clock time."""
    least = floor.core_seconds(work.shared, bench.model.model.settings)
    return {
        "floor, CPU seconds": round(least, 2),
        "share of floor, CPU": round(least / measured["cpu of scoring"], 3),
        "share of floor, wall": round(least / bench.threads / measured["wall"], 3),
    }


def in_turn(runs: int, commands: dict[str, Callable[[], Cost]]) -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            costs[name].append(command())
    return costs


def measure(bench: Bench, tables: dict[str, Path], peers: dict[str, Callable[[], Cost]]) -> Any:
    first = bench.folder / "one-line.gz"
    bench.ours(first, bench.precisions[0])  # warms the compile cache
    commands: dict[str, Callable[[], Cost]] = {
        f"{table} {precision}": partial(bench.ours, path, precision)
        for table, path in {"one line": first, **tables}.items()
        for precision in bench.precisions
    }
    return in_turn(bench.runs, {**commands, **peers})


def report(bench: Bench, tables: dict[str, Path], peers: Any, peer_pairs: int) -> dict[str, Any]:
    settings = bench.model.model.settings
    floors = measure_floors(settings.target_vocabulary)
    costs = measure(bench, tables, peers)
    for name, floor in measure_floors(settings.target_vocabulary).items():
        floors[name] = floors[name].better_of(floor)
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "threads": bench.threads,
        "GFLOP/s a core": {name: round(floor.flops / 1e9, 1) for name, floor in floors.items()},
        "log-sum-exp of a row, us": round(floors["fp32"].row_seconds * 1e6, 2),
        "peers": {name: figures(peer_pairs, costs[name]) for name in peers},
    }
    for precision in bench.precisions:
        result[f"a table of one line, {precision}"] = figures(1, costs[f"one line {precision}"])
    for name, path in tables.items():
        work = work_of_table(path, bench.model)
        result[name] = work.to_json(settings)
        for precision in bench.precisions:
            start = min(costs[f"one line {precision}"], key=lambda cost: cost.cpu)
            measured = figures(work.pairs, costs[f"{name} {precision}"], start)
            measured |= shares(work, measured, floors[precision], bench)
            for peer, theirs in result["peers"].items():
                rates = (each["pairs per CPU second"] for each in (measured, theirs))
                measured[f"times {peer}, CPU"] = round(next(rates) / next(rates), 2)
            result[name][precision] = measured
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--joeynmt", metavar="PYTHON", help="a Python that can import joeynmt")
    parser.add_argument("--lines", type=int, default=40_000, help="for ours; 0: the whole table")
    parser.add_argument("--peer-lines", type=int, default=4_000, help="for the peers")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-scoring-") as scratch:
        folder = Path(scratch)
        lines = read_lines(options.table)
        part, peer_part = part_of(lines, options.lines), part_of(lines, options.peer_lines)
        write_lines(folder / "one-line.gz", lines[:1])
        tables = {
            "in order": write_lines(folder / "part.gz", part),
            "sources shuffled": write_lines(folder / "shuffled.gz", shuffled_by_source(part)),
            "20 targets a source": write_lines(folder / "many.gz", with_many_targets(part)),
        }
        small = write_lines(folder / "peer.gz", peer_part)
        model = load_model(options.model)
        bench = Bench(model, folder, options.threads, options.runs, options.precision)
        peers: dict[str, Callable[[], Cost]] = {"plain": lambda: bench.plain(small)}
        if has_joeynmt(options.joeynmt):
            peers["JoeyNMT"] = lambda: bench.joeynmt(options.joeynmt, small)
        print(json.dumps(report(bench, tables, peers, len(peer_part)), indent=2))


if __name__ == "__main__":
    main()
