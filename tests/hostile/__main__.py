"""Runs hostile inputs and prints what was tried.

Names are like ``score | *journal*``. With a PATTERN all cases of such a name are run, without one
those of ``make test-all``, or all with ``--all``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.campaign import HostileCases, Verdict
from tests.hostile.cases import Case, cases, chosen
from tests.hostile.test_campaign import SHARE
from tests.support.campaigns import Campaign, is_wanted, table_of

_INPUTS = "contents of files"
_GROUPS = {"names": "names", "outputs": "outputs", "neighbours": "what lies beside outputs"}
_GROUPS |= {"numbers": "numbers", "text of options": "texts", "surroundings": "surroundings"}


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this campaign alone takes."""
    parser.add_argument("--all", action="store_true", help="every case, not a part of them")


def trials(given: argparse.Namespace, folder: Path) -> Iterator[Verdict]:
    """Run the cases that are asked for."""
    everything = given.all or given.patterns
    tried = chosen(cases(), 2.0 if everything else SHARE)
    with HostileCases(folder, workers=2) as running:
        yield from running.run([case for case in tried if is_wanted(case.name, given)])


def table(verdicts: list[Verdict]) -> str:
    """Return how many inputs of each kind each command refused."""
    counts: Counter[tuple[str, str, str]] = Counter()
    columns = [_INPUTS, *_GROUPS.values(), "together"]
    for verdict in verdicts:
        command = " ".join(verdict.case.call.command)
        for row in (command, "all"):
            for column in (_column(verdict.case), "together"):
                counts[row, column, "tried"] += 1
                counts[row, column, "refused"] += verdict.ended.status != 0
                counts[row, column, "broken"] += bool(verdict.faults)
    rows: list[list[object]] = [["command", *columns, "rules broken"]]
    names = dict.fromkeys(row for row, _, _ in counts)
    for name in sorted(names, key=lambda name: (name == "all", name)):
        cells = [f"{counts[name, c, 'refused']}/{counts[name, c, 'tried']}" for c in columns]
        rows.append([name, *cells, counts[name, "together", "broken"]])
    reasons = "refused/tried; the reasons for the others stand in tests/hostile/outcomes.py"
    return f"{table_of(rows)}\n\n{reasons}"


def _column(case: Case) -> str:
    return _GROUPS.get(case.group, _INPUTS)


if __name__ == "__main__":
    sys.exit(Campaign("tests.hostile", __doc__, trials, table, options, seconds=900).run())
