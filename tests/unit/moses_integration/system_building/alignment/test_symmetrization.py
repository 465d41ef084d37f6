"""Joining two directions of word alignment."""

from __future__ import annotations

import numpy as np
import pytest

from moses_integration.system_building.word_alignment import grow_diag_final_and
from tests.support import plain_symmetrization
from tests.support.plain_symmetrization import Points, links_of


def joined(
    pairs: list[tuple[Points, Points]], shapes: list[tuple[int, int]]
) -> list[list[tuple[int, int]]]:
    forward, backward = (links_of([pair[side] for pair in pairs]) for side in (0, 1))
    lengths = np.array(shapes).T
    joint = grow_diag_final_and(forward, backward, lengths[0], lengths[1])
    flat = list(zip(joint.sources.tolist(), joint.targets.tolist(), strict=True))
    return [flat[a:b] for a, b in zip(joint.offsets, joint.offsets[1:], strict=False)]


@pytest.mark.parametrize(
    ("forward", "backward", "expected"),
    [
        # both directions agree, and no other point is near
        ({(0, 0), (1, 1)}, {(0, 0), (1, 1)}, [(0, 0), (1, 1)]),
        # a neighbour is added only if it covers a new word
        ({(0, 0), (0, 1)}, {(0, 0), (1, 0)}, [(0, 0), (0, 1), (1, 0)]),
        ({(0, 0), (1, 1), (1, 0)}, {(0, 0), (1, 1)}, [(0, 0), (1, 1)]),
        # growing continues from added points, also diagonally
        ({(0, 0), (1, 1), (2, 2)}, {(0, 0)}, [(0, 0), (1, 1), (2, 2)]),
        # far from all points: added only if both words are free, the forward direction first
        ({(0, 0), (3, 2)}, {(0, 0), (3, 3)}, [(0, 0), (3, 2)]),
        ({(0, 0), (0, 3)}, {(0, 0)}, [(0, 0)]),
        (set(), set(), []),
    ],
)
def test_rules(forward: Points, backward: Points, expected: list[tuple[int, int]]) -> None:
    """The steps are: intersection, growing, links between two free words."""
    assert joined([(forward, backward)], [(4, 4)]) == [expected]


def test_random_alignments(rng: np.random.Generator) -> None:
    """The compiled loops give the links of the plain code, sorted by source position."""
    pairs, shapes = [], []
    for _ in range(300):
        sources, targets = (int(n) for n in rng.integers(1, 9, 2))
        forward = {(int(rng.integers(sources)), t) for t in range(targets) if rng.random() < 0.8}
        backward = {
            (s, min(s, targets - 1) if rng.random() < 0.5 else int(rng.integers(targets)))
            for s in range(sources)
            if rng.random() < 0.8
        }
        pairs.append((forward, backward))
        shapes.append((sources, targets))
    assert joined(pairs, shapes) == [
        sorted(plain_symmetrization.grow_diag_final_and(*pair)) for pair in pairs
    ]
