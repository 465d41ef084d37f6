"""Measures the cost of commands, run one after the other in fresh processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """The cost of a command: wall-clock and CPU seconds, and the peak memory in MiB.

    The peak is the larger of two: the command's largest process, and the small Python process that
    starts the command (14 MiB).
    """

    wall: float
    cpu: float
    memory: float


def run(command: list[str], *, folder: Path, cache: Path | None = None) -> Cost:
    """Run a command in a folder; its output goes to the file ``log`` there.

    Args:
        command: The program and its arguments.
        folder: The current directory of the command.
        cache: The folder of numba's compile cache; ``None`` for the usual folder.
    """
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each start compiles the sources anew
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    measuring = [sys.executable, "-m", "benchmarks.costs", *command]
    found = subprocess.run(
        measuring, cwd=folder, env=environment, stdout=subprocess.PIPE, check=False
    )
    if found.returncode:
        log = (folder / "log").read_text("utf-8", "replace")
        raise SystemExit(f"{command} failed:\n{log[-2000:]}")
    return Cost(**json.loads(found.stdout))


def main() -> int:
    """Run the command in the arguments, and print its cost as JSON; return 1 if it failed.

    A small separate process starts the command, because the operating system counts the memory of
    the starting process as the command's.
    """
    start = time.perf_counter()
    with Path("log").open("wb") as output:
        process = subprocess.Popen(sys.argv[1:], stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
    print(json.dumps(asdict(cost)))
    return 1 if process.returncode else 0


def median(costs: list[Cost]) -> dict[str, float]:
    rows = [asdict(cost) for cost in costs]
    return {name: round(statistics.median(row[name] for row in rows), 2) for name in rows[0]}


def in_turn(runs: int, *commands: Callable[[], Cost]) -> list[dict[str, float]]:
    """Run all commands in order, ``runs`` times; return the median costs of each."""
    costs: list[list[Cost]] = [[] for _ in commands]
    for _ in range(runs):
        for place, command in zip(costs, commands, strict=True):
            place.append(command())
    return [median(place) for place in costs]


if __name__ == "__main__":
    sys.exit(main())
