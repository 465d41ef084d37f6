"""Numbers on the command line."""

from __future__ import annotations

import click
import pytest

from phrasescore.commands.options import SEED, BoundedFloat, BoundedInt
from phrasescore.commands.train import duration


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("+7", 7), ("1024", 1024), ("007", 7)])
def test_whole_numbers(text: str, number: int) -> None:
    assert BoundedInt(1, 1024).convert(text, None, None) == number


@pytest.mark.parametrize(
    "text", ["0", "1025", "-1", "1" + "0" * 30, "9" * 5000, "²", "1.5", "nan", "", "x"]
)
def test_whole_numbers_that_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        BoundedInt(1, 1024).convert(text, None, None)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "1.5", "-0.5", "1", "", "x"])
def test_real_numbers_that_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        BoundedFloat(0, 1, max_open=True).convert(text, None, None)


def test_real_numbers() -> None:
    kind = BoundedFloat(0, 1, min_open=True)
    assert kind.convert("1", None, None) == 1.0
    assert kind.convert("1e-300", None, None) == 1e-300
    assert kind.convert(0.25, None, None) == 0.25


@pytest.mark.parametrize("text", ["9" * 400, "9" * 5000, "nan", "inf", "²", "٣", "", "1e999"])
def test_times_are_finite(text: str) -> None:
    with pytest.raises(click.BadParameter):
        duration(text)


def test_a_seed_is_exact_in_json() -> None:
    assert float(SEED.convert(str(1 << 53), None, None)) == 1 << 53
