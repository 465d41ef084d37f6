"""Pairs in the order of their ids, so that equal beginnings are neighbours."""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.words.token_sequences import TokenSequences


@dataclass(frozen=True)
class SharedWork:
    """How many steps pairs ask for one by one, and how many are done.

    Args:
        source_asked: Words of the sources, each with its ``</s>``.
        source_done: Encoder steps.
        target_asked: Words of the targets, each with its ``</s>``.
        target_done: Normalisers, one for each distinct (source, target prefix), or, of a model that
            sees the last words only, for each distinct history.
    """

    source_asked: int = 0
    source_done: int = 0
    target_asked: int = 0
    target_done: int = 0

    @classmethod
    def unshared(cls, sources: TokenSequences, targets: TokenSequences) -> SharedWork:
        """Return the work of pairs taken one by one."""
        source, target = len(sources.tokens) + len(sources), len(targets.tokens) + len(targets)
        return cls(source, source, target, target)

    def done(self, source: int, target: int) -> SharedWork:
        """Return the same request, met with this many steps."""
        return SharedWork(self.source_asked, source, self.target_asked, target)

    @property
    def savings(self) -> tuple[float, float]:
        """How many times the work would have been done without sharing: source, target."""
        return (
            self.source_asked / max(self.source_done, 1),
            self.target_asked / max(self.target_done, 1),
        )

    def __add__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: SharedWork) -> SharedWork:
        return SharedWork(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))


def pair_order(sources: TokenSequences, targets: TokenSequences) -> NDArray[np.int64]:
    """Return the rows of pairs sorted by source ids, then target ids; equal pairs keep their order.

    Args:
        sources: N phrases.
        targets: N phrases.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> pair_order(from_lists([[7], [2, 3], [2]]), from_lists([[], [], []])).tolist()
    [2, 1, 0]
    """
    # a key has no zero id, so four zero bytes end the source before any longer source goes on
    end = bytes(4)
    sides = zip(_keys(sources), _keys(targets), strict=True)
    keys = [read + end + predicted for read, predicted in sides]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def cut_in_groups(order: NDArray[np.int64], sources: TokenSequences, most: int) -> list[slice]:
    """Cut sorted pairs into groups, between two sources where that is possible.

    Args:
        order: (N,) what ``pair_order`` returns.
        sources: N phrases.
        most: How many pairs a group may have.
    """
    starts = np.flatnonzero(is_new(sources.select(order)))
    cuts = [0]
    while (begin := cuts[-1]) < len(order):
        end = min(begin + most, len(order))
        if end < len(order):
            start = int(starts[np.searchsorted(starts, end, side="right") - 1])
            end = start if start > begin else end
        cuts.append(end)
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts)]


def cut_by_area(lengths: NDArray[np.int64], most: int, area: int) -> list[slice]:
    """Cut rows into groups that are small when they are padded to their longest.

    Args:
        lengths: (N,) of the rows.
        most: How many rows a group may have.
        area: How much rows times longest may be; a single row may be longer.

    >>> cut_by_area(np.array([2, 2, 5, 1]), 9, 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    cuts, longest = [0], 0
    for row, length in enumerate(lengths.tolist()):
        longest, rows = max(longest, length), row + 1 - cuts[-1]
        if rows > 1 and (rows > most or rows * longest > area):
            cuts.append(row)
            longest = length
    if len(lengths):
        cuts.append(len(lengths))
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts)]


def is_new(phrases: TokenSequences) -> NDArray[np.bool_]:
    """(N,) bool, whether a phrase differs from the one before it; the first does.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> is_new(from_lists([[2], [2], [2, 3]])).tolist()
    [True, False, True]
    """
    keys = _keys(phrases)
    new = np.ones(len(keys), np.bool_)
    new[1:] = [before != key for before, key in itertools.pairwise(keys)]
    return new


def _keys(phrases: TokenSequences) -> list[bytes]:
    """Return byte strings that compare as the id sequences do, a prefix before what it begins."""
    # positive numbers compare as their big-endian bytes do; 0 is kept free for `pair_order`
    ids = (phrases.tokens + 1).astype(">i4")
    data, offsets = ids.tobytes(), (ids.itemsize * phrases.offsets).tolist()
    return [data[begin:end] for begin, end in itertools.pairwise(offsets)]
