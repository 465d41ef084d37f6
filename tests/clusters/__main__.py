"""Misfortunes of workers and the coordinator of ``score --cluster``.

The model is small and random and the table generated, as large as a run of the length asked for
needs; scores on one machine are what all trials must come to.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from phrasescore.runs.final_names import open_output
from tests.clusters.campaign import Ground, Result, table, trials
from tests.support.campaigns import Campaign, is_wanted
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


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this campaign alone takes."""
    parser.add_argument("--seconds", type=float, default=300, help="of a run on this machine")


def trials_of(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Try the misfortunes that are asked for."""
    save_random_model(folder / "model", _WORDS, _WORDS, hidden=32, embedding=32)
    ground = Ground(folder, folder / "table.gz", folder / "model", folder / "reference.gz")
    write_table(ground.table, _TRIAL)
    lines = int(_alone(ground)[1] * given.seconds)
    write_table(ground.table, lines)
    print(f"{lines:,} pairs, {_alone(ground)[0]:,.0f} s alone", file=sys.stderr, flush=True)
    for name, trial in trials(ground, folder / "numba").items():
        if is_wanted(name, given):
            yield trial(name)


if __name__ == "__main__":
    sys.exit(Campaign("tests.clusters", __doc__, trials_of, table, options, seconds=3600).run())
