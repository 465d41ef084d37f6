"""Whether bfloat16 products are good enough for a model, measured on the table itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from phrasescore.words.token_sequences import TokenSequences

Precision = Literal["fp32", "bf16"]

# Of |difference of ln p|, per word with </s> counted.
LARGEST_MEAN, LARGEST = 0.01, 0.05
_STRETCH, _STRETCHES = 16, 40


@dataclass(frozen=True)
class PrecisionCheck:
    """How far ln p in bfloat16 is from ln p in float32, on some pairs.

    Args:
        pairs: How many.
        mean: The mean of |difference| over the pairs.
        largest: The largest.
        mean_per_word: The mean of |difference| / words, ``</s>`` counted.
        largest_per_word: The largest.
        ranked: Pairs of targets of one source that float32 tells apart.
        ranked_alike: The share of them that bfloat16 puts in the same order; 1 if there are none.
    """

    pairs: int
    mean: float
    largest: float
    mean_per_word: float
    largest_per_word: float
    ranked: int
    ranked_alike: float

    @property
    def is_within_bounds(self) -> bool:
        """Whether bfloat16 may stand in for float32; differences that are not numbers may not."""
        return self.mean_per_word <= LARGEST_MEAN and self.largest_per_word <= LARGEST

    def __str__(self) -> str:
        return (
            f"bf16 against fp32 on {self.pairs:,} pairs of the table: |difference of ln p| mean "
            f"{self.mean:.4f}, largest {self.largest:.4f}; per word mean {self.mean_per_word:.4f}, "
            f"largest {self.largest_per_word:.4f}; {self.ranked_alike:.1%} of {self.ranked:,} "
            "pairs of targets of one source in the same order"
        )


def compare(
    exact: NDArray[np.float64],
    near: NDArray[np.float64],
    sources: TokenSequences,
    targets: TokenSequences,
) -> PrecisionCheck:
    """Compare ln p of the same pairs.

    Args:
        exact: (N,) in float32.
        near: (N,) in bfloat16.
        sources: N phrases; equal ones side by side count for the order.
        targets: N phrases.
    """
    difference = np.abs(near - exact)
    per_word = difference / (targets.lengths + 1)
    ranked = alike = 0
    begin = 0
    for row in range(1, len(sources) + 1):
        if row < len(sources) and np.array_equal(sources[row], sources[begin]):
            continue
        left, right = np.triu_indices(row - begin, 1)
        by_exact = np.sign(exact[begin + left] - exact[begin + right])
        by_near = np.sign(near[begin + left] - near[begin + right])
        apart = by_exact != 0
        ranked += int(apart.sum())
        alike += int((by_exact == by_near)[apart].sum())
        begin = row
    return PrecisionCheck(
        len(exact),
        float(difference.mean()),
        float(difference.max()),
        float(per_word.mean()),
        float(per_word.max()),
        ranked,
        alike / ranked if ranked else 1.0,
    )


def sample_rows(lines: int) -> NDArray[np.int64]:
    """Choose up to 640 lines: stretches of 16, evenly spread, so that sources keep their targets.

    >>> sample_rows(3).tolist()
    [0, 1, 2]
    """
    if lines <= _STRETCH * _STRETCHES:
        return np.arange(lines)
    begins = np.linspace(0, lines - _STRETCH, _STRETCHES).astype(np.int64)
    return np.unique(begins[:, None] + np.arange(_STRETCH))
