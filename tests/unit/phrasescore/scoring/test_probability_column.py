"""Moses's reading of the written numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.scoring.probability_column import FLOOR_TEXT, count_texts, probability_texts


def as_moses_reads(text: bytes) -> float:
    """Return max(ln(float32(text)), -100), like Moses's FloorScore(TransformScore(...))."""
    value = np.float32(text.decode())
    return max(float(np.log(value)), -100.0) if value > 0 else -100.0


def test_floor_is_exact() -> None:
    """At the floor Moses reads exactly -100; exp(-100) with nine digits would not give that."""
    assert as_moses_reads(FLOOR_TEXT) == -100.0
    assert math.log(float(FLOOR_TEXT)) == pytest.approx(-100.0, abs=0.003)
    assert as_moses_reads(b"%.9g" % math.exp(-100)) > -99.99


@given(st.lists(st.floats(-250.0, 0.0), min_size=2))
def test_order_is_kept(values: list[float]) -> None:
    """A more probable pair never gets a smaller number."""
    ln_p = np.sort(np.array(values))
    numbers = [float(text) for text in probability_texts(ln_p)]
    assert numbers == sorted(numbers)
    assert all(text == FLOOR_TEXT for text in probability_texts(ln_p[ln_p <= -100]))


def test_counts() -> None:
    """Moses's logarithm of a written count is the count, and stays finite beyond float32."""
    counts = np.array([0, 1, 2, 17, 88, 89, 1000])
    read = [as_moses_reads(text) for text in count_texts(counts)]
    assert read == pytest.approx([0, 1, 2, 17, 88, 88, 88], abs=1e-5)
