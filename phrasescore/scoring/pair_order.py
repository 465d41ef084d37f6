"""Pairs in the order of their ids, so that equal beginnings are neighbours."""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
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
    order = np.arange(len(sources), dtype=np.int64)
    other = order.copy()
    ids = sources.tokens, sources.offsets, targets.tokens, targets.offsets
    return other if _sort(order, other, *ids) else order


def cut_in_groups(order: NDArray[np.int64], sources: TokenSequences, most: int) -> list[slice]:
    """Cut sorted pairs into groups, between two sources where that is possible.

    Args:
        order: (N,) what ``pair_order`` returns.
        sources: N phrases.
        most: How many pairs a group may have.
    """
    cuts = np.zeros(len(order) + 1, np.int64)
    count = _cuts(order, sources.tokens, sources.offsets, most, cuts)
    return [slice(begin, end) for begin, end in itertools.pairwise(cuts[:count].tolist())]


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
    new = np.ones(len(phrases), np.bool_)
    _mark_equal(phrases.tokens, phrases.offsets, new)
    return new


@compiled
def _mark_equal(tokens: Any, offsets: Any, new: Any) -> None:
    tokens, offsets, new = borrowed((tokens, offsets, new))
    for row in range(1, len(new)):
        new[row] = _compare(tokens, offsets, row - 1, row) != 0


@compiled
def _cuts(order: Any, tokens: Any, offsets: Any, most: int, cuts: Any) -> int:
    """Write where groups begin and the last one ends; return how many numbers that are."""
    order, tokens, offsets, cuts = borrowed((order, tokens, offsets, cuts))
    count, begin, rows = 1, 0, len(order)
    while begin < rows:
        end = min(begin + most, rows)
        if end < rows:
            between = end
            while between > begin and (
                _compare(tokens, offsets, order[between - 1], order[between]) == 0
            ):
                between -= 1
            end = between if between > begin else end
        cuts[count] = begin = end
        count += 1
    return count


@compiled
def _compare(tokens: Any, offsets: Any, left: int, right: int) -> int:
    """Order two phrases by their ids, a phrase before those that it begins."""
    a, a_end = offsets[left], offsets[left + 1]
    b, b_end = offsets[right], offsets[right + 1]
    while a < a_end and b < b_end:
        difference = np.int64(tokens[a]) - np.int64(tokens[b])
        if difference != 0:
            return int(difference)
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@compiled
def _sort(
    order: Any,
    other: Any,
    source_tokens: Any,
    source_offsets: Any,
    target_tokens: Any,
    target_offsets: Any,
) -> bool:
    """Merge sort: runs of one row, of two, of four ..., from one array into the other.

    Returns whether the rows end in ``other``.
    """
    order, other, source_tokens, source_offsets, target_tokens, target_offsets = borrowed(
        (order, other, source_tokens, source_offsets, target_tokens, target_offsets)
    )
    rows = len(order)
    current, following = order, other
    width, in_other = 1, False
    while width < rows:
        for begin in range(0, rows, 2 * width):
            left, middle = begin, min(begin + width, rows)
            right, end = middle, min(begin + 2 * width, rows)
            for place in range(begin, end):
                from_left = left < middle
                if from_left and right < end:
                    a, b = current[left], current[right]
                    difference = _compare(source_tokens, source_offsets, a, b)
                    if difference == 0:
                        difference = _compare(target_tokens, target_offsets, a, b)
                    from_left = difference <= 0
                if from_left:
                    following[place] = current[left]
                    left += 1
                else:
                    following[place] = current[right]
                    right += 1
        current, following = following, current
        width, in_other = 2 * width, not in_other
    return in_other
