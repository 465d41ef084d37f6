"""Runs hostile inputs and prints the results.

A PATTERN is like ``score | *journal*`` and selects all cases with such names. Without a PATTERN,
the cases of ``make test-all`` are run, or all cases with ``--all``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.campaign import run_cases
from tests.hostile.cases import cases, chosen
from tests.hostile.test_campaign import SHARE
from tests.support.campaigns import Result, is_wanted, run
from tests.support.warm_process import WarmProcesses


def options(parser: argparse.ArgumentParser) -> None:
    """Add the campaign's own arguments."""
    parser.add_argument("--all", action="store_true", help="every case, not a part of them")


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Run the selected cases."""
    everything = given.all or given.patterns
    tried = chosen(cases(), 2.0 if everything else SHARE)
    with WarmProcesses() as processes:
        wanted = [case for case in tried if is_wanted(case.name, given)]
        yield from run_cases(folder, processes, wanted)


if __name__ == "__main__":
    sys.exit(run("tests.hostile", __doc__, trials, options, seconds=900))
