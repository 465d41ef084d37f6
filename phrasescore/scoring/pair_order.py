"""The order of pairs by their ids, which makes pairs with equal beginnings neighbours."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from phrasescore.words.token_sequences import TokenSequences


def pair_order(sources: TokenSequences, targets: TokenSequences) -> NDArray[np.int64]:
    """Return the rows of pairs sorted by source ids, then target ids; equal pairs keep their order.

    Args:
        sources: N phrases.
        targets: N phrases.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> pair_order(from_lists([[7], [2, 3], [2]]), from_lists([[], [], []])).tolist()
    [2, 1, 0]
    """
    # keys hold no zero id, so four zero bytes put a source before every longer one it begins
    end = bytes(4)
    sides = zip(_keys(sources), _keys(targets), strict=True)
    keys = [read + end + predicted for read, predicted in sides]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def cut_in_groups(order: NDArray[np.int64], sources: TokenSequences, max_pairs: int) -> list[slice]:
    """Cut sorted pairs into groups, between two sources where that is possible.

    Args:
        order: (N,) what ``pair_order`` returns.
        sources: N phrases.
        max_pairs: The largest number of pairs of a group.
    """
    starts = np.flatnonzero(is_new(sources.select(order)))
    cuts = [0]
    while (begin := cuts[-1]) < len(order):
        end = min(begin + max_pairs, len(order))
        if end < len(order):
            start = int(starts[np.searchsorted(starts, end, side="right") - 1])
            end = start if start > begin else end
        cuts.append(end)
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts)]


def cut_by_area(lengths: NDArray[np.int64], max_rows: int, max_area: int) -> list[slice]:
    """Cut rows into groups that stay small when each is padded to its longest row.

    Args:
        lengths: (N,) of the rows.
        max_rows: The largest number of rows of a group.
        max_area: The largest product of a group's rows and its longest; a single row may exceed it.

    >>> cut_by_area(np.array([2, 2, 5, 1]), 9, 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    cuts, longest = [0], 0
    for row, length in enumerate(lengths.tolist()):
        longest, rows = max(longest, length), row + 1 - cuts[-1]
        if rows > 1 and (rows > max_rows or rows * longest > max_area):
            cuts.append(row)
            longest = length
    if len(lengths):
        cuts.append(len(lengths))
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts)]


def is_new(phrases: TokenSequences) -> NDArray[np.bool_]:
    """Return (N,) bool: whether each phrase differs from the one before it; the first one does.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> is_new(from_lists([[2], [2], [2, 3]])).tolist()
    [True, False, True]
    """
    keys = _keys(phrases)
    new = np.ones(len(keys), np.bool_)
    new[1:] = [before != key for before, key in itertools.pairwise(keys)]
    return new


def _keys(phrases: TokenSequences) -> list[bytes]:
    """Return byte strings that sort like the id sequences, a prefix before its continuations."""
    # Big-endian bytes of positive numbers sort like the numbers. Ids are shifted by one because
    # `pair_order` marks the end of a source with a zero.
    ids = (phrases.tokens + 1).astype(">i4")
    data, offsets = ids.tobytes(), (ids.itemsize * phrases.offsets).tolist()
    return [data[begin:end] for begin, end in itertools.pairwise(offsets)]
