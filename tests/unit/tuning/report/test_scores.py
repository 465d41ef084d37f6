"""Scores of a comparison, and the explanation of p-values."""

from __future__ import annotations

import dataclasses

import pytest

from tuning.metrics.significance import ComparedSystem
from tuning.report.figures import ScoreSet, about_tests, in_words, verdict

FIRST = ComparedSystem("A", (0.3, 0.31), 0.305, 0.007)
SECOND = ComparedSystem("B", (0.32, 0.33), 0.325, 0.007, 0.02, 0.01, 0.03, 0.01, 0.0123)


def said(p_value: float, gain: float = 0.02, metric: str = "bleu") -> str:
    """Return the sentence about a system with this p-value."""
    system = dataclasses.replace(
        SECOND, gain=gain, low=gain - 0.01, high=gain + 0.01, p_bootstrap=p_value
    )
    scores = ScoreSet("test", metric, (FIRST, system), 10_000)  # type: ignore[arg-type]
    assert system.difference is not None
    return in_words(scores, system, system.difference)


@pytest.mark.parametrize(
    ("p_value", "gain", "metric", "words"),
    [
        (
            0.01,
            0.02,
            "bleu",
            "better than A, hardly by chance. BLEU changes by +2.00, from 30.50 to",
        ),
        (0.01, -0.02, "bleu", "worse than A"),
        (0.01, -0.02, "ter", "better than A"),
        (0.01, -0.02, "cer", "better than A"),
        (0.05, 0.02, "bleu", "not shown to differ from A"),
        (0.53, 0.02, "bleu", "95 % interval +1.00 to +3.00, p 0.530."),
    ],
)
def test_better_worse_and_neither(p_value: float, gain: float, metric: str, words: str) -> None:
    """The level 0.05 decides; the metric decides which direction is better."""
    assert words in said(p_value, gain, metric)


def test_one_run_is_said_to_be_one() -> None:
    """The sentence about a system with one run says that other runs may differ."""
    alone = dataclasses.replace(SECOND, runs=(0.325,))
    assert alone.difference is not None
    words = in_words(ScoreSet("t", "bleu", (FIRST, alone), 100), alone, alone.difference)
    assert words.endswith("There is only one run of B; another run may differ.")
    assert "another run may differ" not in said(0.01)


def test_many_comparisons() -> None:
    """Many comparisons and dev sets get a warning."""
    many = ScoreSet("t", "bleu", (FIRST, *[SECOND] * 6), 100)
    assert any("There are 6 comparisons" in line for line in about_tests(many))
    few = dataclasses.replace(many, systems=(FIRST, SECOND))
    assert not any("comparisons" in line for line in about_tests(few))
    dev = dataclasses.replace(many, is_dev=True)
    assert [*about_tests(dev)] == [
        "Weights were tuned on this text, so every system looks better than it is."
    ]


def test_the_verdict_is_on_the_best_system() -> None:
    """The verdict is about the first text that was not tuned on; the lowest TER is the best."""
    lower = ComparedSystem("C", (0.27,), 0.27, None, -0.03, -0.04, -0.02, 0.01, 0.01)
    systems = (FIRST, SECOND, lower)
    dev = ScoreSet("dev", "bleu", systems, 100, is_dev=True)
    for metric, name in (("bleu", "B"), ("ter", "C")):
        test = ScoreSet("test", metric, systems, 100)  # type: ignore[arg-type]
        found = verdict([dev, test])
        assert found is not None
        assert (found.system.system, found.outcome) == (name, "better")
    assert verdict([dev]) is None
