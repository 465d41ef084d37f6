"""Tables for benchmarks: part of a table, shuffled sources, many targets for each source."""

from __future__ import annotations

import itertools
from pathlib import Path

from benchmarks.sampled_tables import part_of, shuffled_by_source, with_many_targets, write_lines
from phrasescore.table.block import read_blocks

LINES = [
    b"s%04d ||| t%04d ||| 0.1 0.2 0.3 0.4 ||| 0-0 ||| 1 1 1 ||| |||\n" % (pair // 2, pair)
    for pair in range(400)
]


def sources(lines: list[bytes]) -> list[bytes]:
    return [key for key, _ in itertools.groupby(line.partition(b" ||| ")[0] for line in lines)]


def test_a_part_comes_from_all_over_the_table() -> None:
    """A part has the requested size and lines from the whole table."""
    part = part_of(LINES, 32)
    assert len(part) == 32
    assert part[:2] == LINES[:2]
    assert part[-1] == LINES[376]
    assert part_of(LINES, 0) == LINES


def test_shuffling_keeps_every_line_and_the_lines_of_a_source_together() -> None:
    """Shuffling keeps all lines and groups by source, and changes the order of sources."""
    shuffled = shuffled_by_source(LINES)
    assert sorted(shuffled) == LINES
    assert len(sources(shuffled)) == len(sources(LINES)) == 200
    assert sources(shuffled) != sources(LINES)


def test_many_targets_are_twenty_distinct_ones_in_a_valid_table(tmp_path: Path) -> None:
    """Each source has 20 different targets, and the lines are a phrase table."""
    lines = list(with_many_targets(LINES))
    assert len(lines) == len(set(lines)) == 400
    groups = [list(group) for _, group in itertools.groupby(lines, lambda line: line[:5])]
    assert [len(group) for group in groups] == [20] * 20
    path = write_lines(tmp_path / "many.gz", lines)
    assert sum(len(block) for block in read_blocks(path)) == 400
