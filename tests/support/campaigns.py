"""The runner that all campaigns share: arguments, selection, progress, time limits, report.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Generic, Protocol, TypeVar


class Trial(Protocol):
    """How one trial went; its text is a line or more for the user."""

    @property
    def faults(self) -> Sequence[str]:
        """What was wrong; empty if nothing."""
        ...


Tried = TypeVar("Tried", bound=Trial)


@dataclass(frozen=True)
class Campaign(Generic[Tried]):
    """Many trials, and the table of how they went.

    Args:
        module: What stands behind ``python -m``.
        about: What is tried, for the help.
        trials: Tries what the arguments ask for, in an empty folder (or one that was kept).
        table: Returns the table, in Markdown.
        options: Adds arguments of the campaign's own.
        seconds: How long a trial may take; a longer one ends the process with a traceback.
    """

    module: str
    about: str | None
    trials: Callable[[argparse.Namespace, Path], Iterator[Tried]]
    table: Callable[[list[Tried]], str]
    options: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    seconds: float | None = None

    def run(self, arguments: Sequence[str] | None = None) -> int:
        """Try everything that is asked for; return 1 if anything was wrong."""
        given = self._given(arguments)
        begin = time.monotonic()
        tried = []
        with contextlib.ExitStack() as stack:
            folder = given.keep or stack.enter_context(tempfile.TemporaryDirectory())
            trials = self.trials(given, Path(folder))
            while (trial := self._next(trials)) is not None:
                tried.append(trial)
                if trial.faults or not given.quiet:
                    print(trial, file=sys.stderr, flush=True)
        print(self.table(tried))
        wrong = sum(bool(trial.faults) for trial in tried)
        print(f"\n{len(tried)} trials, {wrong} with faults, {time.monotonic() - begin:.0f} s")
        return int(wrong > 0)

    def _next(self, trials: Iterator[Tried]) -> Tried | None:
        with time_limit(self.seconds):
            return next(trials, None)

    def _given(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.module}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument(
            "patterns", nargs="*", metavar="PATTERN", help="part of a trial's name, with * and ?"
        )
        parser.add_argument("--count", type=int, help="how many trials of each kind")
        parser.add_argument("--keep", metavar="FOLDER", help="work there, and keep it")
        parser.add_argument("--quiet", action="store_true", help="name only what is wrong")
        self.options(parser)
        given = parser.parse_args(arguments)
        if given.keep:
            Path(given.keep).mkdir(parents=True, exist_ok=True)
        return given


def is_wanted(name: str, given: argparse.Namespace) -> bool:
    """Tell whether a trial of this name is asked for."""
    patterns = given.patterns
    return not patterns or any(fnmatchcase(name, f"*{pattern}*") for pattern in patterns)


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """End the process with a traceback if the block takes longer; ``None`` is no limit."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def table_of(rows: Sequence[Sequence[object]]) -> str:
    """Return rows, the first of them the head, as a table in Markdown."""
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
