"""Orientations of phrases (Koehn et al. 2005; Galley and Manning 2008), as in Moses's LRModel.

Every model type classes a phrase by the span before it. The decoder works with the finest classes,
and each model maps them to its own.
"""

from __future__ import annotations

from phrasescore.compiled import leaf

MONOTONE, SWAP, LEFT, RIGHT = 0, 1, 2, 3
CLASSES = 4

# model type -> the column of each of the finest classes
COLUMNS = {
    "msd": (0, 1, 2, 2),
    "mslr": (0, 1, 2, 3),
    "monotonicity": (0, 1, 1, 1),
    "leftright": (0, 1, 1, 0),
}


@leaf
def orientation(previous_start: int, previous_end: int, start: int, end: int) -> int:
    """Return the class of the phrase ``start`` to ``end`` after another one.

    For the first phrase both previous positions are -1: it is monotone at the beginning of the
    sentence, otherwise discontinuous to the right.
    """
    if start == previous_end + 1:
        return MONOTONE
    if previous_start == end + 1:
        return SWAP
    if start > previous_end:
        return RIGHT
    return LEFT
