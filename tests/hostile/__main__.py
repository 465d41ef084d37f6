"""Runs hostile inputs and prints what was tried.

Names are like ``score | *journal*``. With a PATTERN all cases of such a name are run, without one
those of ``make test-all``, or all with ``--all``.
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
    """Add what this campaign alone takes."""
    parser.add_argument("--all", action="store_true", help="every case, not a part of them")


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Result]:
    """Run the cases that are asked for."""
    everything = given.all or given.patterns
    tried = chosen(cases(), 2.0 if everything else SHARE)
    with WarmProcesses() as processes:
        wanted = [case for case in tried if is_wanted(case.name, given)]
        yield from run_cases(folder, processes, wanted)


if __name__ == "__main__":
    sys.exit(run("tests.hostile", __doc__, trials, options, seconds=900))
