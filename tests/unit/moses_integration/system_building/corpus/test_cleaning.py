"""The choice of sentence pairs to leave out."""

from __future__ import annotations

import pytest

from moses_integration.system_building.corpus_preparation import reason_to_leave_out

W = b"w"


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ([W], [W], None),
        ([W] * 80, [W] * 80, None),
        ([W] * 81, [W] * 80, "too long"),
        ([W] * 80, [W] * 81, "too long"),
        ([W] * 9, [W], None),
        ([W] * 10, [W], "of too uneven lengths"),
        ([W] * 2, [W] * 19, "of too uneven lengths"),
        ([], [W], "empty"),
        ([W], [], "empty"),
        ([b"x" * 1000], [W], None),
        ([b"x" * 1001], [W], "with a word that is too long"),
        (["é".encode() * 1000], [W], None),
    ],
)
def test_rules_of_clean_corpus_n(
    source: list[bytes], target: list[bytes], reason: str | None
) -> None:
    """Limits are 1 to 80 words, a ratio of 9 and words of 1,000 characters, all inclusive."""
    assert reason_to_leave_out((source, target), 80) == reason


def test_without_cleaning() -> None:
    """Without cleaning, only empty sentences are reported."""
    assert reason_to_leave_out(([W] * 500, [W]), None) is None
    assert reason_to_leave_out(([], [W]), None) == "empty"
