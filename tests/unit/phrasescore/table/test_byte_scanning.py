"""Scanning bytes in compiled code agrees with Python's methods."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.table import byte_scanning as scanning
from phrasescore.words.word_table import as_array

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(lambda value: repr(value).encode()),
        st.lists(st.sampled_from([*"0123456789" * 2, *".+-eE x"]), max_size=30).map(
            lambda letters: "".join(letters).encode()
        ),
    )
)
def test_decimals(text: bytes) -> None:
    """Numbers end where the grammar says; numbers marked as exact are the nearest doubles."""
    value, stop, exact = scanning.parse_decimal(as_array(text), 0, len(text))
    match = NUMBER.match(text)
    assert stop == (match.end() if match else 0)
    if match is None:
        assert not exact
        return
    expected = float(match[0])
    if exact:
        assert value == expected and np.signbit(value) == np.signbit(expected)
    elif 1e-290 < abs(expected) < 1e300:
        assert value == pytest.approx(expected, rel=1e-15)
    elif abs(expected) <= 1e-290:
        assert abs(value) < 1e-289
    else:
        assert abs(value) > 1e299
