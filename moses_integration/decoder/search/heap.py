"""A heap of record numbers with the best total on top; of equal totals the lower number is better.

Hypotheses, cells of cube pruning and paths of an n-best list are all ranked so: numbers are given
in the order of age.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, borrowed, compiled


@compiled
def _precedes(records: Records, one: int, other: int) -> bool:
    records = borrowed(records)
    if records[one].total != records[other].total:
        return records[one].total > records[other].total
    return one < other


@compiled
def push(records: Records, heap: NDArray[np.int32], size: int, number: int) -> None:
    """Add a number to the ``size`` numbers of a heap."""
    records, heap = borrowed((records, heap))
    at = size
    while at > 0 and _precedes(records, number, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = number


@compiled
def _sink(records: Records, heap: NDArray[np.int32], at: int, size: int) -> None:
    """Restore the heap below position ``at``."""
    records, heap = borrowed((records, heap))
    number = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _precedes(records, heap[child + 1], heap[child]):
            child += 1
        if not _precedes(records, heap[child], number):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number


@compiled
def pop(records: Records, heap: NDArray[np.int32], size: int) -> int:
    """Take the best of the ``size`` numbers of a heap, at least one."""
    records, heap = borrowed((records, heap))
    best = heap[0]
    heap[0] = heap[size - 1]
    _sink(records, heap, 0, size - 1)
    return np.int64(best)


@compiled
def sort_by_total(records: Records, numbers: NDArray[np.int32]) -> None:
    """Sort numbers of records in place, the best first."""
    records, numbers = borrowed((records, numbers))
    for at in range(numbers.size // 2 - 1, -1, -1):
        _sink(records, numbers, at, numbers.size)
    for size in range(numbers.size, 0, -1):
        numbers[size - 1] = pop(records, numbers, size)
    for at in range(numbers.size // 2):  # the best were taken first, and put last
        behind = numbers.size - 1 - at
        numbers[at], numbers[behind] = numbers[behind], numbers[at]
