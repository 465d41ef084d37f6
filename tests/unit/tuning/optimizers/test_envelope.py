"""Compares the upper envelope with brute force, and tests its rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plain_optimization import plain_envelope
from tuning.optimizers.line_search import EnvelopeSpace, envelope

Lines = list[tuple[float, float]]

# small integers, so that parallel, equal and concurrent lines are common
LINES = st.lists(
    st.tuples(st.integers(-6, 6).map(float), st.integers(-6, 6).map(float)), min_size=1, max_size=12
)


def compiled(lines: Lines) -> tuple[list[int], list[float]]:
    """Return winners and breakpoints of the compiled envelope over all steps."""
    slopes, intercepts = (np.array(side) for side in zip(*lines, strict=True))
    space = EnvelopeSpace.from_size(len(lines))
    count = envelope(slopes, intercepts, -np.inf, np.inf, space)
    return space.winners[: count + 1].tolist(), space.breakpoints[:count].tolist()


@given(LINES)
def test_the_compiled_envelope_is_the_plain_one(lines: Lines) -> None:
    """Both find equal winners and breakpoints, in rising order."""
    slopes, intercepts = (np.array(side) for side in zip(*lines, strict=True))
    winners, breakpoints = compiled(lines)
    plain_winners, plain_breakpoints = plain_envelope(slopes, intercepts)
    assert winners == plain_winners
    assert breakpoints == pytest.approx(plain_breakpoints, abs=1e-12)
    assert breakpoints == sorted(breakpoints)


def test_several_lines_that_meet_in_one_point() -> None:
    """The middle one of three wins nowhere, also above the first and the last winner's crossing."""
    lines = [(1.0, 1.0), (-1.0, 0.0), (0.0, 1.0), (2.0, 1.0), (3.0, 0.0)]
    assert compiled(lines) == ([1, 2, 3, 4], [-1.0, 0.0, 1.0])
