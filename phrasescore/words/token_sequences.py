"""Sequences of word ids: many short sequences in flat arrays, and sorted positions of a text.

Sequences are not separate Python objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
_KEY_BITS = 64


def offsets_of(lengths: ArrayLike) -> Offsets:
    """Return where each of N runs begins, and the end of the last run, ``(N + 1,)``."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


@dataclass(frozen=True)
class TokenSequences:
    """N sequences of ids, end of sentence not included.

    Args:
        tokens: (sum of lengths,) int32, one sequence after the other.
        offsets: (N + 1,) int64; sequence i is ``tokens[offsets[i]:offsets[i + 1]]``.
    """

    tokens: Ids
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Ids:
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) int64: the number of tokens of each sequence."""
        return np.diff(self.offsets)

    def select(self, rows: NDArray[np.generic]) -> TokenSequences:
        """Return the sequences of the given rows, in that order; rows may repeat."""
        return gather(self.tokens, self.offsets, rows)


def joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the offsets for the concatenation of several arrays, given the offsets of each."""
    return offsets_of(np.concatenate([np.empty(0, np.int64), *map(np.diff, parts)]))


def taken_runs(
    offsets: NDArray[np.int64], order: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select runs in a given order; return their new offsets, and the old index of each value.

    Args:
        offsets: The offsets of all runs, shape (runs + 1,).
        order: The indexes of the runs to select, shape (taken,).
    """
    begins = np.asarray(offsets[order], np.int64)
    sizes = np.asarray(offsets[order + 1], np.int64) - begins
    new = offsets_of(sizes)
    return new, np.arange(new[-1]) + np.repeat(begins - new[:-1], sizes)


def gather(tokens: NDArray[Any], offsets: NDArray[Any], rows: NDArray[Any]) -> TokenSequences:
    """Copy sequences out of flat arrays, which may be memory-mapped and of any integer type.

    Args:
        tokens: (sum of lengths,) ids.
        offsets: (N + 1,) the start of each sequence.
        rows: (M,) the sequences to copy, in this order.

    >>> flat = np.array([5, 6, 7, 8], np.uint16), np.array([0, 1, 3, 4])
    >>> gather(*flat, np.array([2, 1])).tokens.tolist()
    [8, 6, 7]
    """
    chosen, positions = taken_runs(offsets, rows)
    return TokenSequences(np.asarray(tokens[positions], np.int32), chosen)


def from_lists(sequences: list[list[int]]) -> TokenSequences:
    """Build the flat form from lists of ids.

    >>> from_lists([[3, 4], [], [5]]).offsets.tolist()
    [0, 2, 2, 3]
    """
    tokens = np.array([token for sequence in sequences for token in sequence], np.int32)
    return TokenSequences(tokens, offsets_of([len(sequence) for sequence in sequences]))


def concatenated(parts: Sequence[TokenSequences]) -> TokenSequences:
    """Return the sequences of all parts, one part after the other."""
    tokens = np.concatenate([part.tokens for part in parts])
    return TokenSequences(tokens, joined_offsets([part.offsets for part in parts]))


def as_matrix(sequences: TokenSequences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return B sequences, padded with the id of </s>, as a ``(B, longest)`` matrix; and lengths.

    >>> as_matrix(from_lists([[3, 4], [5]]))[0].tolist()
    [[3, 4], [5, 0]]
    """
    lengths = sequences.lengths
    inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    ids = np.zeros(inside.shape, np.int64)  # 0 is the id of </s>
    ids[inside] = sequences.tokens
    return ids, lengths


def sorted_by_words(
    ids: NDArray[np.int32], positions: NDArray[np.int32], vocabulary: int, offsets: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Sort positions by the words at some offsets from them: a suffix array of limited depth.

    Several words fit into a 64-bit key. Positions are sorted by the least significant key first,
    and then by the other keys with stable sorts, like the passes of a radix sort.

    Args:
        ids: The text as word ids, with room for all offsets.
        positions: The positions to sort, ascending, int32.
        vocabulary: One more than the largest id.
        offsets: The offsets of the words to sort by, the most significant one first.

    Returns:
        The sorted positions; and for each position, the number of words, from the first offset on,
        that it shares with the previous sorted position.

    >>> ids = np.array([1, 2, 1, 1], np.int32)
    >>> sorted_by_words(ids, np.arange(3, dtype=np.int32), 3, [0, 1])
    (array([2, 0, 1], dtype=int32), array([0, 1, 0], dtype=uint8))
    """
    bits = max((vocabulary - 1).bit_length(), 1)
    at_once = _KEY_BITS // bits
    parts = [offsets[first : first + at_once] for first in range(0, len(offsets), at_once)]
    for part in reversed(parts):
        # numpy's fastest sort is not stable, so only the first pass may use it
        kind: Literal["stable"] | None = None if part is parts[-1] else "stable"
        positions = positions[np.argsort(_keys(ids, part, bits)[positions], kind=kind)]
    shared = np.zeros(positions.size, np.uint8)
    same = np.ones(max(positions.size - 1, 0), np.bool_)
    for part in parts:
        keys = _keys(ids, part, bits)[positions]
        differ = keys[1:] ^ keys[:-1]  # the bits in which each key differs from the previous one
        for left in range(len(part)):
            shared[1:] += same & (differ < np.uint64(1 << bits * left))
        same &= differ == 0
    return positions, shared


def _keys(ids: NDArray[np.int32], offsets: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """Pack the words at some offsets from each position, the first one into the upper bits.

    A key is meaningless if an offset leads out of the text.
    """
    keys = np.zeros(ids.size, np.uint64)
    for offset in offsets:
        keys <<= np.uint64(bits % _KEY_BITS)
        begin, end = max(-offset, 0), ids.size - max(offset, 0)
        keys[begin:end] |= ids[begin + offset : end + offset].view(np.uint32)
    return keys
