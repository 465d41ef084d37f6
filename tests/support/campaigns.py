"""The runner that all campaigns share: arguments, selection, time limits, report.

A campaign is a package of tests with a ``__main__`` that calls :func:`run`:
``python -m tests.hostile``, ``tests.crashes``, ``tests.clusters`` and ``tests.fuzz``.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass
class Result:
    """The result of one trial.

    Attributes:
        name: The name of the trial.
        row: The row of the table that counts the trial, e.g. a command.
        column: The column of the table that counts the trial.
        faults: The faults found; empty if there are none.
        outcome: The outcome of a trial without faults, in a word or two; outcomes are counted.
        details: More lines for the user.
    """

    name: str
    row: str
    column: str
    faults: list[str] = field(default_factory=list)
    outcome: str = ""
    details: str = ""

    def __str__(self) -> str:
        judged = "; ".join(self.faults) or self.outcome or "well"
        return f"{self.name}: {judged}\n{self.details}".rstrip()


def run(
    module: str,
    about: str | None,
    trials: Callable[[argparse.Namespace, Path], Iterator[Result]],
    options: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
    seconds: float | None = None,
) -> int:
    """Run a campaign with the options of the command line; return 1 if there are faults.

    Args:
        module: The name after ``python -m``.
        about: The description for the help.
        trials: Runs the selected trials in a folder, which is empty or was kept by an earlier run.
        options: Adds the campaign's own arguments.
        seconds: The time limit of a trial; a longer trial ends the process with a traceback.
    """
    given = _given(module, about, options)
    begin = time.monotonic()
    results: list[Result] = []
    with contextlib.ExitStack() as stack:
        folder = given.keep or stack.enter_context(tempfile.TemporaryDirectory())
        running = trials(given, Path(folder))
        while True:
            with time_limit(seconds):
                result = next(running, None)
            if result is None:
                break
            results.append(result)
            if result.faults or not given.quiet:
                print(result, file=sys.stderr, flush=True)
    print(table(results))
    wrong = sum(bool(result.faults) for result in results)
    outcomes = Counter(result.outcome for result in results if result.outcome)
    counts = [f"{count} {outcome}" for outcome, count in outcomes.items()]
    seconds = time.monotonic() - begin
    said = [f"{len(results)} trials", *counts, f"{wrong} with faults", f"{seconds:.0f} s"]
    print("\n" + ", ".join(said))
    return int(wrong > 0)


def _given(
    module: str, about: str | None, options: Callable[[argparse.ArgumentParser], None]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "patterns", nargs="*", metavar="PATTERN", help="part of a trial's name, with * and ?"
    )
    parser.add_argument("--count", type=int, help="the number of trials of each kind")
    parser.add_argument("--keep", metavar="FOLDER", help="work in this folder, and keep it")
    parser.add_argument("--quiet", action="store_true", help="print only trials with faults")
    options(parser)
    given = parser.parse_args()
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
    return given


def is_wanted(name: str, given: argparse.Namespace) -> bool:
    """Return whether a trial of this name is selected."""
    patterns = given.patterns
    return not patterns or any(fnmatchcase(name, f"*{pattern}*") for pattern in patterns)


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """End the process with a traceback if the block takes longer; ``None`` means no limit."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def table(results: Sequence[Result]) -> str:
    """Return a Markdown table with the number of trials of each kind and of trials with faults."""
    columns = list(dict.fromkeys(result.column for result in results))
    lines = [["", *columns, "faults"], ["---"] * (len(columns) + 2)]
    for row in [*dict.fromkeys(result.row for result in results), "all"]:
        own = [result for result in results if row in (result.row, "all")]
        counts = Counter(result.column for result in own)
        faults = sum(bool(result.faults) for result in own)
        lines.append([row, *(str(counts[column]) for column in columns), str(faults)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
