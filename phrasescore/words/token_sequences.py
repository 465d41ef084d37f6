"""Many short sequences of word ids in flat arrays, without a Python object for each sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]


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

    def select(self, rows: NDArray[Any]) -> TokenSequences:
        """Return the sequences of the given rows, in that order; rows may repeat."""
        return gather(self.tokens, self.offsets, rows)


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
    begins = np.asarray(offsets[rows], np.int64)
    lengths = np.asarray(offsets[rows + 1], np.int64) - begins
    chosen = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=chosen[1:])
    positions = np.arange(chosen[-1]) + np.repeat(begins - chosen[:-1], lengths)
    return TokenSequences(np.asarray(tokens[positions], np.int32), chosen)


def from_lists(sequences: list[list[int]]) -> TokenSequences:
    """Build the flat form from lists of ids.

    >>> from_lists([[3, 4], [], [5]]).offsets.tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(sequences) + 1, np.int64)
    np.cumsum([len(sequence) for sequence in sequences], out=offsets[1:])
    tokens = np.array([token for sequence in sequences for token in sequence], np.int32)
    return TokenSequences(tokens, offsets)


def as_matrix(
    sequences: TokenSequences, padding: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return B sequences as a matrix, ``(B, longest)``, padded with ``padding``, and their lengths.

    >>> as_matrix(from_lists([[3, 4], [5]]), 0)[0].tolist()
    [[3, 4], [5, 0]]
    """
    lengths = sequences.lengths
    inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    ids = np.full(inside.shape, padding, np.int64)
    ids[inside] = sequences.tokens
    return ids, lengths
