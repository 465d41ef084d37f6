"""Runs part of the campaign in ``make test``, and more in ``make test-all``."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from tests.hostile.calls import CALLS, commands
from tests.hostile.campaign import run_cases
from tests.hostile.cases import Case, cases, chosen
from tests.support.warm_process import WarmProcesses

# the share of all cases in the slow tests
SHARE = 0.08
# the number of cases per call in `make test`: inputs that are refused before anything is loaded
_QUICK = 3
_QUICK_GROUPS = ("names", "outputs", "numbers", "table", "text", "ini", "model", "toml", "nbest")


@pytest.fixture(scope="module")
def every() -> list[Case]:
    """Return all cases."""
    return list(cases())


@pytest.fixture(scope="module")
def faults_of(
    tmp_path_factory: pytest.TempPathFactory, warm_processes: WarmProcesses
) -> Callable[[list[Case]], list[str]]:
    """Return a function that runs cases and returns those with faults."""
    folder = tmp_path_factory.mktemp("hostile")
    return lambda cases: [
        str(result) for result in run_cases(folder, warm_processes, cases) if result.faults
    ]


def test_every_command_has_a_call() -> None:
    """Every command is in the campaign."""
    assert {words for words, _ in commands()} == {call.command for call in CALLS}


def test_every_number_has_bounds() -> None:
    """Every numeric option has a minimum and a maximum."""
    for words, command in commands():
        for option in command.params:
            kind = option.type
            assert kind is not click.INT and kind is not click.FLOAT, (words, option.name)
            if isinstance(kind, click.IntRange | click.FloatRange):
                assert kind.min is not None and kind.max is not None, (words, option.name)


def test_a_part_of_the_campaign(
    faults_of: Callable[[list[Case]], list[str]], every: list[Case]
) -> None:
    """Some hostile inputs of every command have no faults."""
    part = []
    few = chosen(every, 0.05)
    for call in CALLS:
        own = [case for case in few if case.call is call]
        part += [case for case in own if case.group in _QUICK_GROUPS][:_QUICK]
    assert len(part) > 60
    assert "\n".join(faults_of(part)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_the_campaign(
    faults_of: Callable[[list[Case]], list[str]], every: list[Case], name: str
) -> None:
    """More hostile inputs have no faults, and every undamaged call succeeds."""
    tried = [case for case in chosen(every, SHARE) if case.call.name == name]
    assert "\n".join(faults_of(tried)) == ""


def test_every_case_has_a_name_of_its_own(every: list[Case]) -> None:
    """Case names are unique, so that each case can be run again by its name."""
    names = [case.name for case in every]
    assert len(names) == len(set(names)) > 500
