"""Closed, typed settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import SettingsError


@dataclass(frozen=True)
class Example:
    """Settings of every kind."""

    hidden: int
    rate: float = 1.0
    unit: Literal["gated", "tanh"] = "gated"
    limit: int | None = None
    verbose: bool = False


def test_values_and_defaults() -> None:
    """Given values are taken, the others have their defaults, an int may stand for a float."""
    found = from_mapping(Example, {"hidden": 3, "rate": 2, "limit": 5}, where="here")
    assert found == Example(3, 2.0, "gated", 5)
    assert isinstance(found.rate, float)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"hiden": 3}, r"here: unknown setting hiden \(did you mean hidden\?\)"),
        ({}, "here: the setting hidden is missing"),
        ({"hidden": "3"}, "here: hidden is '3', expected int"),
        ({"hidden": True}, "here: hidden is True, expected int"),
        ({"hidden": 3.5}, "here: hidden is 3.5, expected int"),
        ({"hidden": 3, "unit": "lstm"}, "here: unit is 'lstm', which is none of: gated, tanh"),
        ({"hidden": 3, "limit": "no"}, "here: limit is 'no', expected int or NoneType"),
        ({"hidden": 3, "rate": 10**400}, r"here: rate is 10{79}\.\.\., expected float"),
        ({"hidden": "3" * 10**7}, r"here: hidden is '3{79}\.\.\., expected int"),
        ({"hidden": 3, "x" * 10**6: 1}, r"here: unknown setting x{80}\.\.\.$"),
        ({"hidden": 3, "\x1b\ud800": 1}, r"here: unknown setting \\x1b\\ud800$"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], text: str) -> None:
    """Unknown, missing and mistyped settings are errors that say what was expected."""
    with pytest.raises(SettingsError) as error:
        from_mapping(Example, values, where="here")
    assert re.match(text, error.value.problem)
