"""Differences are named in the same words everywhere."""

from __future__ import annotations

from typing import Any

import pytest

from phrasescore.errors import ResumeError
from phrasescore.runs.identity import differences, refuse_differences


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": (1, 2)}, []),
        ({"a": 1}, {"a": "x"}, ['a was 1 and is now "x"']),
        ({"a": 1}, {}, ["a was 1 and is now not set"]),
        ({}, {"a": None}, []),
        ({"z": 0, "a": 0}, {"z": 1, "a": 1}, ["a was 0 and is now 1", "z was 0 and is now 1"]),
        ({"a": "0" * 64}, {"a": "1" * 64}, ["a is another"]),
    ],
)
def test_each_difference_is_named(
    before: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    """Short values are shown, of digests and the like only that they differ."""
    assert differences(before, now) == said


def test_all_stand_in_one_sentence() -> None:
    """With the place and what to do."""
    with pytest.raises(ResumeError) as caught:
        refuse_differences({"a": 1, "b": 2}, {"a": 2, "b": 3}, "folder", "name another")
    assert str(caught.value) == (
        "folder: begun with other settings: a was 1 and is now 2; b was 2 and is now 3. "
        "Name another."
    )
