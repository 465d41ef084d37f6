"""Draws misfortunes with a seed, and tries them."""

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
_OTHERS = 11  # trials of each other kind
_FILE_STEPS = 60
_TRIES = 12
_COSTLY_EVERY = 6  # costly calls are drawn in every sixth round
_COSTLY_KINDS = ("kill", "SIGTERM", "full disk")


def possible_kinds() -> tuple[str, ...]:
    """Return the kinds that can be tried here; only root on Linux can make a small disk."""
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
    """Yield misfortunes of a kind, for all calls in turn.

    Args:
        kind: One of ``KINDS``.
        count: The number of misfortunes.
        seed: The seed of the moments.
        calls: The calls.
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
    """Run a call with a misfortune, earlier if the call ended before it; repeat the call."""
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
    """Return the number of trials of each kind in a whole campaign."""
    return {kind: _COUNTS.get(kind, _OTHERS) for kind in kinds}


def tried_in_turn(
    ground: Ground, counts: Mapping[str, int], calls: Sequence[Call] = CALLS
) -> Iterator[Result]:
    """Try misfortunes of several kinds.

    Args:
        ground: The folder to make calls in.
        counts: The number of trials of each kind.
        calls: The calls.
    """
    for kind, count in counts.items():
        for call, misfortune in drawn(kind, count, calls=calls):
            yield tried(ground, call, misfortune)
