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
        ("first", np.int32),  # its hypotheses in ``ranked``: where they begin, and how many
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


class Cubes(NamedTuple):
    """The edges of a sentence and the cells of one stack.

    Attributes:
        edges: All edges.
        heads: First edge to each stack, shape (stacks,).
        ranked: The hypotheses of all edges.
        cells: The cells scored for the stack that is being filled.
        buckets: First cell of each bucket.
        heap: Cells that were not taken yet, the best on top.
        used: Four numbers: edges, ranked hypotheses, cells, and the size of the heap.
    """

    edges: Records
    heads: NDArray[np.int32]
    ranked: NDArray[np.int32]
    cells: Records
    buckets: NDArray[np.int32]
    heap: NDArray[np.int32]
    used: NDArray[np.int64]


def new_cubes(longest_sentence: int) -> Cubes:
    """Make room for the cubes of sentences of up to this many words."""
    return Cubes(
        np.empty(_FIRST_EDGES, EDGE),
        np.empty(longest_sentence + 1, np.int32),
        np.empty(_FIRST_RANKED, np.int32),
        np.empty(_FIRST_CELLS, CELL),
        np.empty(BUCKETS, np.int32),
        np.empty(_FIRST_CELLS, np.int32),
        np.zeros(4, np.int64),
    )


def with_room(cubes: Cubes) -> Cubes:
    """Return the cubes in arrays twice as long."""
    return cubes._replace(
        edges=np.concatenate([cubes.edges, np.empty_like(cubes.edges)]),
        ranked=np.concatenate([cubes.ranked, np.empty_like(cubes.ranked)]),
        cells=np.concatenate([cubes.cells, np.empty_like(cubes.cells)]),
        heap=np.concatenate([cubes.heap, np.empty_like(cubes.heap)]),
    )


@leaf
def clear_cubes(cubes: Cubes) -> None:
    """Forget all edges."""
    cubes.heads[:] = NONE
    cubes.used[:] = 0


@leaf
def _precedes(cubes: Cubes, one: int, other: int) -> bool:
    """Whether a cell is better than another, or as good and older."""
    if cubes.cells[one].total != cubes.cells[other].total:
        return cubes.cells[one].total > cubes.cells[other].total
    return one < other


@leaf
def push(cubes: Cubes, cell: int) -> None:
    """Put a cell on the heap."""
    at = cubes.used[3]
    cubes.used[3] += 1
    while at > 0 and _precedes(cubes, cell, cubes.heap[(at - 1) // 2]):
        cubes.heap[at] = cubes.heap[(at - 1) // 2]
        at = (at - 1) // 2
    cubes.heap[at] = cell


@leaf
def pop(cubes: Cubes) -> int:
    """Take the best cell from the heap, which is not empty."""
    top = cubes.heap[0]
    cubes.used[3] -= 1
    size = cubes.used[3]
    last = cubes.heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _precedes(cubes, cubes.heap[child + 1], cubes.heap[child]):
            child += 1
        if not _precedes(cubes, cubes.heap[child], last):
            break
        cubes.heap[at] = cubes.heap[child]
        at = child
    cubes.heap[at] = last
    return np.int64(top)
