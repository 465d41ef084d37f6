"""Scanning bytes in compiled code agrees with Python's methods."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.table import byte_scanning as scanning
from phrasescore.words.word_table import as_array

SEPARATORS = {
    scanning.SPACE_ONLY: b" ",
    scanning.SPACES_AND_TABS: b" \t",
    scanning.BLANKS: b" \t\r",
}
TEXTS = st.lists(st.sampled_from([b" ", b"\t", b"\r", b"\n", b"|", b"a", b"\xff", b"|||"])).map(
    b"".join
)
NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@given(TEXTS, st.sampled_from(list(SEPARATORS)))
def test_tokens(text: bytes, separators: int) -> None:
    """Tokens and trimming agree with Python's split and strip."""
    data, at, found = as_array(text), 0, []
    while (at := scanning.token_begin(data, at, len(text), separators)) < len(text):
        stop = scanning.token_end(data, at, len(text), separators)
        found.append(text[at:stop])
        at = stop
    blanks = SEPARATORS[separators]
    assert found == [token for token in re.split(b"[" + blanks + b"]", text) if token]
    begin, end = scanning.trim(data, 0, len(text), separators)
    assert text[begin:end] == text.strip(blanks)
    assert text[: scanning.trimmed_end(data, 0, len(text), separators)] == text.rstrip(blanks)


@given(TEXTS, st.integers(0, 4))
def test_columns(text: bytes, number: int) -> None:
    """Columns agree with splitting at bars; missing columns are empty."""
    columns = text.split(b"|||")
    begin, end = scanning.column_after(as_array(text), 0, len(text), number)
    assert text[begin:end] == (columns[number] if number < len(columns) else b"")


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


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("000000017", 17), ("", -1), ("1234567890", -1), ("1a", -1)]
)
def test_integers(text: str, number: int) -> None:
    """Integers have at most nine digits and nothing else."""
    assert scanning.parse_integer(as_array(text.encode()), 0, len(text)) == number
