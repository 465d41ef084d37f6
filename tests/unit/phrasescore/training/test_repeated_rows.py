"""Finding equal digests on disk, part by part."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.training.repeated_rows import DiskArray, first_of_equals, write_npy
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
        found = first_of_equals(iter(blocks), len(rows), Path(scratch), "name", part)
        again = first_of_equals([_digests([3, 3])], 2, Path(scratch), "again")
        firsts = [rows.index(row) == place for place, row in enumerate(rows)]
        assert found[...].tolist() == firsts
        assert again[...].tolist() == [True, False]


def test_disk_array(tmp_path: Path) -> None:
    """Rows can be read by slices and written at any place."""
    array = DiskArray(tmp_path / "rows", (np.uint64, 2), 3)
    array[1] = np.array([[1, 2], [3, 4]])
    assert len(array) == 3
    assert array[...].tolist() == [[0, 0], [1, 2], [3, 4]]
    assert array[1:2].tolist() == [[1, 2]]
    assert array[2:9].tolist() == [[3, 4]]
    assert array[3:9].shape == (0, 2)
    assert [block.tolist() for block in array.blocks()] == [[[0, 0], [1, 2], [3, 4]]]


def test_parts_are_written_as_one_array(tmp_path: Path) -> None:
    """The file equals that of ``np.save``."""
    numbers = np.arange(5, dtype=np.uint16)
    np.save(tmp_path / "whole.npy", numbers)
    write_npy(
        tmp_path / "parts.npy", np.uint16, 5, iter([numbers[:2].astype(np.int32), numbers[2:]])
    )
    assert (tmp_path / "parts.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
