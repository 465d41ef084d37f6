"""Indices count from the front: what is written as negative keeps its meaning, no other is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from phrasescore.compiled import Records, compiled, leaf
from tests.unit.phrasescore.compiling.test_parts import call

_RECORD = np.dtype([("count", np.int32), ("inner", np.float64, (3,))])


@leaf
def _moved(values: NDArray[Any], table: NDArray[Any], records: Records, at: np.int32) -> float:
    """Use every way to read and write that the project has."""
    values[at] += values[at + 1] + values[-1]
    table[at, 0] = table[0, at] + values[np.uint8(at)]
    row = table[at]
    row[at] = row[-1] + table[at, 1:].sum()
    table[at, 1:] = 7.0
    records[at].count += 1
    records[at].inner[at] = values[-2]
    return values[at] + (1.0, 2.0)[at]


@compiled
def _moved_by_python(values: NDArray[Any], table: NDArray[Any], records: Records, at: int) -> float:
    return _moved(values, table, records, np.int32(at))


@pytest.mark.parametrize("at", [0, 1])
def test_reading_and_writing_are_those_of_python(at: int) -> None:
    def arrays() -> tuple[NDArray[Any], ...]:
        return np.arange(4.0), np.arange(9.0).reshape(3, 3), np.zeros(2, _RECORD).view(np.recarray)

    ours, plain = arrays(), arrays()
    expected = _moved.py_func(*plain, np.int32(at))
    assert _moved_by_python(*ours, at) == expected
    for own, other in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") == "1", reason="checks of bounds compare indices, too"
)
def test_no_index_is_asked_whether_it_is_negative(tmp_path: Path) -> None:
    """In code that was compiled now, as numba does not show what it takes from its cache."""
    (tmp_path / "own.py").write_text(
        "from phrasescore.compiled import leaf\n"
        "@leaf\n"
        "def read(values, places):\n"
        "    return values[places[0]]\n"
    )
    said = call(
        tmp_path,
        """
        import numpy as np, own
        own.read(np.arange(3.0), np.array([1]))
        (code,) = own.read.inspect_llvm().values()
        body = code[code.index("define ") :].split("\\n}")[0]
        for word in ("getelementptr", "select", "icmp slt"):
            print(word in body)
        """,
    )
    assert said == ["True", "False", "False"]


def test_a_negative_index_is_found_where_bounds_are_checked(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from phrasescore.compiled import compiled\n"
        "@compiled\n"
        "def read(values, at):\n"
        "    return values[at]\n"
    )
    said = call(
        tmp_path,
        """
        import numpy as np, own
        try:
            own.read(np.arange(3), -1)
        except IndexError as error:
            print("refused")
        print(own.read(np.arange(3), 2))
        """,
        NUMBA_BOUNDSCHECK="1",
    )
    assert said == ["refused", "2"]
