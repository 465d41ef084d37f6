"""Drawing from a stream: random numbers of lines, and the items of the least of them."""

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


@pytest.mark.parametrize("most", [1, 5, 40, 60])
def test_the_least_stay(rng: np.random.Generator, most: int) -> None:
    """Whatever the order; of equal numbers the first; in blocks or one by one."""
    numbers = rng.integers(0, 20, 50).astype(np.float64)
    one_by_one: LowestItems[int] = LowestItems(most)
    for place in rng.permutation(50).tolist():
        one_by_one.offer(numbers[place], place, place)
    in_blocks: LowestItems[int] = LowestItems(most)
    for begin in range(0, 50, 7):
        block = numbers[begin : begin + 7]
        for row in in_blocks.candidates(block).tolist():
            in_blocks.offer(block[row], begin + row, begin + row)
    expected = sorted(range(50), key=lambda place: (numbers[place], place))[:most]
    assert one_by_one.items() == in_blocks.items() == expected
