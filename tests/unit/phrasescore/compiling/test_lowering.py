"""What is lowered in fewer statements does what numba's own does, and what Python does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from phrasescore.compiled import Records, compiled, leaf
from tests.unit.phrasescore.compiling.test_parts import call

_RECORD = np.dtype([("count", np.int32), ("score", np.float64)])
_PACKED = np.dtype([("flag", np.uint8), ("score", np.float64)])


class _Pair(NamedTuple):
    values: NDArray[Any]
    scale: float


class _Nest(NamedTuple):
    first: _Pair
    second: _Pair


@compiled
def _items(nest: _Nest, table: NDArray[Any], records: Records, flags: NDArray[Any]) -> float:
    values = nest.first.values
    for row in range(table.shape[0]):
        for column in range(table.shape[-1]):
            table[row, column] += values[column] * nest.second.scale + table[0, column]
            flags[column] = flags[column] != (table[row, column] > 3)
    for at in range(len(records)):
        records[at].count += at
        records[at].score = records[at].count + values[-1] + records.size
    kept = nest.second if flags[0] else nest.first
    return table[1, 1] + kept.values[np.int8(1)] + (len(table), 2.0)[0] + table.size


@leaf
def _items_of_a_leaf(
    nest: _Nest, table: NDArray[Any], records: Records, flags: NDArray[Any]
) -> float:
    return _items_inside(nest, table, records, flags)


_items_inside = leaf(_items.py_func)  # type: ignore[attr-defined]


@pytest.mark.parametrize("function", [_items, _items_of_a_leaf])
@pytest.mark.parametrize("layout", ["C", "F", "A"])
@pytest.mark.parametrize("kind", [_RECORD, _PACKED])
def test_items_and_fields(function: Any, layout: str, kind: np.dtype[Any]) -> None:
    """In arrays of every layout, with records that are not aligned, flags, tuples in tuples."""

    def arrays() -> tuple[Any, ...]:
        fields = np.zeros(4, [("count", np.int32), *kind.descr] if kind is _PACKED else kind)
        flat = np.arange(24.0).reshape(4, 6)
        table = {"C": flat[:2].copy(), "F": flat.T.copy().T[:, :2], "A": flat[::2, ::2]}[layout]
        pair = _Pair(np.arange(6.0)[:: 2 if layout == "A" else 1], 0.5)
        flags = np.zeros(6, np.bool_)
        return _Nest(pair, pair._replace(scale=2.0)), table, fields.view(np.recarray), flags

    ours, plain = arrays(), arrays()
    assert function(*ours) == _items.py_func(*plain)  # type: ignore[attr-defined]
    for own, other in zip(ours[1:], plain[1:], strict=True):
        np.testing.assert_array_equal(own, other)


@compiled
def _swapped(pairs: _Nest, times: int) -> NDArray[Any]:
    first, second = pairs.first.values, pairs.second.values
    for _ in range(times):
        first, second = second, np.concatenate((first, pairs[0].values))[: len(first)]
    return second


def test_references_are_counted() -> None:
    """What a compiled function takes out of a tuple, assigns anew and returns stays alive."""
    one, other = np.arange(3.0), np.arange(3.0) + 7
    nest = _Nest(_Pair(one, 1.0), _Pair(other, 1.0))
    counts = sys.getrefcount(one), sys.getrefcount(other)
    for times in (0, 1, 2, 5):
        expected = _swapped.py_func(nest, times)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(_swapped(nest, times), expected)
    del expected
    assert (sys.getrefcount(one), sys.getrefcount(other)) == counts


@pytest.mark.parametrize("setting", ["NUMBA_DEBUGINFO", "NUMBA_BOUNDSCHECK"])
def test_who_debugs_gets_all_that_numba_says(tmp_path: Path, setting: str) -> None:
    (tmp_path / "own.py").write_text(
        "from phrasescore.compiled import compiled\n"
        "@compiled\n"
        "def total(values):\n"
        "    sum = 0\n"
        "    for place in range(len(values)):\n"
        "        sum += values[place]\n"
        "    return sum\n"
    )
    code = "import numpy as np, own; print(own.total(np.arange(4)))"
    assert call(tmp_path, code, **{setting: "1"}) == ["6"]


def test_others_functions_are_compiled_as_ever(tmp_path: Path) -> None:
    """Numba has its own methods back, even after a function that cannot be compiled."""
    (tmp_path / "own.py").write_text(
        "from phrasescore.compiled import compiled\n"
        "@compiled\n"
        "def wrong(values):\n"
        "    return values + 'text'\n"
    )
    code = """
        from numba.core.postproc import PostProcessor
        from numba.core.types.functions import BaseFunction
        before = PostProcessor.run, BaseFunction.get_call_type
        import own
        try:
            own.wrong(1)
        except Exception as error:
            print(type(error).__name__)
        print(before == (PostProcessor.run, BaseFunction.get_call_type))
    """
    assert call(tmp_path, code) == ["TypingError", "True"]
