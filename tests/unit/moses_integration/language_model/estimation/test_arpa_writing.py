"""Numbers as KenLM prints them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.language_model.estimation.arpa_writing import format_float32


def written(value: float) -> str:
    room = np.zeros(64, np.uint8)
    return room[: format_float32(np.float32(value), room, 0)].tobytes().decode()


@given(
    st.floats(width=32, min_value=-1000, max_value=0)
    | st.floats(width=32, min_value=np.float32(-1e-4).item(), max_value=0)
)
def test_shortest_digits(value: float) -> None:
    """As many digits as it takes to read the number back, as numpy chooses them."""
    if value != 0 and abs(value) < 1e-30:  # no log10 of a float32 is that near 0
        return
    expected = np.format_float_scientific(np.float32(value), trim="-")
    digits, exponent = written(value), ""
    if "e" in digits:
        digits, exponent = digits.split("e")
    assert np.float32(written(value)) == np.float32(value)
    significant = digits.replace("-", "").replace(".", "").strip("0")
    assert significant == expected.split("e")[0].replace("-", "").replace(".", "").strip("0")
    assert bool(exponent) == (value != 0 and abs(value) < 1e-6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1.5e-10, "-1.5e-10"),
        (-1.0, "-1"),
        (-10.0, "-10"),
        (-99.0, "-99"),
        (-10.5, "-10.5"),
        (-0.30103, "-0.30103"),
        (-4.0831437, "-4.0831437"),
        (-0.00000625, "-0.00000625"),
        (-5.953777e-7, "-5.953777e-7"),
        (-9.9999999, "-10"),
    ],
)
def test_notation(value: float, text: str) -> None:
    """Decimal notation from 1e-6 up, exponents without padding below."""
    assert written(value) == text
