"""Points in weight space: what all candidates score there, and the best of each sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from tuning.optimizers.candidate_pool import PoolArrays
from tuning.optimizers.workers import Workers


@inlined
def combine(
    features: NDArray[np.float32],
    begin: int,
    end: int,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill ``out`` with the weighted sums of features of the candidates from begin to end."""
    # a slice, because compiled code would check begin + i for a negative index every time
    out[: end - begin] = 0.0
    for feature in range(weights.size):
        weight = weights[feature]
        if weight != 0.0:
            values = features[feature, begin:end]
            for i in range(values.size):
                out[i] += weight * values[i]


class Point(NamedTuple):
    """A point in weight space as the pool sees it.

    Attributes:
        scores: (C,) the model scores of all candidates.
        winners: (S,) the best candidate of each sentence, the first of equals; -1 if none.
    """

    scores: NDArray[np.float64]
    winners: NDArray[np.int64]


@compiled
def score_candidates(
    features: NDArray[np.float32],
    starts: NDArray[np.int64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    winners: NDArray[np.int64],
) -> None:
    """Fill the fields of ``Point`` for the sentences whose candidates begin at ``starts``."""
    features, starts, weights = borrowed((features, starts, weights))
    scores, winners = borrowed((scores, winners))
    for sentence in range(winners.size):
        begin, end = starts[sentence], starts[sentence + 1]
        own = scores[begin:end]
        combine(features, begin, end, weights, own)
        best = 0
        for i in range(1, own.size):
            if own[i] > own[best]:
                best = i
        winners[sentence] = begin + best if begin < end else -1


def point_at(
    pool: PoolArrays, weights: NDArray[np.float64], workers: Workers | None = None
) -> Point:
    """Score all candidates with (F,) weights; workers may share the sentences."""
    point = Point(np.empty(pool.features.shape[1]), np.empty(len(pool.starts) - 1, np.int64))

    def score(part: slice) -> None:
        starts, winners = pool.starts[part.start : part.stop + 1], point.winners[part]
        score_candidates(pool.features, starts, weights, point.scores, winners)

    if workers:
        workers.share_range(score, len(point.winners))
    else:
        score(slice(0, len(point.winners)))
    return point
