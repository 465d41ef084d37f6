"""Arrays that grow, and many sequences of unequal lengths in one array, told apart by offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def offsets_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where runs of these sizes begin, and the end of the last one, shape (runs + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the offsets of several arrays, for these arrays joined."""
    return offsets_of(np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)]))


def taken_runs(
    offsets: NDArray[np.int64], order: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take some runs in another order: return their new offsets, and where each value comes from.

    Args:
        offsets: Of all runs, shape (runs + 1,).
        order: Which runs to take, shape (taken,).
    """
    sizes = np.diff(offsets)[order]
    new = offsets_of(sizes)
    return new, np.repeat(offsets[:-1][order] - new[:-1], sizes) + np.arange(new[-1])


def with_room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return an array that has at least ``needed`` rows: the same one, or a longer copy.

    A copy is at least twice as long, so that the time to copy stays in proportion to what is added.
    Its new rows are not initialised.
    """
    if needed <= len(array):
        return array
    longer = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
