"""Whatever interrupts a command, repeating it gives the same files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crashes.calls import CALLS
from tests.crashes.campaign import (
    KINDS,
    TOO_LATE,
    counts_of,
    drawn,
    possible_kinds,
    tried,
    tried_in_turn,
)
from tests.crashes.trials import Ground
from tests.crashes.world import write_world
from tests.support.campaigns import table
from tests.support.warm_process import WarmProcesses


@pytest.fixture(scope="module")
def ground(
    tmp_path_factory: pytest.TempPathFactory, warm_processes: WarmProcesses
) -> Iterator[Ground]:
    """Return a folder to make calls in."""
    folder = tmp_path_factory.mktemp("crashes")
    write_world(folder)
    yield Ground(folder, warm_processes)


QUICK = [call for call in CALLS if call.name in ("prune", "translate", "filter")]


@pytest.mark.parametrize("kind", KINDS)
def test_some_of_the_campaign(ground: Ground, kind: str) -> None:
    """One misfortune of each kind is tried, on different commands."""
    if kind not in possible_kinds():
        pytest.skip("only root can make a small disk")
    (chosen,) = drawn(kind, 1, seed=KINDS.index(kind), calls=QUICK[KINDS.index(kind) % 3 :])
    result = tried(ground, *chosen)
    assert result.outcome != TOO_LATE
    assert not result.faults, str(result)


@pytest.mark.slow
def test_the_whole_campaign(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    """After a hundred kills and the other misfortunes, no work is lost and no file is left over."""
    results = list(tried_in_turn(ground, counts_of(possible_kinds())))
    with capsys.disabled():
        print("\n" + table(results))
    kills = [result for result in results if result.column == "kill"]
    assert sum(result.outcome != TOO_LATE for result in kills) == 100
    assert not [str(result) for result in results if result.faults]
