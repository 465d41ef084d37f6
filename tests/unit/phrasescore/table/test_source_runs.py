"""Blocks of whole sources: no line is lost, no source is split, wrong order is detected."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phrasescore.errors import PhraseTableError
from phrasescore.table.block import TableBlock, read_blocks, read_source_runs
from phrasescore.table.phrase_table import parse_entry, parse_scores

phrase = st.sampled_from(
    [b"a", b"a b", b"a|", b"a }", b"a!", b"b", b"\xc3\xa9", b"a ||", b"a||", b"||"]
)
sources = st.lists(phrase, min_size=1, max_size=12)
same_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def table_of(phrases: list[bytes]) -> bytes:
    return b"".join(b"%b ||| t%d ||| 0.%d 1\n" % (p, i, i + 1) for i, p in enumerate(phrases))


def runs_of(block: TableBlock) -> list[list[bytes]]:
    lines = block.text.splitlines(keepends=True)
    return [lines[begin:end] for begin, end in itertools.pairwise(block.run_offsets.tolist())]


@same_file
@given(sources, st.integers(1, 5))
def test_blocks_end_where_sources_end(tmp_path: Path, phrases: list[bytes], lines: int) -> None:
    """Blocks have all lines in order, keep sources together, and are as full as possible."""
    text = b"".join(sorted(table_of(phrases).splitlines(keepends=True)))
    (tmp_path / "table").write_bytes(text)
    blocks = list(read_source_runs(tmp_path / "table", lines))
    assert b"".join(block.text for block in blocks) == text
    numbers = itertools.accumulate(map(len, blocks), initial=1)
    assert [block.first_line for block in blocks] == list(numbers)[:-1]
    lines_of_text = text.splitlines(keepends=True)
    by_source = itertools.groupby(lines_of_text, lambda line: line.split(b" ||| ")[0])
    expected = [list(run) for _, run in by_source]
    assert [run for block in blocks for run in runs_of(block)] == expected
    for block in blocks:
        first = len(runs_of(block)[0])
        assert len(block) <= lines or lines <= first >= len(block) - lines
    for block, following in itertools.pairwise(blocks[:-1]):
        assert len(block) + len(runs_of(following)[0]) >= lines


@same_file
@given(sources, st.integers(1, 5))
def test_reading_goes_on(tmp_path: Path, phrases: list[bytes], lines: int) -> None:
    """Reading after the lines of the first blocks gives the same remaining blocks."""
    (tmp_path / "table").write_bytes(b"".join(sorted(table_of(phrases).splitlines(True))))
    blocks = list(read_source_runs(tmp_path / "table", lines))
    for number, first in enumerate(blocks):
        again = read_source_runs(tmp_path / "table", lines, skip_lines=first.first_line - 1)
        remaining = [(block.text, block.first_line) for block in blocks[number:]]
        assert [(block.text, block.first_line) for block in again] == remaining
    assert not list(read_source_runs(tmp_path / "table", lines, skip_lines=len(phrases)))


@same_file
@given(sources, st.integers(1, 5))
def test_disorder_is_refused(tmp_path: Path, phrases: list[bytes], lines: int) -> None:
    """The first line in wrong order is reported; sorted tables are accepted."""
    (tmp_path / "table").write_bytes(table_of(phrases))
    keys = [phrase + b" ||| " for phrase in phrases]
    wrong = [i + 2 for i, (above, here) in enumerate(itertools.pairwise(keys)) if here < above]
    if not wrong:
        assert sum(map(len, read_source_runs(tmp_path / "table", lines))) == len(phrases)
        return
    with pytest.raises(PhraseTableError, match="must be sorted") as caught:
        list(read_source_runs(tmp_path / "table", lines))
    assert caught.value.line == wrong[0]
    assert "LC_ALL=C sort" in str(caught.value)


def test_missing_blanks_are_named(tmp_path: Path) -> None:
    """Missing blanks change the sorting order, so the remedy mentions them."""
    (tmp_path / "table").write_bytes(b"a!|||x|||1\na|||x|||1\n")
    with pytest.raises(PhraseTableError, match=r"Write the columns with .* between them, and sort"):
        list(read_source_runs(tmp_path / "table"))


@pytest.mark.parametrize(
    "scores",
    [b"0.1 3e-20", b"1.23456789e-30 0", b"+.5  1E-3", b"123456789012345678901 5.", b"-0 1e-320"],
)
def test_score_values(tmp_path: Path, scores: bytes) -> None:
    """Scores equal the doubles that Python reads, even if the fast parser rounds."""
    line = b"a ||| x ||| %b ||| 0-0\n" % scores
    (tmp_path / "table").write_bytes(line * 3)
    (block,) = read_blocks(tmp_path / "table")
    expected = np.array([parse_scores(parse_entry(line).scores)] * 3)
    np.testing.assert_array_equal(block.score_values, expected)
