"""What p-values mean, in words that are true."""

from __future__ import annotations

import dataclasses

import pytest

from tuning.metrics.significance import SystemDifference, SystemScores
from tuning.report.contents import ScoreSet
from tuning.report.plain_words import about_tests, in_words, shown_p

FIRST = SystemScores("A", (0.3, 0.31))
SECOND = SystemScores("B", (0.32, 0.33), SystemDifference(0.02, 0.01, 0.03, 0.01, 0.01, 0.0123))


def said(p_value: float, gain: float = 0.02, **changes: object) -> str:
    """What is said of a system with some p-value."""
    system = dataclasses.replace(
        SECOND,
        difference=SystemDifference(gain, gain - 0.01, gain + 0.01, p_value, p_value, p_value),
    )
    scores = ScoreSet("test", "bleu", (FIRST, system), 10_000)
    return in_words(dataclasses.replace(scores, **changes), system)  # type: ignore[arg-type]


def test_better_worse_and_neither() -> None:
    """The level of 0.05 decides; which way is better depends on the metric."""
    assert "better than A, hardly by chance. BLEU moves by +2.00, from 30.50 to 32.50" in said(0.01)
    assert "worse than A" in said(0.01, -0.02)
    assert "better than A" in said(0.01, -0.02, metric="ter")
    assert "not shown to differ from A" in said(0.05)
    assert in_words(ScoreSet("test", "bleu", (FIRST,), 100), FIRST) == ""


@pytest.mark.parametrize(
    ("p_value", "often"),
    [
        (0.53, "in 53 of 100 trials"),
        (0.0123, "in 1 of 100 trials"),
        (0.004, "in 4 of 1,000 trials"),
        (0.0004, "in 4 of 10,000 trials"),
        (1 / 10_001, "in fewer than 1 of 10,000 trials"),
    ],
)
def test_how_often(p_value: float, often: str) -> None:
    """As many trials as it takes to count some."""
    assert often in said(p_value)


def test_one_run_is_said_to_be_one() -> None:
    """Nothing is known of other runs of it."""
    alone = dataclasses.replace(SECOND, runs=(0.325,))
    assert in_words(ScoreSet("t", "bleu", (FIRST, alone), 100), alone).endswith(
        "One run of B: another may differ."
    )
    assert "another may differ" not in said(0.01)


def test_p_values_as_they_are_shown() -> None:
    """Two digits; the least that there can be is a bound."""
    assert [shown_p(p, 10_000) for p in (0.5298, 0.0123, 0.0005, 1 / 10_001)] == [
        "0.53", "0.012", "0.0005", "<0.0001",
    ]  # fmt: skip
    assert shown_p(1 / 501, 500) == "<0.002"


def test_many_comparisons() -> None:
    """Six of them need a word of warning; a dev set needs another, and no test."""
    many = ScoreSet("t", "bleu", (FIRST, *[SECOND] * 6), 100)
    assert any("Among 6 comparisons" in line for line in about_tests(many))
    assert not any("comparisons" in line for line in about_tests(dataclasses.replace(
        many, systems=(FIRST, SECOND)
    )))  # fmt: skip
    assert [*about_tests(dataclasses.replace(many, is_dev=True))] == [
        "Weights were tuned on this text, which flatters every system."
    ]
