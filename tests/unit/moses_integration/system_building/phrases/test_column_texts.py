"""Numbers are printed like in C; test_build compares whole tables."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from moses_integration.system_building.phrase_scoring import number_texts, printed_counts
from phrasescore.table.line_assembly import ColumnTexts


def spelt(column: ColumnTexts) -> list[bytes]:
    places = zip(column.begins[column.rows], column.ends[column.rows], strict=True)
    return [bytes(column.characters[begin:end]) for begin, end in places]


def printed(values: list[float]) -> list[str]:
    column = number_texts(np.array(values), b"", np.arange(len(values)))
    return [text.decode() for text in spelt(column)]


def exact(values: list[float]) -> list[str]:
    return [f"{value:.6g}" for value in values]  # Python rounds exactly


@given(values=st.lists(st.floats(0, 1e17), min_size=1))
@settings(max_examples=200)
def test_any_number(values: list[float]) -> None:
    """Every double from 0 to 10^17 is printed with six exactly rounded digits."""
    assert printed(values) == exact(values)


@given(values=st.lists(st.floats(0, 1, width=32), min_size=1))
@settings(max_examples=200)
def test_any_float32_probability(values: list[float]) -> None:
    """Every single-precision probability is exactly rounded, down to the smallest."""
    assert printed(values) == exact(values)


def test_ratios() -> None:
    """All fractions of small counts are exactly rounded, including exact ties."""
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
        (0.001953125, "0.00195312"),  # an exact tie is rounded to the even digit
        (1.401298464324817e-45, "1.4013e-45"),
    ],
)
def test_examples(value: float, text: str) -> None:
    """Each form of number is printed correctly."""
    assert printed([value]) == [text]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, 1), (999_999, 999_999), (1_000_000, 1_000_000), (1_234_567, 1_234_570)],
)
def test_large_counts(count: int, expected: int) -> None:
    """Like in Moses, counts from a million on are rounded to six digits before dividing."""
    assert printed_counts(np.array([count])).tolist() == [expected]
