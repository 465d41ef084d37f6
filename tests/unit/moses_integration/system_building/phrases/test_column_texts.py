"""Numbers are printed like in C."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from moses_integration.system_building.phrase_scoring import distinct_rows, link_texts, number_texts
from phrasescore.table.line_assembly import ColumnTexts


def spelt(column: ColumnTexts) -> list[bytes]:
    places = zip(column.begins[column.rows], column.ends[column.rows], strict=True)
    return [bytes(column.characters[begin:end]) for begin, end in places]


def printed(values: list[float]) -> list[str]:
    column = number_texts(np.array(values), b"", np.arange(len(values)))
    return [text.decode() for text in spelt(column)]


def exact(values: list[float]) -> list[str]:
    return [f"{value:.6g}" for value in values]  # Python rounds exactly


@given(values=st.lists(st.floats(0, 1e17), min_size=1))
@settings(max_examples=200)
def test_any_number(values: list[float]) -> None:
    """Every double from 0 to 10^17 is printed with six exactly rounded digits."""
    assert printed(values) == exact(values)


@given(values=st.lists(st.floats(0, 1, width=32), min_size=1))
@settings(max_examples=200)
def test_any_float32_probability(values: list[float]) -> None:
    """Every single-precision probability is exactly rounded, down to the smallest."""
    assert printed(values) == exact(values)


def test_ratios() -> None:
    """All fractions of small counts are exactly rounded, including exact ties."""
    counts = np.arange(1, 1025)
    ratios = np.float32(counts[:, None]) / np.float32(2 ** np.arange(12))
    assert printed(ratios.ravel().tolist()) == exact(ratios.ravel().tolist())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (100000.0, "100000"),
        (999999.5, "1e+06"),
        (1234567.0, "1.23457e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (0.0000999999999, "0.0001"),
        (0.001953125, "0.00195312"),  # an exact tie is rounded to the even digit
        (1.401298464324817e-45, "1.4013e-45"),
    ],
)
def test_examples(value: float, text: str) -> None:
    """Each form of number is printed correctly."""
    assert printed([value]) == [text]


@pytest.mark.parametrize("greatest", [3, 1 << 62])
def test_distinct_rows(rng: np.random.Generator, greatest: int) -> None:
    """Each distinct row is returned once, for small and large numbers."""
    columns = [rng.integers(0, 3, 200) * (greatest // 3) for _ in range(3)]
    kept, rows = distinct_rows(*columns)
    assert [part[rows].tolist() for part in kept] == [part.tolist() for part in columns]
    distinct = list(zip(*(part.tolist() for part in kept), strict=True))
    assert len(set(distinct)) == len(distinct) <= 27


@pytest.mark.parametrize("longest", [3, 9])
def test_links(longest: int) -> None:
    """Links are printed in the order of target words, also if bits take two machine words."""
    links = [[(0, 0), (2, 1)], [], [(longest - 1, longest - 1)], [(0, 0), (2, 1)]]
    masks = [sum(1 << t * longest + s for s, t in row) for row in links]
    words = [[mask & (1 << 64) - 1, mask >> 64][: 1 + (longest > 8)] for mask in masks]
    column = link_texts(np.array(words, np.uint64), longest, b"|")
    assert len(column.begins) == 3
    assert spelt(column) == [b"".join(b"%d-%d " % link for link in row) + b"|" for row in links]
