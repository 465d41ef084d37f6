"""The arrays of cube pruning: edges, the cells of one stack, and a heap of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.hypotheses import NONE
from phrasescore.compiled import Records, leaf

BUCKETS = 1 << 13
_FIRST_EDGES, _FIRST_RANKED, _FIRST_CELLS = 1 << 12, 1 << 15, 1 << 13

EDGE = np.dtype(
    [
        ("step", np.int32),  # the span and where it leads
        ("first", np.int32),  # its hypotheses in ``ranked``, from first on, so many
        ("hypotheses", np.int32),
        ("next", np.int32),  # the next edge to the same stack
    ]
)
CELL = np.dtype(
    [
        ("total", np.float64),
        ("score", np.float64),
        ("lm_state", np.int64),
        ("edge", np.int32),
        ("row", np.int32),  # which hypothesis
        ("column", np.int32),  # which option
        ("chain", np.int32),  # next in the same bucket
    ],
    align=True,
)


CUBES_USED = np.dtype(
    [("edges", np.int64), ("ranked", np.int64), ("cells", np.int64), ("heap", np.int64)]
)


class Cubes(NamedTuple):
    """The edges of a sentence and the cells of one stack.

    Attributes:
        edges: All edges.
        heads: First edge to each stack, shape (stacks,).
        ranked: The hypotheses of all edges.
        cells: The cells scored for the stack that is being filled.
        buckets: First cell of each bucket.
        heap: Cells that were not taken yet, the best on top.
        used: One record, how many of each are in use.
    """

    edges: Records
    heads: NDArray[np.int32]
    ranked: NDArray[np.int32]
    cells: Records
    buckets: NDArray[np.int32]
    heap: NDArray[np.int32]
    used: Records


def new_cubes(longest_sentence: int) -> Cubes:
    """Make room for the cubes of sentences of up to so many words."""
    return Cubes(
        edges=np.empty(_FIRST_EDGES, EDGE),
        heads=np.empty(longest_sentence + 1, np.int32),
        ranked=np.empty(_FIRST_RANKED, np.int32),
        cells=np.empty(_FIRST_CELLS, CELL),
        buckets=np.empty(BUCKETS, np.int32),
        heap=np.empty(_FIRST_CELLS, np.int32),
        used=np.zeros(1, CUBES_USED),
    )


def with_room(cubes: Cubes) -> Cubes:
    """Return the cubes in arrays twice as long."""
    arrays = {name: getattr(cubes, name) for name in ("edges", "ranked", "cells", "heap")}
    return cubes._replace(
        **{name: np.concatenate([array, np.empty_like(array)]) for name, array in arrays.items()}
    )


@leaf
def clear_cubes(cubes: Cubes) -> None:
    """Forget all edges."""
    cubes.heads[:] = NONE
    used = cubes.used[0]
    used.edges = used.ranked = 0
