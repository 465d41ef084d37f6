"""Choices and rounding in phrase scores; test_build compares whole tables."""

from __future__ import annotations

import numpy as np
import pytest

from moses_integration.system_building.phrase_scoring import printed_counts


@pytest.mark.parametrize(
    ("count", "printed"),
    [(1, 1), (999_999, 999_999), (1_000_000, 1_000_000), (1_234_567, 1_234_570)],
)
def test_large_counts(count: int, printed: int) -> None:
    """Like in Moses, counts from a million on are rounded to six digits before dividing."""
    assert printed_counts(np.array([count])).tolist() == [printed]
