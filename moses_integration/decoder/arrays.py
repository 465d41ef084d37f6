"""Arrays that grow, and arrays that hold many runs of different lengths, with their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.words.token_sequences import offsets_of


def joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the offsets for the concatenation of several arrays, given the offsets of each."""
    return offsets_of(np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)]))


def taken_runs(
    offsets: NDArray[np.int64], order: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select runs in a given order; return their new offsets, and the old index of each value.

    Args:
        offsets: The offsets of all runs, shape (runs + 1,).
        order: The indexes of the runs to select, shape (taken,).
    """
    sizes = np.diff(offsets)[order]
    new = offsets_of(sizes)
    return new, np.repeat(offsets[:-1][order] - new[:-1], sizes) + np.arange(new[-1])


def with_room(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return an array with at least ``needed`` rows: the array itself, or a longer copy.

    A copy is at least twice as long as the array, so that the total time for copies stays
    proportional to the number of rows added. The new rows are not initialised.
    """
    if needed <= len(array):
        return array
    longer = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
