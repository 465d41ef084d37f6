"""The campaign: a part of it in ``make test``, more in ``make test-all``."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import click
import pytest

from tests.hostile.calls import CALLS, commands
from tests.hostile.campaign import HostileCases, Verdict
from tests.hostile.cases import Case, cases, chosen
from tests.hostile.known_failures import KNOWN

# of all cases, what is tried by the slow tests
SHARE = 0.08
# what `make test` tries of each call: inputs that are refused before anything is loaded
_QUICK = 3
_QUICK_GROUPS = ("names", "outputs", "numbers", "table", "text", "ini", "model", "toml", "nbest")


@pytest.fixture(scope="module")
def every() -> list[Case]:
    """All cases."""
    return list(cases())


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileCases]:
    """What runs cases, two at a time."""
    with HostileCases(tmp_path_factory.mktemp("hostile"), workers=2) as running:
        yield running


def test_every_command_has_a_call() -> None:
    """A new command joins the campaign."""
    assert {words for words, _ in commands()} == {call.command for call in CALLS}


def test_every_number_has_bounds() -> None:
    """No option takes a number that no machine could work with."""
    for words, command in commands():
        for option in command.params:
            kind = option.type
            assert kind is not click.INT and kind is not click.FLOAT, (words, option.name)
            if isinstance(kind, click.IntRange | click.FloatRange):
                assert kind.min is not None and kind.max is not None, (words, option.name)


def test_a_part_of_the_campaign(campaign: HostileCases, every: list[Case]) -> None:
    """Some hostile inputs of every command."""
    part = []
    few = chosen(every, 0.05)
    for call in CALLS:
        own = [case for case in few if case.call is call]
        part += [case for case in own if case.group in _QUICK_GROUPS][:_QUICK]
    assert len(part) > 60
    _check(campaign.run(part), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_the_campaign(campaign: HostileCases, every: list[Case], name: str) -> None:
    """Hostile inputs, and the call itself, which must work for the rest to mean anything."""
    tried = [case for case in chosen(every, SHARE) if case.call.name == name]
    _check(campaign.run(tried), whole=True)


def _check(verdicts: Iterator[Verdict], *, whole: bool) -> None:
    """Compare what is wrong with what is known to be."""
    faults, known, tried = [], set(), list[Case]()
    for verdict in verdicts:
        tried.append(verdict.case)
        patterns = [pattern for pattern in KNOWN if fnmatchcase(verdict.case.name, pattern)]
        if verdict.faults and patterns:
            known.update(patterns)
        elif verdict.faults:
            faults.append(str(verdict))
    assert not faults, "\n".join(faults)
    if whole:
        mended = {
            pattern
            for pattern in KNOWN
            if pattern not in known and any(fnmatchcase(case.name, pattern) for case in tried)
        }
        assert not mended, f"mended, take it off known_failures.py: {mended}"


def test_every_case_has_a_name_of_its_own(every: list[Case]) -> None:
    """By which it can be run again."""
    names = [case.name for case in every]
    assert len(names) == len(set(names)) > 500
