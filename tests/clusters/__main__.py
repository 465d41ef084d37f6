"""``python -m tests.clusters``: the whole campaign, and its table.

The model is small and random and the table generated, as large as a run of the length asked for
needs; scores on one machine are what all trials must come to.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from phrasescore.runs.final_names import open_output
from tests.clusters.campaign import Ground, Result, table, trials
from tests.support.random_models import save_random_model

_WORDS = [b"w%03d" % number for number in range(500)]
_TRIAL = 200_000  # lines that say how fast this machine is


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


def _alone(ground: Ground) -> tuple[float, float]:
    """Score on this machine; return the seconds that took, and pairs per second."""
    report = ground.folder / "report.json"
    command = ground.command(ground.reference, "--threads", "2", "--json-file", report)
    subprocess.run(command, check=True, capture_output=True)
    told = json.loads(report.read_bytes())
    return told["seconds"], told["pairs_per_second"]


def main() -> None:
    """Run it; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.clusters", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="of a run on this machine")
    parser.add_argument("--only", type=int, action="append", help="a trial, from 1; repeatable")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_random_model(folder / "model", _WORDS, _WORDS, hidden=32, embedding=32)
        ground = Ground(folder, folder / "table.gz", folder / "model", folder / "reference.gz")
        write_table(ground.table, _TRIAL)
        lines = int(_alone(ground)[1] * given.seconds)
        write_table(ground.table, lines)
        print(f"{lines:,} pairs, {_alone(ground)[0]:,.0f} s alone", file=sys.stderr, flush=True)
        results: list[Result] = []
        for number, trial in enumerate(trials(ground, folder / "numba"), 1):
            if not given.only or number in given.only:
                results.append(trial())
                print(results[-1].row(), file=sys.stderr, flush=True)
    print(table(results))
    sys.exit(any(result.faults for result in results))


if __name__ == "__main__":
    main()
