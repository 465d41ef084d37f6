"""Tables to measure scoring on."""

from __future__ import annotations

from benchmarks.bench_scoring import part_of

LINES = [
    b"s%04d ||| t%04d ||| 0.1 0.2 0.3 0.4 ||| 0-0 ||| 1 1 1 ||| |||\n" % (pair // 2, pair)
    for pair in range(400)
]


def test_a_part_comes_from_all_over_the_table() -> None:
    """A part has the size asked for and stretches from the first lines to the last ones."""
    part = part_of(LINES, 32)
    assert len(part) == 32
    assert part[:2] == LINES[:2]
    assert part[-1] == LINES[376]
    assert part_of(LINES, 0) == LINES
