"""All candidates that decoding has found so far, round after round, as arrays.

Rounds are merged sentence by sentence. Of candidates of one sentence with the same feature values
only the one that came first stays: no weights can tell them apart. Memory per candidate: 4 bytes a
feature, 2 a statistic, and twice that for a moment while a round is added.

Shapes: S sentences, C candidates, F features, K statistics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.errors import NBestError

_FREE = -1
_LARGEST_STATISTIC = np.iinfo(np.int16).max
_PRIME = np.uint64(0x100000001B3)
_OFFSET = np.uint64(0xCBF29CE484222325)
_SHIFT = np.uint64(29)


class PoolArrays(NamedTuple):
    """What compiled functions see of a pool.

    Attributes:
        features: (F, C) unweighted feature values; candidates of a sentence are neighbours, in
            the order in which they were found.
        statistics: (C, K) what the objective is computed from.
        starts: (S + 1,) where each sentence's candidates begin.
    """

    features: NDArray[np.float32]
    statistics: NDArray[np.int16]
    starts: NDArray[np.int64]


class CandidatePool:
    """A growing pool of candidates for S sentences.

    Args:
        sentences: S.
        features: F.
        statistics: K.
    """

    def __init__(self, sentences: int, features: int, statistics: int) -> None:
        self.arrays = PoolArrays(
            np.zeros((features, 0), np.float32),
            np.zeros((0, statistics), np.int16),
            np.zeros(sentences + 1, np.int64),
        )

    def __len__(self) -> int:
        return len(self.arrays.statistics)

    @property
    def sentences(self) -> int:
        """S, with candidates or without."""
        return len(self.arrays.starts) - 1

    @property
    def empty_sentences(self) -> NDArray[np.int64]:
        """The sentences that have no candidate."""
        return np.flatnonzero(np.diff(self.arrays.starts) == 0)

    def add(
        self,
        sentences: NDArray[np.int32],
        features: NDArray[np.float32],
        statistics: NDArray[np.int32],
    ) -> int:
        """Merge N candidates of a round behind those there are; return how many were new.

        Args:
            sentences: (N,) which sentence each translates, in rising order.
            features: (N, F) unweighted feature values.
            statistics: (N, K) what the objective is computed from.

        Raises:
            NBestError: A value is not finite or a statistic is too large to be one of a sentence.
        """
        _check(sentences, features, statistics)
        old = self.arrays
        counts = np.bincount(sentences, minlength=self.sentences)
        room = old.starts + np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        merged = PoolArrays(
            np.empty((len(old.features), int(room[-1])), np.float32),
            np.empty((int(room[-1]), old.statistics.shape[1]), np.int16),
            np.zeros_like(old.starts),
        )
        # equal values must be equal bits: minus zero becomes zero
        added = (features + np.float32(0), statistics.astype(np.int16))
        begins = np.searchsorted(sentences, np.arange(self.sentences + 1))
        _merge(old, *added, begins, merged)
        size = int(merged.starts[-1])
        if size < len(merged.statistics):
            cut = np.ascontiguousarray(merged.features[:, :size])
            merged = PoolArrays(cut, merged.statistics[:size].copy(), merged.starts)
        grown = size - len(self)
        self.arrays = merged
        return grown


def _check(
    sentences: NDArray[np.int32], features: NDArray[np.float32], statistics: NDArray[np.int32]
) -> None:
    if not np.isfinite(features).all():
        wrong = int(np.flatnonzero(~np.isfinite(features).all(1))[0])
        raise NBestError(
            f"candidate {wrong} of the round (sentence {sentences[wrong]}) has a feature "
            "value that is not finite",
            remedy="look for a model that gives infinite scores",
        )
    if len(statistics) and statistics.max() > _LARGEST_STATISTIC:
        raise NBestError(
            "a candidate is too long to be a sentence", remedy="give the text one sentence a line"
        )


@njit(cache=True, nogil=True)
def _digest(features: Any, column: int) -> np.uint64:
    value = _OFFSET
    for feature in range(len(features)):
        value = (value ^ np.uint64(np.float32(features[feature, column]).view(np.uint32))) * _PRIME
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True)
def _same(features: Any, left: int, right: int) -> bool:
    for feature in range(len(features)):
        if features[feature, left] != features[feature, right]:
            return False
    return True


@njit(cache=True, nogil=True)
def _is_new(features: Any, column: int, slots: Any) -> bool:
    """Look a candidate up among those of its sentence, and remember it if it is new."""
    mask = len(slots) - 1
    slot = np.int64(_digest(features, column) & np.uint64(mask))
    while slots[slot] != _FREE:
        if _same(features, slots[slot], column):
            return False
        slot = (slot + 1) & mask
    slots[slot] = column
    return True


@njit(cache=True, nogil=True)
def _merge(old: PoolArrays, added: Any, statistics: Any, begins: Any, new: PoolArrays) -> None:
    """Fill ``new``, sentence by sentence: what is there first, then what is not there yet.

    Args:
        old: The pool so far; has no duplicates.
        added: (N, F) features of the round.
        statistics: (N, K) statistics of the round.
        begins: (S + 1,) where each sentence's candidates begin in the round.
        new: Room for all; its starts are filled too.
    """
    features = len(new.features)
    count = 0
    for sentence in range(len(begins) - 1):
        new.starts[sentence] = count
        first, last = old.starts[sentence], old.starts[sentence + 1]
        most = last - first + begins[sentence + 1] - begins[sentence]
        size = 1
        while size < 2 * most:
            size *= 2
        slots = np.full(size, _FREE, np.int64)
        for column in range(first, last):
            for feature in range(features):
                new.features[feature, count] = old.features[feature, column]
            new.statistics[count] = old.statistics[column]
            _is_new(new.features, count, slots)
            count += 1
        for row in range(begins[sentence], begins[sentence + 1]):
            for feature in range(features):
                new.features[feature, count] = added[row, feature]
            if _is_new(new.features, count, slots):
                new.statistics[count] = statistics[row]
                count += 1
    new.starts[len(begins) - 1] = count
