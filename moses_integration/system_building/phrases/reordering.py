"""The lexicalised reordering model wbe-msd-bidirectional-fe: orientation given the phrase pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TYPE = "wbe-msd-bidirectional-fe"
SMOOTHING = 0.5  # train-model.perl's: added to each count


def orientation_probabilities(orientations: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return p(orientation | pair), (pairs, 6) float64, in the order of the table's columns.

    Args:
        orientations: (pairs, 6), how often monotone, swapped and other, towards the phrase before
            and then towards the phrase after.

    >>> orientation_probabilities(np.array([[1, 0, 0, 0, 0, 1]])).round(3).tolist()
    [[0.6, 0.2, 0.2, 0.2, 0.2, 0.6]]
    """
    smoothed = orientations.reshape(-1, 2, 3) + SMOOTHING
    probabilities: NDArray[np.float64] = smoothed / smoothed.sum(axis=2, keepdims=True)
    return probabilities.reshape(-1, 6)
