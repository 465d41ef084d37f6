"""Differences of settings are described in consistent words."""

from __future__ import annotations

from typing import Any

import pytest

from phrasescore.runs.identity import differences


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": (1, 2)}, []),
        ({"a": 1}, {"a": "x"}, ['a was 1 and is now "x"']),
        ({"a": 1}, {}, ["a was 1 and is now not set"]),
        ({}, {"a": []}, ["a was not set and is now []"]),
        ({}, {"a": None}, []),
        ({"z": 0, "a": 0}, {"z": 1, "a": 1}, ["a was 0 and is now 1", "z was 0 and is now 1"]),
        ({"a": "0" * 64}, {"a": "1" * 64}, ["a has changed"]),
    ],
)
def test_each_difference_is_named(
    before: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    """Short values are shown; for digests and the like, only the fact of a difference."""
    assert differences(before, now) == said
