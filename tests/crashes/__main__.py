"""``python -m tests.crashes``: the whole campaign, and its table of counts."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.crashes.calls import CALLS
from tests.crashes.campaign import KINDS, Result, campaign, possible_kinds, table
from tests.crashes.trials import Ground
from tests.crashes.world import write_world
from tests.support.warm_process import WarmProcesses

_COUNTS = {"kill": 100, "kill at a file": 33, "SIGTERM": 12, "full disk": 12}
_OTHERS = 11  # of each other kind


def counts_of(kinds: Iterable[str]) -> dict[str, int]:
    """Return how often each kind is tried."""
    return {kind: _COUNTS.get(kind, _OTHERS) for kind in kinds}


def _tell(result: Result) -> None:
    print(result, file=sys.stderr, flush=True)


def main() -> None:
    """Run it; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crashes", description=__doc__)
    parser.add_argument("--only", action="append", help="a command; may be repeated")
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be repeated")
    parser.add_argument("--count", type=int, help="of each kind")
    parser.add_argument("--keep", metavar="FOLDER", help="make the world there, and keep it")
    given = parser.parse_args()
    counts = counts_of(given.kind or possible_kinds())
    if given.count:
        counts = dict.fromkeys(counts, given.count)
    calls = [call for call in CALLS if not given.only or call.name in given.only]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, WarmProcesses() as processes:
        folder = Path(given.keep or scratch)
        if not (folder / "in").exists():
            write_world(folder)
        results = campaign(Ground(folder, processes), counts, _tell, calls)
    print(table(results))
    print(f"\n{len(results)} trials, {time.monotonic() - begin:.0f} s")
    sys.exit(any(result.faults for result in results))


if __name__ == "__main__":
    main()
