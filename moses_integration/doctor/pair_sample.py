"""A sample of phrase pairs by their digests: two tables' samples hold the same pairs or differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST = 1 << 22


class PairSample:
    """Keeps the pairs whose digests are divisible by 2^k, with k as small as memory allows.

    Whether a pair is kept depends on the pair alone, so the samples of two tables are comparable.

    Args:
        most: How many digests to keep at most.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._parts: list[NDArray[np.uint64]] = []
        self._kept = 0
        self.shift = 0

    def add(self, digests: NDArray[np.uint64]) -> None:
        """Take in some pairs; all digests are non-zero."""
        part = _divisible(digests, self.shift)
        self._parts.append(part)
        self._kept += len(part)
        while self._kept > self._most:
            self.shift += 1
            self._parts = [_divisible(np.concatenate(self._parts), self.shift)]
            self._kept = len(self._parts[0])

    def missing_in(self, other: PairSample) -> tuple[int, int]:
        """Return how many pairs were compared, and how many of them the other table lacks."""
        shift = max(self.shift, other.shift)
        mine, theirs = self._digests(shift), other._digests(shift)
        return len(mine), int((~np.isin(mine, theirs)).sum())

    def _digests(self, shift: int) -> NDArray[np.uint64]:
        parts = self._parts or [np.zeros(0, np.uint64)]
        return np.unique(_divisible(np.concatenate(parts), shift))


def _divisible(digests: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    return digests[digests & np.uint64((1 << shift) - 1) == 0]
