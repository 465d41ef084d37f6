"""Numbers are printed as C prints them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from moses_integration.system_building.phrases.number_text import WIDTH, six_digits


def printed(values: list[float]) -> list[str]:
    texts = six_digits(np.array([values]))
    rows = zip(texts.characters[0], texts.lengths[0], strict=True)
    return [bytes(text[:length]).decode() for text, length in rows]


def exact(values: list[float]) -> list[str]:
    return [f"{value:.6g}" for value in values]  # Python rounds exactly


@given(values=st.lists(st.floats(0, 1e17), min_size=1))
@settings(max_examples=200)
def test_any_number(values: list[float]) -> None:
    """Every double from 0 to 10^17 has the six digits of exact rounding."""
    assert printed(values) == exact(values)


@given(values=st.lists(st.floats(0, 1, width=32), min_size=1))
@settings(max_examples=200)
def test_any_float32_probability(values: list[float]) -> None:
    """So has every probability in single precision, down to the smallest."""
    assert printed(values) == exact(values)


def test_ratios() -> None:
    """So have all fractions of small counts, among them those exactly between two texts."""
    counts = np.arange(1, 1025)
    ratios = np.float32(counts[:, None]) / np.float32(2 ** np.arange(12))
    assert printed(ratios.ravel().tolist()) == exact(ratios.ravel().tolist())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (100000.0, "100000"),
        (999999.5, "1e+06"),
        (1234567.0, "1.23457e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.0000999999999, "0.0001"),
        (0.001953125, "0.00195312"),  # exactly between: to the even digit
        (1.401298464324817e-45, "1.4013e-45"),
    ],
)
def test_examples(value: float, text: str) -> None:
    """The cases that differ in form."""
    assert printed([value]) == [text]
    assert len(text) <= WIDTH
