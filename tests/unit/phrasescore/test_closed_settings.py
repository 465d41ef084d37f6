"""Typed settings without unknown keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import SettingsError


@dataclass(frozen=True)
class Example:
    """Settings of every kind."""

    hidden: int
    rate: float = 1.0
    unit: Literal["gated", "tanh"] = "gated"
    limit: int | None = None
    verbose: bool = False
    version: Literal[1] = 1


Share = Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class Nested:
    """Bounds, and lists and tables of one kind."""

    share: Share | None = None
    shares: tuple[Share, ...] = ()
    lists: dict[str, tuple[Share, ...]] = field(default_factory=dict)
    examples: dict[str, Example] = field(default_factory=dict)
    some: tuple[str, ...] | None = None
    rows: tuple[Example, ...] = ()


def test_values_and_defaults() -> None:
    """Missing values get their defaults, and an int is accepted as a float."""
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
        ({"hidden": 3, "version": True}, "here: version is True, which is none of: 1"),
        ({"hidden": 3, "limit": "no"}, "here: limit is 'no', expected int"),
        ({"hidden": 3, "rate": 10**400}, r"here: rate is 10{79}\.\.\., expected float"),
        ({"hidden": "3" * 10**7}, r"here: hidden is '3{79}\.\.\., expected int"),
        ({"hidden": 3, "x" * 10**6: 1}, r"here: unknown setting x{80}\.\.\.$"),
        ({"hidden": 3, "\x1b\ud800": 1}, r"here: unknown setting \\x1b\\ud800$"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], text: str) -> None:
    """Unknown, missing and mistyped settings are errors with the expected type."""
    with pytest.raises(SettingsError) as error:
        from_mapping(Example, values, where="here")
    assert re.match(text, error.value.problem)


def test_lists_and_tables_of_one_kind() -> None:
    """Lists and tables are read completely; unknown keys are ignored on request."""
    values = {
        "share": 1, "shares": [0, 0.5], "lists": {"a": [1]}, "examples": {"x": {"hidden": 1}},
        "some": ["b"], "other": 1,
    }  # fmt: skip
    found = from_mapping(Nested, values, where="here", only_known=False)
    assert found == Nested(1.0, (0.0, 0.5), {"a": (1.0,)}, {"x": Example(1)}, ("b",))
    assert from_mapping(Nested, {"share": None, "some": None}, where="here") == Nested()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"share": 1.5}, "here: share is 1.5, expected 0 to 1$"),
        ({"share": "1"}, "here: share is '1', expected float$"),
        ({"shares": [0.5, -1]}, r"here: \[shares\] is -1, expected 0 to 1$"),
        ({"shares": 1}, "here: shares is 1, expected a list$"),
        ({"lists": {"a": [2]}}, r"here: \[lists\]: \[a\] is 2, expected 0 to 1$"),
        ({"lists": {"a\x1b": 2}}, r"here: \[lists\]: a\\x1b is 2, expected a list$"),
        ({"lists": [1]}, r"here: lists is \[1\], expected dict$"),
        ({"examples": {"x": {"hiden": 1}}}, r"here: \[examples\]: \[x\]: unknown setting hiden"),
        ({"examples": {"x": 1}}, r"here: \[examples\]: x is 1, expected a table of settings$"),
        ({"rows": [{"hidden": "a"}]}, r"here: \[\[rows\]\]: hidden is 'a', expected int$"),
        ({"some": [1]}, r"here: \[some\] is 1, expected str$"),
    ],
)
def test_what_does_not_fit_inside_is_refused(values: dict[str, Any], text: str) -> None:
    """Errors name the place within lists and tables."""
    with pytest.raises(SettingsError) as error:
        from_mapping(Nested, values, where="here")
    assert re.match(text, error.value.problem), error.value.problem
