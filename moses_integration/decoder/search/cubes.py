"""The arrays of cube pruning: edges, the cells of one stack, and a heap of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.hypotheses import NONE
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined

_FIRST_EDGES, _FIRST_RANKED, _FIRST_CELLS = 1 << 12, 1 << 15, 1 << 13
_FIRST_SEEN = 1 << 13
_WORD_BITS = 64

EDGE = np.dtype(
    [
        ("estimate", np.float64),  # of what is not covered then
        ("step", np.int32),  # the span and where it leads
        ("coverage", np.int32),  # what is covered then
        ("begin", np.int32),  # the options of the span: the first, and how many
        ("columns", np.int32),
        ("first", np.int32),  # its hypotheses in ``ranked``: where they begin, and how many
        ("hypotheses", np.int32),
        ("next", np.int32),  # the next edge to the same stack
        ("seen", np.int32),  # its bits in ``seen``: where they begin, and of how many rows
        ("rows", np.int32),
        ("behind", np.int32),  # one after the last word of the span
    ],
    align=True,
)
# what all spans have to know of a hypothesis that begin at one word
RANKED = np.dtype(
    [
        ("score", np.float64),  # with the cost of the jump
        ("base", np.float64),  # with what it adds to the next phrase's score, unless they swap
        ("lm_state", np.int64),
        ("number", np.int32),
        ("start", np.int16),  # of its last phrase
        ("turn", np.int16),  # the orientation of the next phrase, unless they swap
    ],
    align=True,
)
CELL = np.dtype(
    [
        ("score", np.float64),
        ("lm_state", np.int64),
        ("edge", np.int32),
        ("row", np.int32),  # which hypothesis
        ("column", np.int32),  # which option
    ],
    align=True,
)
RANK = np.dtype([("total", np.float64), ("cell", np.int64)])


CUBES_USED = np.dtype(
    [
        ("edges", np.int64),
        ("ranked", np.int64),
        ("cells", np.int64),
        ("heap", np.int64),
        ("seen", np.int64),
    ]
)


class Cubes(NamedTuple):
    """The edges of a sentence and the cells of one stack.

    Attributes:
        edges: All edges.
        heads: First edge to each stack, shape (stacks,).
        ranked: The hypotheses of all edges; those to spans that start at one word share them.
        cells: The cells scored for the stack that is being filled.
        seen: One bit for each cell of the edges to that stack, set if it was scored; a row begins
            a new number.
        heap: Cells that were not taken yet, with their totals, the best on top.
        used: One record, how many of each are in use.
    """

    edges: Records
    heads: NDArray[np.int32]
    ranked: Records
    cells: Records
    seen: NDArray[np.uint64]
    heap: Records
    used: Records


def new_cubes(longest_sentence: int) -> Cubes:
    """Make room for the cubes of sentences of up to this many words."""
    return Cubes(
        edges=np.empty(_FIRST_EDGES, EDGE),
        heads=np.empty(longest_sentence + 1, np.int32),
        ranked=np.empty(_FIRST_RANKED, RANKED),
        cells=np.empty(_FIRST_CELLS, CELL),
        seen=np.empty(_FIRST_SEEN, np.uint64),
        heap=np.empty(_FIRST_CELLS, RANK),
        used=np.zeros(1, CUBES_USED),
    )


def with_room(cubes: Cubes) -> Cubes:
    """Return the cubes in arrays twice as long."""
    arrays = {name: getattr(cubes, name) for name in ("edges", "ranked", "cells", "seen", "heap")}
    return cubes._replace(
        **{name: np.concatenate([array, np.empty_like(array)]) for name, array in arrays.items()}
    )


@compiled
def clear_cubes(cubes: Cubes) -> None:
    """Forget all edges."""
    cubes.heads[:] = NONE
    used = cubes.used[0]
    used.edges = used.ranked = 0


@inlined
def words_per_row(columns: int) -> int:
    """Return how many numbers of ``seen`` a row of so many cells takes."""
    return (columns + _WORD_BITS - 1) // _WORD_BITS


@inlined
def note_cell(cubes: Cubes, edge: Record, row: int, column: int) -> bool:
    """Note that a cell is scored; return whether it was not before.

    Rows are met in their order: a cell of a row is looked at when one above it was taken.
    """
    words = words_per_row(edge.columns)
    first = edge.seen + row * words
    if row == edge.rows:
        edge.rows += 1
        for word in range(words):
            cubes.seen[first + word] = np.uint64(0)
    bit = np.uint64(1) << np.uint64(column % _WORD_BITS)
    place = first + column // _WORD_BITS
    is_new = cubes.seen[place] & bit == np.uint64(0)
    cubes.seen[place] |= bit
    return is_new


@inlined
def _is_better(total: float, cell: int, other: Record) -> bool:
    """Whether a cell comes before another one: of equal totals that which was scored earlier."""
    # no jumps: which is better cannot be foreseen; and == would ask whether one is no number
    return (total > other.total) | ((total >= other.total) & (cell < other.cell))


@compiled
def rise(heap: Records, size: int, total: float, cell: int) -> None:
    """Add a cell to the ``size`` cells of a heap."""
    heap = borrowed(heap)
    at = size
    while at > 0:
        parent = heap[(at - 1) // 2]
        if not _is_better(total, cell, parent):
            break
        heap[at].total, heap[at].cell = parent.total, parent.cell
        at = (at - 1) // 2
    heap[at].total, heap[at].cell = total, cell


@compiled
def sink(heap: Records, size: int, total: float, cell: int) -> None:
    """Put a cell in the place of the best of the ``size`` cells of a heap."""
    heap = borrowed(heap)
    at = 0
    child = 1
    while child < size:
        if child + 1 < size:
            other = heap[child + 1]
            child += _is_better(other.total, other.cell, heap[child])
        if _is_better(total, cell, heap[child]):
            break
        heap[at].total, heap[at].cell = heap[child].total, heap[child].cell
        at = child
        child = 2 * at + 1
    heap[at].total, heap[at].cell = total, cell
