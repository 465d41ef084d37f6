"""Which misfortunes are tried, drawn with a seed, and how they went."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.crashes.calls import CALLS, Call
from tests.crashes.trials import Ground, Misfortune, half_written, judged_end, repeated
from tests.support.campaigns import Result

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
TOO_LATE = "over before that"
_OTHERS = 11  # of each other kind
_FILE_STEPS = 60
_TRIES = 12
_COSTLY_EVERY = 6  # rounds
_COSTLY_KINDS = ("kill", "SIGTERM", "full disk")


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
    name = f"{call.name}, {misfortune.kind} at {misfortune.when:.2f}"
    result = Result(name, call.name, misfortune.kind)
    for _ in range(_TRIES):
        ground.clear()
        with ground.disk(misfortune):
            ended = ground.suffer(call, misfortune)
            if ended.status != 0:
                result.faults += judged_end(misfortune, ended)
                result.faults += half_written(ground, call)
                result.faults += repeated(ground, call)
                return result
        misfortune = misfortune.earlier()
    result.outcome = TOO_LATE
    return result


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
