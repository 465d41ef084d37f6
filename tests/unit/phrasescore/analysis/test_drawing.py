"""Drawing from a stream: the random number of each line, and the lines with the lowest numbers."""

from __future__ import annotations

import numpy as np
import pytest

from phrasescore.analysis.table_lines import LowestItems, random_numbers


def test_numbers_depend_on_seed_and_line_alone() -> None:
    """A line has its number in any company, another one under another seed."""
    lines = np.arange(1, 1001)
    numbers = random_numbers(lines, 7)
    np.testing.assert_array_equal(random_numbers(lines[400:403], 7), numbers[400:403])
    assert not set(numbers.tolist()) & set(random_numbers(lines, 8).tolist())
    assert len(set(numbers.tolist())) == 1000


def test_numbers_are_uniform() -> None:
    """Each tenth of [0, 1) gets its share, also those of neighbouring seeds for one line."""
    one_seed = random_numbers(np.arange(20_000), 1)
    one_line = np.concatenate([random_numbers(np.array([5]), seed) for seed in range(2000)])
    for numbers in (one_seed, one_line):
        share = np.histogram(numbers, 10, (0, 1))[0] / len(numbers)
        np.testing.assert_allclose(share, 0.1, atol=4 * np.sqrt(0.09 / len(numbers)))
    # consecutive lines have nothing in common
    assert abs(np.corrcoef(one_seed[:-1], one_seed[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("limit", [1, 5, 40, 60])
@pytest.mark.parametrize("size", [1, 7, 50])
def test_the_items_with_the_lowest_keys_are_kept(
    rng: np.random.Generator, limit: int, size: int
) -> None:
    """The lowest key first, of equal keys the first item, whatever the size of a block."""
    keys = rng.integers(0, 20, 50).astype(np.float64)
    keys[::9] = np.inf
    kept: LowestItems[int] = LowestItems(limit)
    for begin in range(0, 50, size):
        block = keys[begin : begin + size]
        rows = kept.candidates(block)
        kept.add(block[rows], (rows + begin).tolist())
    finite = np.flatnonzero(np.isfinite(keys)).tolist()
    assert kept.items() == sorted(finite, key=lambda place: (keys[place], place))[:limit]
