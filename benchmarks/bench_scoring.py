"""Pairs per second of scoring a phrase table, ours and a peer in turn, and the share of the floor.

Ours is the whole command `phrasescore score`, from .gz to .gz, in float32 and bfloat16, on a part
of the table (or all of it: --lines 0). The peer is a plain PyTorch scorer (plain_scorer.py), which
scores a smaller part. Its figures leave out its start-up, ours leave out the seconds of a table of
a single line, which is given as well. CPU seconds count all cores; on a busy machine they change
less than wall-clock, but they change: report figures of a quiet one.

The floor (floor.py) is measured before and after; the better of the two counts. The result is JSON
on standard output.

    python -m benchmarks.bench_scoring MODEL TABLE [--lines N] [--runs N]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.costs import Cost, in_turn, run
from benchmarks.floor import measure_floors
from benchmarks.shared_work import work_of_table
from phrasescore.model.folder import LoadedModel, load_model

PRECISIONS = ("fp32", "bf16")
_STRETCHES = 16  # of consecutive lines, spread evenly: neighbours share prefixes as in the whole


def read_lines(table: Path) -> list[bytes]:
    with gzip.open(table) if table.name.endswith(".gz") else table.open("rb") as stream:
        return stream.readlines()


def write_lines(path: Path, lines: Iterable[bytes]) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(lines)
    return path


def part_of(lines: list[bytes], count: int) -> list[bytes]:
    """Return ``count`` of the lines in stretches from all over the table; 0: all of them."""
    if not 0 < count < len(lines):
        return lines
    length, distance = count // _STRETCHES, len(lines) // _STRETCHES
    return [
        line
        for at in range(_STRETCHES)
        for line in lines[at * distance : at * distance + max(1, length)]
    ]


@dataclass(frozen=True)
class Bench:
    """Scores tables with one model."""

    model: LoadedModel
    folder: Path
    threads: int

    def ours(self, table: Path, precision: str) -> Cost:
        for leftover in self.folder.glob("*scored.gz*"):
            leftover.unlink()  # else the command would continue the last run
        command = [
            *(sys.executable, "-m", "phrasescore", "score", str(table), "-o", "scored.gz"),
            *("--model", str(self.model.path), "--precision", precision),
            *("--threads", str(self.threads)),
        ]
        return run(command, folder=self.folder)

    def plain(self, table: Path) -> Cost:
        """Run the peer, which prints its own wall-clock and CPU seconds as JSON."""
        command = [sys.executable, "-m", "benchmarks.plain_scorer", str(self.model.path)]
        command += [str(table), str(self.folder / "plain.gz"), "--threads", str(self.threads)]
        run(command, folder=self.folder)
        last = (self.folder / "log").read_text("utf-8").rstrip("\n").rpartition("\n")[2]
        figures = json.loads(last)
        return Cost(figures["wall"], figures["cpu"], 0.0)


def figures(pairs: int, cost: dict[str, float], start: float = 0.0) -> dict[str, float]:
    """Return rates; ``start``, the CPU seconds for one line, is left out of the CPU rate."""
    scoring = max(cost["cpu"] - start, 0.01)
    return {
        **cost,
        "cpu of scoring": round(scoring, 2),
        "pairs per second": round(pairs / cost["wall"], 1),
        "pairs per CPU second": round(pairs / scoring, 1),
    }


def measure(
    bench: Bench, lines: list[bytes], part: list[bytes], runs: int, precisions: Sequence[str]
) -> dict[str, Any]:
    """Measure all in turn: ours on the lines and on one line, the peer on the part."""
    one = write_lines(bench.folder / "one-line.gz", lines[:1])
    table = write_lines(bench.folder / "lines.gz", lines)
    small = write_lines(bench.folder / "peer.gz", part)
    settings = bench.model.model.settings
    floors = measure_floors(settings.target_vocabulary)
    bench.ours(one, precisions[0])  # fills the compile cache
    ours = [partial(bench.ours, path, name) for path in (one, table) for name in precisions]
    plain, *costs = in_turn(runs, partial(bench.plain, small), *ours)
    for name, floor in measure_floors(settings.target_vocabulary).items():
        floors[name] = floors[name].better_of(floor)
    work = work_of_table(table, bench.model)
    peer = figures(len(part), plain)
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "threads": bench.threads,
        "GFLOP/s a core": {name: round(floor.flops / 1e9, 1) for name, floor in floors.items()},
        "log-sum-exp of a row, us": round(floors["fp32"].row_seconds * 1e6, 2),
        "plain": peer,
        **work.to_json(settings),
    }
    starts, wholes = costs[: len(precisions)], costs[len(precisions) :]
    for precision, start, whole in zip(precisions, starts, wholes, strict=True):
        measured = figures(work.pairs, whole, start["cpu"])
        least = floors[precision].core_seconds(work.shared, settings)
        result[f"a table of one line, {precision}"] = start
        result[precision] = {
            **measured,
            "floor, CPU seconds": round(least, 2),
            "share of floor, CPU": round(least / measured["cpu of scoring"], 3),
            "share of floor, wall": round(least / bench.threads / measured["wall"], 3),
            "times plain, CPU": round(
                measured["pairs per CPU second"] / peer["pairs per CPU second"], 2
            ),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--lines", type=int, default=40_000, help="to score; 0: the whole table")
    parser.add_argument("--peer-lines", type=int, default=4_000, help="for the peer")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    options = parser.parse_args()
    lines = read_lines(options.table)
    parts = (part_of(lines, count) for count in (options.lines, options.peer_lines))
    with tempfile.TemporaryDirectory(prefix="bench-scoring-") as scratch:
        bench = Bench(load_model(options.model), Path(scratch), options.threads)
        print(json.dumps(measure(bench, *parts, options.runs, options.precision), indent=2))


if __name__ == "__main__":
    main()
