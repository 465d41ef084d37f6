"""grow-diag-final-and with sets of points, like its pseudo-code; the reference for fast code."""

from __future__ import annotations

import numpy as np

from moses_integration.system_building.word_alignment import Links

Points = set[tuple[int, int]]  # (source position, target position)
_NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))


def by_target(point: tuple[int, int]) -> tuple[int, int]:
    return point[1], point[0]


def grow_diag_final_and(forward: Points, backward: Points) -> Points:
    """Join two alignments of one sentence pair."""
    joint = forward & backward
    grown = True
    while grown:
        grown = False
        visited: Points = set()
        while waiting := sorted(joint - visited, key=by_target):
            # an added point is visited in this round only if it follows the last visited point
            behind = [
                p for p in waiting if not visited or by_target(p) > max(map(by_target, visited))
            ]
            if not behind:
                break
            s, t = behind[0]
            visited.add((s, t))
            for ds, dt in _NEIGHBOURS:
                near = s + ds, t + dt
                covered = near[0] in {a for a, _ in joint} and near[1] in {b for _, b in joint}
                if near in forward | backward and not covered:
                    joint.add(near)
                    grown = True
    for direction in (forward, backward):
        for s, t in sorted(direction, key=by_target):
            if s not in {a for a, _ in joint} and t not in {b for _, b in joint}:
                joint.add((s, t))
    return joint


def links_of(sentences: list[Points]) -> Links:
    """Return the arrays of given alignments, one per sentence pair."""
    flat = np.array([p for points in sentences for p in sorted(points)], np.int32).reshape(-1, 2)
    offsets = np.cumsum([0, *(len(points) for points in sentences)])
    return Links(flat[:, 0].copy(), flat[:, 1].copy(), offsets)
