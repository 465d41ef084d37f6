"""Which misfortunes are tried, drawn with a seed, and how they went."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.crashes.calls import CALLS, Call
from tests.crashes.trials import Ground, Misfortune, half_written, judged_end, repeated
from tests.support.campaigns import table_of

KINDS = (
    "kill",
    "kill at a file",
    "SIGTERM",
    "SIGHUP",
    "SIGINT",
    "SIGINT twice",
    "file limit",
    "full disk",
)
_COUNTS = {"kill": 100, "kill at a file": 33, "SIGTERM": 12, "full disk": 12}
_OTHERS = 11  # of each other kind
_FILE_STEPS = 60
_TRIES = 12
_COSTLY_EVERY = 6  # rounds
_COSTLY_KINDS = ("kill", "SIGTERM", "full disk")


@dataclass
class Result:
    """How one trial went.

    Attributes:
        call: What was called.
        misfortune: What happened to it.
        hit: Whether it happened before the end.
        faults: What was wrong then or after the repetition.
    """

    call: Call
    misfortune: Misfortune
    hit: bool = True
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        what = f"{self.call.name}, {self.misfortune.kind} at {self.misfortune.when:.2f}"
        judged = "; ".join(self.faults) or ("well" if self.hit else "over before that")
        return f"{what}: {judged}"


def possible_kinds() -> tuple[str, ...]:
    """Return what can be tried here: only root can make a small disk, and only on Linux."""
    if sys.platform == "linux" and os.geteuid() == 0 and _can_mount():
        return KINDS
    return tuple(kind for kind in KINDS if kind != "full disk")


def _can_mount() -> bool:
    with tempfile.TemporaryDirectory() as place:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "crashes", place], capture_output=True, check=False
        )
        return (
            mounted.returncode == 0
            and subprocess.run(["umount", place], check=False).returncode == 0
        )


def drawn(
    kind: str, count: int, seed: int = 16, calls: Sequence[Call] = CALLS
) -> Iterator[tuple[Call, Misfortune]]:
    """Yield so many misfortunes of a kind, all calls in turn.

    Args:
        kind: One of ``KINDS``.
        count: How many.
        seed: Of the moments.
        calls: What is called.
    """
    rng = random.Random(f"{seed} {kind}")
    rounds = (
        [
            call
            for call in calls
            if not call.costly or (kind in _COSTLY_KINDS and number % _COSTLY_EVERY == 0)
        ]
        for number in itertools.count()
    )
    for call in itertools.islice(itertools.chain.from_iterable(rounds), count):
        when = rng.uniform(0.03, 1.0)
        if kind == "kill at a file":
            when = _FILE_STEPS**when
        yield call, Misfortune(kind, when, rng.uniform(0.0, 0.3))


def tried(ground: Ground, call: Call, misfortune: Misfortune) -> Result:
    """Let a misfortune happen to a call, earlier if that is over before; repeat the call."""
    ground.undisturbed(call)
    for _ in range(_TRIES):
        ground.clear()
        with ground.disk(misfortune):
            ended = ground.suffer(call, misfortune)
            if ended.status != 0:
                faults = judged_end(misfortune, ended)
                faults += half_written(ground, call)
                faults += repeated(ground, call)
                return Result(call, misfortune, faults=faults)
        misfortune = misfortune.earlier()
    return Result(call, misfortune, hit=False)


def counts_of(kinds: Iterable[str]) -> dict[str, int]:
    """Return how often each kind is tried in a whole campaign."""
    return {kind: _COUNTS.get(kind, _OTHERS) for kind in kinds}


def tried_in_turn(
    ground: Ground, counts: Mapping[str, int], calls: Sequence[Call] = CALLS
) -> Iterator[Result]:
    """Try misfortunes of several kinds.

    Args:
        ground: Where.
        counts: How many of each kind.
        calls: What is called.
    """
    for kind, count in counts.items():
        for call, misfortune in drawn(kind, count, calls=calls):
            yield tried(ground, call, misfortune)


def table(results: Sequence[Result]) -> str:
    """Return the counts as a table in Markdown: a row for each command."""
    kinds = [kind for kind in KINDS if any(each.misfortune.kind == kind for each in results)]
    hits = Counter((each.call.name, each.misfortune.kind) for each in results if each.hit)
    faults = Counter(each.call.name for each in results if each.faults)
    names = list(dict.fromkeys(each.call.name for each in results))
    rows = [["command", *kinds, "faults"]]
    for name in names:
        rows.append([name, *(str(hits[name, kind]) for kind in kinds), str(faults[name])])
    sums = [str(sum(hits[name, kind] for name in names)) for kind in kinds]
    rows.append(["all", *sums, str(sum(faults.values()))])
    return table_of(rows)
