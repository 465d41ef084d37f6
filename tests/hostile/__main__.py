"""Runs the campaign and prints what was tried: ``python -m tests.hostile [PATTERN] [--all]``.

PATTERN is a part of cases' names with ``*`` and ``?``, e.g. ``'score | *journal*'``; with one, all
cases of it are run, without one those of ``make test-all``, or all with ``--all``.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from tests.hostile.campaign import Campaign, Verdict
from tests.hostile.cases import Case, cases, chosen
from tests.hostile.test_campaign import SHARE

_INPUTS = "contents of files"
_GROUPS = {"names": "names", "outputs": "outputs", "neighbours": "what lies beside outputs"}
_GROUPS |= {"numbers": "numbers", "text of options": "texts", "surroundings": "surroundings"}


def main() -> int:
    """Run cases, tell of each that breaks a rule, print the table; 1 if one does."""
    patterns = [word for word in sys.argv[1:] if not word.startswith("--")]
    if patterns:
        tried = [case for case in cases() if any(fnmatchcase(case.name, p) for p in patterns)]
    else:
        tried = chosen(cases(), 2.0 if "--all" in sys.argv else SHARE)
    with (
        tempfile.TemporaryDirectory() as folder,
        Campaign(Path(folder), workers=2) as campaign,
    ):
        verdicts = list(_told(campaign.run(tried), verbose=bool(patterns)))
    print("\n".join(_table(verdicts)))
    return int(any(verdict.faults for verdict in verdicts))


def _told(verdicts: Iterator[Verdict], *, verbose: bool) -> Iterator[Verdict]:
    for verdict in verdicts:
        if verdict.faults or verbose:
            ended = verdict.ended
            print(f"{verdict.case.name}: {'; '.join(verdict.faults) or 'well'}")
            print(f"    status {ended.status}, {ended.seconds:.1f} s, {ended.peak >> 20} MiB more")
            print(f"    {ended.errors.decode('utf-8', 'backslashreplace')[-400:].rstrip()}")
        yield verdict


def _table(verdicts: list[Verdict]) -> Iterator[str]:
    """Yield lines of Markdown: of each command, how many inputs of a kind it refused."""
    counts: Counter[tuple[str, str, str]] = Counter()
    columns = [_INPUTS, *_GROUPS.values()]
    for verdict in verdicts:
        command = " ".join(verdict.case.call.command)
        for row in (command, "all"):
            for column in (_column(verdict.case), "together"):
                counts[row, column, "tried"] += 1
                counts[row, column, "refused"] += verdict.ended.status != 0
                counts[row, column, "broken"] += bool(verdict.faults)
    yield f"| command | {' | '.join(columns)} | together | rules broken |"
    yield "|---" * (len(columns) + 3) + "|"
    rows = dict.fromkeys(row for row, _, _ in counts)
    for row in sorted(rows, key=lambda row: (row == "all", row)):
        cells = [
            f"{counts[row, column, 'refused']}/{counts[row, column, 'tried']}"
            for column in (*columns, "together")
        ]
        yield f"| {row} | {' | '.join(cells)} | {counts[row, 'together', 'broken']} |"
    yield "\nrefused/tried; the reasons for the others stand in tests/hostile/outcomes.py"


def _column(case: Case) -> str:
    return _GROUPS.get(case.group, _INPUTS)


if __name__ == "__main__":
    sys.exit(main())
