"""The pool of all candidates that decoding has found so far, as arrays, and their model scores.

Rounds are merged sentence by sentence. If several candidates of a sentence have equal feature
values, the pool keeps only the first, because no weights can tell them apart. A candidate takes 4
bytes per feature and 2 per statistic, and twice as much while a round is added.

Shapes: S sentences, C candidates, F features, K statistics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled, inlined
from phrasescore.errors import NBestError
from tuning.optimizers.workers import ALONE, Workers

Features = NDArray[np.float32]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]

_LARGEST_STATISTIC = np.iinfo(np.int16).max
# mixing constants of the digest: the golden ratio as a 64-bit odd number, and a shift that moves
# the well-mixed high bits to the low end
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


class PoolArrays(NamedTuple):
    """The arrays of a pool, for compiled functions.

    Attributes:
        features: (F, C) unweighted feature values; the candidates of one sentence are contiguous,
            in the order in which they were found. Features are rows, so that weighted sums read
            contiguous memory.
        statistics: (C, K) the statistics that the objective is computed from.
        starts: (S + 1,) the index of each sentence's first candidate, then C.
    """

    features: Features
    statistics: NDArray[np.int16]
    starts: Indices


class CandidatePool:
    """A growing pool of candidates for S sentences.

    Args:
        sentences: The number of sentences, S.
        features: The number of features, F.
        statistics: The number of statistics per candidate, K.
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
        """The number of sentences, S, including those without candidates."""
        return len(self.arrays.starts) - 1

    @property
    def empty_sentences(self) -> Indices:
        """The indices of the sentences that have no candidate."""
        return np.flatnonzero(np.diff(self.arrays.starts) == 0)

    def add(self, sentences: Numbers, features: Features, statistics: Numbers) -> int:
        """Append candidates to their sentences, without repetitions; return how many were added.

        Args:
            sentences: (N,) the sentence index of each candidate, in rising order.
            features: (N, F) unweighted feature values.
            statistics: (N, K) the statistics that the objective is computed from.

        Raises:
            NBestError: A feature value is not finite, or a statistic exceeds the limit of int16.
        """
        _check(sentences, features, statistics)
        old = self.arrays
        # digests are computed from bits, so equal values need equal bits: turn minus zero into zero
        features = features + np.float32(0)
        owners = np.repeat(np.arange(self.sentences), np.diff(old.starts))
        new = np.flatnonzero(~self._repeated(owners, sentences, features))
        starts = old.starts + np.searchsorted(sentences[new], np.arange(self.sentences + 1))
        order = np.argsort(np.concatenate([owners, sentences[new]]), kind="stable")
        merged = np.empty((len(old.features), len(order)), np.float32)
        for feature, values in enumerate(old.features):
            merged[feature] = np.concatenate([values, features[new, feature]])[order]
        rows = np.concatenate([old.statistics, statistics[new].astype(np.int16)])[order]
        self.arrays = PoolArrays(merged, rows, starts)
        return len(new)

    def _repeated(self, owners: Indices, sentences: Numbers, features: Features) -> Flags:
        """Return an (N,) mask of new candidates that repeat a pooled or earlier new candidate.

        ``owners`` (C,) is the sentence index of each pooled candidate.
        """
        old = self.arrays
        digests = np.concatenate([_digests(owners, old.features), _digests(sentences, features.T)])
        # equal digests only suggest a repetition, so all values are compared below
        _, first_of, number = np.unique(digests, return_index=True, return_inverse=True)
        earliest, known = first_of[number], len(self)
        found = np.flatnonzero(earliest[known:] != np.arange(known, len(digests)))
        same = np.ones(len(found), bool)
        first = earliest[known + found]
        for feature, values in enumerate(old.features):
            column = np.concatenate([values, features[:, feature]])
            same &= column[first] == column[known + found]
        repeated = np.zeros(len(sentences), bool)
        repeated[found[same]] = True
        return repeated


def _check(sentences: Numbers, features: Features, statistics: Numbers) -> None:
    if not np.isfinite(features).all():
        wrong = int(np.flatnonzero(~np.isfinite(features).all(1))[0])
        raise NBestError(
            f"candidate {wrong} of the round (sentence {sentences[wrong]}) has a feature "
            "value that is not finite",
            remedy="find the feature with scores that are not finite, and correct its model",
        )
    if len(statistics) and statistics.max() > _LARGEST_STATISTIC:
        raise NBestError(
            "a candidate is too long to be a sentence",
            remedy="write one sentence on each line of the text",
        )


def _digests(sentences: NDArray[np.integer], features: Features) -> NDArray[np.uint64]:
    """Return (N,) digests of candidates, from their sentences and (F, N) feature values."""
    digests = (sentences + 1).astype(np.uint64) * _MULTIPLIER
    for values in features:
        digests ^= np.ascontiguousarray(values).view(np.uint32)
        digests *= _MULTIPLIER
        digests ^= digests >> _SHIFT
    return digests


@inlined
def combine(features: Features, begin: int, end: int, weights: Floats, out: Floats) -> None:
    """Fill ``out`` with the weighted sum of features of each candidate from begin to end."""
    out[: end - begin] = 0.0
    for feature in range(weights.size):
        weight = weights[feature]
        if weight != 0.0:
            # a slice, because compiled code checks whether an index such as begin + i is negative
            values = features[feature, begin:end]
            for i in range(values.size):
                out[i] += weight * values[i]


class Point(NamedTuple):
    """The model scores of a pool at one point in weight space.

    Attributes:
        scores: (C,) the model scores of all candidates.
        winners: (S,) the index of the candidate with the highest score in each sentence (the first,
            if several are equal), or -1 for a sentence without candidates.
    """

    scores: Floats
    winners: Indices


@compiled
def score_candidates(
    features: Features, starts: Indices, weights: Floats, scores: Floats, winners: Indices
) -> None:
    """Fill the scores and winners of a ``Point``, for the sentences that ``starts`` delimits."""
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


def point_at(pool: PoolArrays, weights: Floats, workers: Workers = ALONE) -> Point:
    """Score all candidates with (F,) weights; workers divide the sentences among themselves."""
    point = Point(np.empty(pool.features.shape[1]), np.empty(len(pool.starts) - 1, np.int64))

    def score(part: slice) -> None:
        starts, winners = pool.starts[part.start : part.stop + 1], point.winners[part]
        score_candidates(pool.features, starts, weights, point.scores, winners)

    workers.share(score, len(point.winners))
    return point
