"""Numbers in files, and text that only Python accepts as a number."""

from __future__ import annotations

import pytest

from phrasescore.table.input_files import whole_number

ODD = ["", " 1", "1 ", "1_0", "\u00b2", "\u0661", "0x1", "one", "1\n", "\udcff", "\0"]


@pytest.mark.parametrize(
    "text", [*ODD, "+1", "-1", "1.0", "1e3", "101", "1" + "0" * 30, "9" * 5000]
)
def test_no_whole_number(text: str) -> None:
    """Signs, points, blanks, non-ASCII digits, and numbers beyond the bound are refused."""
    assert whole_number(text, 100) is None
    assert whole_number(text.encode("utf-8", "surrogateescape"), 100) is None


def test_whole_numbers() -> None:
    """Numbers are read up to the bound, with or without leading zeros."""
    read = [whole_number(text, 100) for text in ("0", "7", "007", "100", b"42")]
    assert read == [0, 7, 7, 100, 42]
