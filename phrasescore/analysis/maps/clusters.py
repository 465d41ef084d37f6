"""Dense places of a map, each called by the words that are most typical of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LEAST = 5  # points of a cluster
_MOST = 24  # clusters, the largest
_SHARE = 200  # a cluster has at least so small a part of the points
_WORDS = 3  # of a name
_INSIDE = (0.05, 0.95)  # of its points, along x and y; a few stray far


@dataclass(frozen=True)
class PointCluster:
    """A dense place.

    Args:
        name: Its most typical words.
        members: The numbers of its points, those nearest to its middle first.
        middle: Where its name stands.
        box: Left, right, low and high ends of where nearly all of it is.
    """

    name: str
    members: NDArray[np.int64]
    middle: tuple[float, float]
    box: tuple[float, float, float, float]


def find_clusters(places: NDArray[np.float32], texts: Sequence[str]) -> list[PointCluster]:
    """Find the dense places of a map with HDBSCAN, the largest first.

    Args:
        places: ``(N, 2)``.
        texts: N phrases, or words that stand in the order of their frequency.
    """
    from sklearn.cluster import HDBSCAN

    least = max(_LEAST, len(places) // _SHARE)
    if len(places) < 2 * least:
        return []
    method = HDBSCAN(min_cluster_size=least, cluster_selection_method="leaf", copy=True)
    numbers = method.fit_predict(places)
    groups = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
    groups.sort(key=lambda rows: -len(rows))
    words = [text.split() for text in texts]
    everywhere = Counter(word for each in words for word in set(each))
    return [_cluster(places, words, everywhere, rows) for rows in groups[:_MOST]]


def _cluster(
    places: NDArray[np.float32],
    words: Sequence[Sequence[str]],
    everywhere: Counter[str],
    rows: NDArray[np.int64],
) -> PointCluster:
    there = places[rows]
    middle = np.median(there, axis=0)
    rows = rows[np.argsort(((there - middle) ** 2).sum(axis=1), kind="stable")]
    (left, low), (right, high) = np.quantile(there, _INSIDE, axis=0).tolist()
    name = _name([words[row] for row in np.sort(rows).tolist()], everywhere, len(words))
    x, y = middle.tolist()
    return PointCluster(name, rows, (x, y), (left, right, low, high))


def _name(members: Sequence[Sequence[str]], everywhere: Counter[str], total: int) -> str:
    """Return the words that are most typical: frequent here, and more so than elsewhere.

    Of words that stand here once each, which is how it is in a map of words, the first ones.
    """
    here = Counter(word for each in members for word in dict.fromkeys(each))
    weights = {
        word: count * math.log(count * total / (len(members) * everywhere[word]))
        for word, count in here.items()
    }
    return " · ".join(sorted(here, key=lambda word: -weights[word])[:_WORDS])
