"""Nearest neighbours by cosine, among vectors that pass in blocks."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, order=True)
class Neighbour:
    """A text near another.

    Args:
        distance: Minus the cosine, so that the nearest comes first.
        text: The text.
    """

    distance: float
    text: bytes

    @property
    def cosine(self) -> float:
        """From -1 to 1."""
        return -self.distance


class NearestTexts:
    """Keeps the texts nearest to each of some queries; a query itself is not among them.

    Args:
        queries: Q texts.
        vectors: ``(Q, D)``.
        count: How many to keep of each.

    Attributes:
        queries: The texts.
    """

    def __init__(self, queries: Sequence[bytes], vectors: Vectors, count: int) -> None:
        self.queries, self._vectors, self._count = queries, normalised(vectors), count
        self._kept: list[list[Neighbour]] = [[] for _ in queries]

    def add(self, vectors: Vectors, text_of: Callable[[int], bytes]) -> None:
        """Compare the queries with more texts.

        Args:
            vectors: ``(N, D)``.
            text_of: Returns the text of a row.
        """
        cosines = normalised(vectors) @ self._vectors.T
        for query, found in enumerate(cosines.T):
            self._add_to(query, found, text_of)

    def _add_to(
        self, query: int, cosines: NDArray[np.float32], text_of: Callable[[int], bytes]
    ) -> None:
        kept = self._kept[query]
        rows = np.arange(len(cosines))
        if len(kept) == self._count:
            rows = np.flatnonzero(cosines >= -kept[-1].distance)
        known = {each.text for each in kept}
        for row in rows[np.argsort(-cosines[rows], kind="stable")].tolist():
            cosine = float(np.clip(cosines[row], -1, 1))
            # equal cosines go by their texts, wherever those stand
            if len(kept) == self._count and -cosine > kept[-1].distance:
                break
            text = text_of(row)
            if text != self.queries[query] and text not in known:
                known.add(text)
                bisect.insort(kept, Neighbour(-cosine, text))
                del kept[self._count :]

    def found(self) -> list[list[Neighbour]]:
        """Return the neighbours of each query, the nearest first."""
        return self._kept


def normalised(vectors: Vectors) -> Vectors:
    """Return vectors of length 1, but for those of length 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
