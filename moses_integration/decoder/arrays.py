"""Arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
