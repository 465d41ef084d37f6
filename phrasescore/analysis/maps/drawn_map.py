"""A map that is laid out: what page and picture show of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.maps.clusters import PointCluster
from phrasescore.pictures.figure_files import COLOURS

NO_CLUSTER = "#8a8f98"  # of points in none; grey enough on white and on black
# black, the last, is not seen on a dark page
_OF_CLUSTERS = COLOURS[:-1]


@dataclass(frozen=True)
class DrawnMap:
    """Points and their clusters.

    Args:
        title: What it is a map of.
        subtitle: From what, and how it was made.
        noun: What a point is, e.g. ``phrase``.
        texts: N of them.
        places: ``(N, 2)``.
        clusters: The largest first.
    """

    title: str
    subtitle: str
    noun: str
    texts: tuple[str, ...]
    places: NDArray[np.float32]
    clusters: tuple[PointCluster, ...]

    def cluster_numbers(self) -> NDArray[np.int64]:
        """(N,) the cluster of each point, -1 for none."""
        numbers = np.full(len(self.texts), -1, np.int64)
        for number, cluster in enumerate(self.clusters):
            numbers[cluster.members] = number
        return numbers

    def colours(self) -> list[str]:
        """(N,) the colour of each point."""
        return [
            NO_CLUSTER if number < 0 else cluster_colour(number)
            for number in self.cluster_numbers().tolist()
        ]


def cluster_colour(number: int) -> str:
    """Return the colour of a cluster; they come again, so clusters are told by number, too."""
    return _OF_CLUSTERS[number % len(_OF_CLUSTERS)]
