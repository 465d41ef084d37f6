"""Scores of a table as probabilities, and the items with the lowest keys of a stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasescore.analysis.table_lines import LowestItems, probabilities
from phrasescore.errors import PhraseTableError, SettingsError
from phrasescore.table.block import read_blocks


def test_probabilities(tmp_path: Path) -> None:
    """A score of each line; what is above 1 is none, and the error names the line."""
    (tmp_path / "table").write_bytes(b"a ||| A ||| 0.5 1.00001\nb ||| B ||| 0 2.718\n")
    (block,) = read_blocks(tmp_path / "table")
    np.testing.assert_array_equal(probabilities(block, 1), [0.5, 0.0])
    with pytest.raises(PhraseTableError, match=r"score 2 is 2\.718, which is no probability") as e:
        probabilities(block, 2)
    assert e.value.line == 2
    with pytest.raises(SettingsError, match="there is no score 3 to compare"):
        probabilities(block, 3)


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
