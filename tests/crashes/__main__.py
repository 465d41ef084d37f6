"""Kills and interrupts commands or fills their disk, and then repeats them.

A PATTERN selects commands, e.g. ``prune``. Without a PATTERN, all kinds are tried on all commands.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.crashes.calls import CALLS
from tests.crashes.campaign import KINDS, counts_of, possible_kinds, tried_in_turn
from tests.crashes.trials import Ground
from tests.crashes.world import write_world
from tests.support.campaigns import Result, is_wanted, run
from tests.support.warm_process import WarmProcesses


def options(parser: argparse.ArgumentParser) -> None:
    """Add the campaign's own arguments."""
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be repeated")


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Try the selected misfortunes."""
    counts = counts_of(given.kind or possible_kinds())
    if given.count:
        counts = dict.fromkeys(counts, given.count)
    calls = [call for call in CALLS if is_wanted(call.name, given)]
    if not (folder / "in").exists():
        write_world(folder)
    with WarmProcesses() as processes:
        yield from tried_in_turn(Ground(folder, processes), counts, calls)


if __name__ == "__main__":
    sys.exit(run("tests.crashes", __doc__, trials, options, seconds=900))
