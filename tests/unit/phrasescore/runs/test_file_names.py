"""Names from files become file names, or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import InputError
from phrasescore.runs.final_names import file_name


@given(st.text(st.sampled_from("a./\\\0\n\x7f\x85 é\udcff-~"), max_size=6))
def test_a_file_of_the_folder_or_none(name: str) -> None:
    """An accepted name leads to a file directly in the folder."""
    try:
        path = Path("/folder") / file_name(name, "")
    except InputError:
        assert name in ("", ".", "..") or not set("/\\\0\n\x7f\x85").isdisjoint(name)
    else:
        assert path.parent == Path("/folder")
        assert path.name == name


def test_length_is_that_of_bytes() -> None:
    """The limit applies to the UTF-8 bytes of the name with its ending."""
    assert len(file_name("é" * 113, ".gz").encode()) == 229
    with pytest.raises(InputError, match=r"the feature name 'éé.*' cannot be a file name"):
        file_name("é" * 126, ".arpa")
    with pytest.raises(InputError, match="the feature name '' cannot"):
        file_name("", ".gz")
