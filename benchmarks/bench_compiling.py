"""What compiling costs: CPU seconds of each command and of each function, from an empty cache.

``python -m benchmarks.bench_compiling`` runs the commands that ``phrasescore warm-up`` runs, one
after the other, so that each compiles what those before it have not. JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.costs import run
from phrasescore.commands.warm_up import STEPS, write_texts

# a command that writes a row for each function that it compiled: name, types, CPU seconds with
# those it calls, and without them
_JOB = """
import json, sys, time
from phrasescore.cli import main
import phrasescore.compiled  # it chooses the cache folder, so it comes before numba
from numba.core import event

class Clock(event.Listener):
    rows, inner = [], []
    def on_start(self, event):
        self.inner.append([time.process_time(), 0.0])
    def on_end(self, event):
        start, others = self.inner.pop()
        took = time.process_time() - start
        if self.inner:
            self.inner[-1][1] += took
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        self.rows.append((name, str(event.data["args"]), took, took - others))

event.register("numba:compile", Clock())
place = sys.argv.pop(1)
try:
    main()
finally:
    with open(place, "w") as file:
        json.dump([time.process_time(), Clock.rows], file)
"""


def measure(folder: Path, command: str) -> dict[str, Any]:
    """Run one command; return its CPU seconds, and those of each function it compiled."""
    place = folder / "times.json"
    job = [sys.executable, "-c", _JOB, str(place), *command.split()]
    run(job, folder=folder, cache=folder / "cache")
    total, rows = json.loads(place.read_text())
    return {
        "command": command,
        "cpu_s": total,
        "compiling_cpu_s": sum(row[3] for row in rows),
        "functions": [
            {"function": name, "types": types, "cpu_s": own, "with_callees_cpu_s": both}
            for name, types, both, own in rows
        ],
    }


def main() -> None:
    """Measure all commands; print a table, then JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=int, default=20, help="how many functions to show")
    top = parser.parse_args().top
    with tempfile.TemporaryDirectory() as name:
        write_texts(Path(name))
        commands = [measure(Path(name), command) for step in STEPS for command in step]
    for row in commands:
        print(
            f"{row['compiling_cpu_s']:7.2f} of {row['cpu_s']:7.2f} s"
            f" {len(row['functions']):4} functions  {row['command'][:60]}",
            file=sys.stderr,
        )
    functions = [{**each, "in": row["command"]} for row in commands for each in row["functions"]]
    functions.sort(key=lambda each: -each["cpu_s"])
    for each in functions[:top]:
        print(f"{each['cpu_s']:7.2f} s  {each['function']} {each['types'][:80]}", file=sys.stderr)
    result = {
        "compiling_cpu_s": sum(row["compiling_cpu_s"] for row in commands),
        "functions": len(functions),
        "commands": [{k: v for k, v in row.items() if k != "functions"} for row in commands],
        "top": functions[:top],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
