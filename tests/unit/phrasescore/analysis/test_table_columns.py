"""What a table says of its pairs: counts, and scores as probabilities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phrasescore.analysis.table_lines import (
    Counts,
    logarithms,
    probabilities,
    source_counts,
)
from phrasescore.errors import PhraseTableError, SettingsError
from phrasescore.table.block import TableBlock, read_blocks


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (b"4 242 1", Counts(4, 242, 1)),
        (b"  4\t2.5 0.5 ", Counts(4, 2.5, 0.5)),
        (b"3 2", Counts(3, 2, None)),
        (b"", None),
        (b"3", None),
        (b"1 2 3 4", None),
        (b"1 -2 3", None),
        (b"1 2 nan", None),
        (b"1 x 3", None),
        (b"1 2 \xff", None),
    ],
)
def test_counts(tmp_path: Path, column: bytes, expected: Counts | None) -> None:
    """Two or three numbers from 0; anything else is no count; many lines at once, too."""
    assert Counts.parse(column) == expected
    lines = b"a ||| A ||| 1 ||| 0-0 ||| %s ||| x ||| y\nb ||| B ||| 1\na ||| A ||| 1 ||| ||| %s"
    found = source_counts(_block(tmp_path, lines % (column, column)), np.array([0, 2, 1]))
    source = np.nan if expected is None else expected.source
    np.testing.assert_array_equal(found, [source, source, np.nan])


def test_probabilities(tmp_path: Path) -> None:
    """A score of each line; what is above 1 is none, and the error names the line."""
    block = _block(tmp_path, b"a ||| A ||| 0.5 1.00001\nb ||| B ||| 0 2.718\n")
    np.testing.assert_array_equal(probabilities(block, 1), [0.5, 0.0])
    with pytest.raises(PhraseTableError, match=r"score 2 is 2\.718, which is no probability") as e:
        probabilities(block, 2)
    assert e.value.line == 2
    with pytest.raises(SettingsError, match="there is no score 3 to compare"):
        probabilities(block, 3)


def test_logarithms() -> None:
    """Natural ones, at least Moses's floor, at most 0 where digits were rounded."""
    found = logarithms(np.array([1.0, 0.5, 0.0, 1e-60, 1.00001]))
    np.testing.assert_allclose(found, [0.0, -0.693147, -100.0, -100.0, 0.0], atol=1e-6)


def test_lines_of_a_block(tmp_path: Path) -> None:
    """A line and its columns, blanks and a missing last line feed included."""
    lines = [b" a b ||| A ||| 1 ||| 0-0 ||| 1 2 1", b"c ||| C |||  1", b"d ||| D ||| 1 ||| ||| 3"]
    block = _block(tmp_path, b"\n".join(lines))
    assert [block.line(row) for row in range(3)] == lines
    assert [block.entry(row).counts for row in range(3)] == [b"1 2 1", b"", b"3"]


def _block(folder: Path, text: bytes) -> TableBlock:
    (folder / "table").write_bytes(text)
    return next(read_blocks(folder / "table"))
