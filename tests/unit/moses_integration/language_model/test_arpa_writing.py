"""Numbers are printed like KenLM prints them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.language_model.kneser_ney import log10_texts, shortest_text


def written(factors: list[float]) -> list[str]:
    texts = log10_texts(np.array(factors, np.float32), b"|")
    spans = zip(texts.begins[texts.rows], texts.ends[texts.rows], strict=True)
    found = [texts.characters[begin:end].tobytes().decode() for begin, end in spans]
    assert all(text.endswith("|") for text in found)
    return [text[:-1] for text in found]


def significant(text: str) -> str:
    return text.split("e")[0].replace("-", "").replace(".", "").strip("0")


@given(
    st.lists(
        st.floats(width=32, min_value=np.float32(1e-37).item(), max_value=2)
        | st.floats(width=32, min_value=np.float32(0.999).item(), max_value=1),
        min_size=1,
    )
)
def test_shortest_digits(factors: list[float]) -> None:
    """Logarithms have the shortest digits that are read back exactly, like numpy's."""
    for text, factor in zip(written(factors), factors, strict=True):
        value = np.float32(text)
        assert value == pytest.approx(np.log10(np.float64(np.float32(factor))), rel=1e-6)
        assert significant(text) == significant(np.format_float_scientific(value, trim="-"))
        assert ("e" in text) == (value != 0 and abs(value) < 1e-6)


@pytest.mark.parametrize(
    ("factor", "text"), [(1.0, "0"), (0.1, "-1"), (1e-10, "-10"), (0.5, "-0.30103"), (100.0, "2")]
)
def test_round_logarithms(factor: float, text: str) -> None:
    """Trailing zeros after the decimal point are left out."""
    assert written([factor]) == [text]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-1.5e-10, "-1.5e-10"),
        (-0.00000625, "-0.00000625"),
        (-5.953777e-7, "-5.953777e-7"),
        (5.953777e-7, "5.953777e-7"),
        (-10.5, "-10.5"),
    ],
)
def test_notation(value: float, text: str) -> None:
    """Numbers from 1e-6 are decimal; smaller numbers have exponents without padding."""
    assert shortest_text(np.float32(value)) == text.encode()
