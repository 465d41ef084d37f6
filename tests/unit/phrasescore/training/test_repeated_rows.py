"""Finding equal digests on disk, part by part."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from phrasescore.training import repeated_rows
from phrasescore.training.repeated_rows import first_of_equals
from phrasescore.words.hashing import Digests, phrase_digests
from phrasescore.words.token_sequences import from_lists


def _digests(rows: list[int]) -> Digests:
    flat = from_lists([[row] for row in rows])
    digests: Digests = phrase_digests(flat.tokens, flat.offsets)
    return digests


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 20), st.integers(1, 20))
def test_the_first_of_equal_rows(rows: list[int], block: int, part: int) -> None:
    """The first of equal rows is found for all sizes of blocks and parts, over several calls."""
    digests = _digests(rows)
    blocks = [digests[begin : begin + block] for begin in range(0, len(rows), block)]
    with tempfile.TemporaryDirectory() as scratch:
        with mock.patch.object(repeated_rows, "ROWS_OF_A_PART", part):
            found = first_of_equals(iter(blocks), len(rows), Path(scratch), "name")
        again = first_of_equals([_digests([3, 3])], 2, Path(scratch), "again")
        firsts = [rows.index(row) == place for place, row in enumerate(rows)]
        assert found[:].tolist() == firsts
        assert again[:].tolist() == [True, False]
