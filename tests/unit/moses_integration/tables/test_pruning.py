"""Pruned tables equal those of plain code, byte for byte."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moses_integration.tables import pruning
from moses_integration.tables.pair_significance import SignificanceLevel
from moses_integration.tables.pruning import (
    DropList,
    PruningConditions,
    PruningReport,
    prune_reordering,
    prune_table,
)
from phrasescore.errors import InputError, PhraseTableError
from tests.support.plain_pruning import (
    minus_ln_p,
    pair_of,
    plain_pruning,
    plain_reordering,
    scores_of,
)

same_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = [b"a", b"a b", b"a }", b"b", b"\xc3\xa9", b"a|"]
# few values, for ties; zeros and denormals, which Moses floors
SCORES = [b"0.5", b"0.25", b"1", b"0", b"1e-45", b"3.71e-44", b".125", b"2.718", b"1.234567e-31"]
SENTENCES = 12


@st.composite
def tables(draw: st.DrawFn) -> list[bytes]:
    """Draw sorted lines with all columns; pairs may be repeated."""
    lines = []
    for _ in range(draw(st.integers(1, 14))):
        pair = draw(st.integers(1, 3))
        target, source = (pair + draw(st.integers(0, 7)) for _ in range(2))
        columns = [
            draw(st.sampled_from(WORDS)),
            draw(st.sampled_from([*WORDS, b""])),
            b" ".join(draw(st.tuples(*[st.sampled_from(SCORES)] * 2))),
            b"0-0",
            b"%d %d %d" % (target, source, pair),
        ]
        lines.append(b" ||| ".join(columns) + draw(st.sampled_from([b"\n", b" ||| |||\r\n"])))
    return sorted(lines)


def pruned(
    folder: Path, lines: list[bytes], conditions: PruningConditions, at_once: int = 3
) -> tuple[list[bytes], PruningReport]:
    (folder / "table").write_bytes(b"".join(lines))
    with patch.object(pruning, "LINES_PER_BLOCK", at_once):
        report = prune_table(folder / "table", folder / "out.gz", conditions)
    return gzip.decompress((folder / "out.gz").read_bytes()).splitlines(keepends=True), report


@same_file
@given(tables(), st.integers(1, 3), st.sampled_from([None, 0.0, 0.25, 1e-40]), st.integers(1, 5))
def test_by_column(
    tmp_path: Path, lines: list[bytes], top: int, threshold: float | None, at_once: int
) -> None:
    """The best pairs of each source by a score above a threshold are kept; of ties the first."""
    conditions = PruningConditions(column=2, threshold=threshold, top=top)
    expected = plain_pruning(
        lines, value=lambda line: scores_of(line)[1], threshold=threshold or 0.0, top=top
    )
    if not expected:
        with pytest.raises(PhraseTableError, match="nothing would be left"):
            pruned(tmp_path, lines, conditions, at_once)
        return
    found, report = pruned(tmp_path, lines, conditions, at_once)
    assert found == expected
    assert (report.made.counts.lines, report.made.counts.kept) == (len(lines), len(expected))
    assert report.made.counts.sources == len({line.split(b" |||")[0] for line in lines})
    assert report.made.counts.sources_kept == len({line.split(b" |||")[0] for line in expected})
    assert report.made.counts.below + report.made.counts.beyond == len(lines) - len(expected)


@same_file
@given(tables(), st.sets(st.tuples(st.sampled_from(WORDS), st.sampled_from([*WORDS, b""]))))
def test_all_conditions(tmp_path: Path, lines: list[bytes], drop: set[tuple[bytes, bytes]]) -> None:
    """Each condition applies to the lines that earlier ones keep, and counts its removals."""
    listed = [b" %b\t%b\tbecause\r" % (s.replace(b" ", b"  "), t) for s, t in drop]
    conditions = PruningConditions(
        drop=DropList(listed, "drop.tsv"),
        significance=SignificanceLevel(0.6, SENTENCES),
        column=1,
        threshold=0.2,
        top=1,
    )
    stages = [
        lines,
        plain_pruning(lines, drop=drop),
        plain_pruning(lines, drop=drop, significant=is_significant),
        plain_pruning(lines, drop=drop, significant=is_significant, value=first, threshold=0.2),
        plain_pruning(
            lines, drop=drop, significant=is_significant, value=first, threshold=0.2, top=1
        ),
    ]
    if not stages[-1]:
        with pytest.raises(PhraseTableError, match="nothing would be left"):
            pruned(tmp_path, lines, conditions)
        return
    found, report = pruned(tmp_path, lines, conditions)
    assert found == stages[-1]
    counts = report.made.counts
    sizes = [len(stage) for stage in stages]
    gone = [a - b for a, b in itertools.pairwise(sizes)]
    assert [counts.listed, counts.insignificant, counts.below, counts.beyond] == gone
    assert report.to_json()["listed_missing"] == len(drop - set(map(pair_of, lines)))


def is_significant(line: bytes) -> bool:
    return minus_ln_p(line, SENTENCES) > 0.6


def first(line: bytes) -> float:
    return scores_of(line)[0]


@same_file
@given(tables(), tables(), st.booleans())
def test_reordering(
    tmp_path: Path, lines: list[bytes], others: list[bytes], shuffled: bool
) -> None:
    """Reordering lines of kept pairs are kept, in any order of targets, with missing lines."""
    if shuffled:  # only within each source, because sorting is stable
        lines = list(reversed(lines))
        lines.sort(key=lambda line: line.split(b" ||| ")[0] + b" |||")
    reordering = [b" ||| ".join(line.split(b" ||| ")[:3]).strip() + b"\n" for line in others]
    (tmp_path / "table").write_bytes(b"".join(lines))
    (tmp_path / "reordering").write_bytes(b"".join(reordering))
    report = prune_reordering(tmp_path / "reordering", tmp_path / "out", tmp_path / "table")
    expected = plain_reordering(reordering, lines)
    assert (tmp_path / "out").read_bytes() == b"".join(expected)
    assert (report.lines, report.kept) == (len(reordering), len(expected))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "the file is empty, where a reordering table was expected"),
        (b"a ||| 0.5 0.5\n", "Leave this table as it is"),
        (b"a ||| x ||| 1 ||| 0-0 ||| 1 1 1\n", "expected 3 in a reordering table"),
        (b"a\t||| x ||| 1\n", "a tab beside |||, which Moses takes for part of the phrase"),
        (b"b ||| x ||| 1\na ||| x ||| 1\n", "must be sorted"),
        (b"a ||| x ||| 0.5 0.5\na ||| y ||| 0.5\n", ":2: 1 score, where the lines before have 2"),
        (b"a ||| x ||| y\n", ":1: score 1 is 'y'"),
    ],
)
def test_bad_reordering_tables(tmp_path: Path, text: bytes, sentence: str) -> None:
    """Wrong reordering tables are refused with their place, and nothing is written."""
    (tmp_path / "table").write_bytes(b"a ||| x ||| 1\n")
    (tmp_path / "reordering").write_bytes(text)
    with pytest.raises(InputError) as caught:
        prune_reordering(tmp_path / "reordering", tmp_path / "out", tmp_path / "table")
    assert sentence in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"table", "reordering"}


def test_a_missing_reordering_table(tmp_path: Path) -> None:
    """A missing reordering table is found before the first pair is judged."""
    (tmp_path / "table").write_bytes(b"a ||| x ||| 0.5\n")
    nothing_left = PruningConditions(column=1, threshold=1.0)
    tables = str(tmp_path / "missing"), str(tmp_path / "cut")
    with pytest.raises(InputError, match="missing: no such file"):
        prune_table(tmp_path / "table", tmp_path / "out", nothing_left, reordering=tables)


def test_the_last_line_without_its_end(tmp_path: Path) -> None:
    """A last line without a line feed is kept as it is, or dropped without a trace."""
    lines = [b"a ||| x ||| 0.5\n", b"a ||| y ||| 0.25\n", b"a ||| z ||| 0.75"]
    conditions = PruningConditions(column=1, threshold=0.5)
    assert pruned(tmp_path, lines, conditions)[0] == [lines[0], lines[2]]
    conditions = PruningConditions(column=1, threshold=0.25, top=1)
    assert pruned(tmp_path, lines, conditions)[0] == lines[2:]
    assert pruned(tmp_path, [*lines[:2], b"a ||| z ||| 0"], conditions)[0] == lines[:1]


@pytest.mark.parametrize("line", [b"a x", b"\tx", b""])
def test_bad_drop_lists(line: bytes) -> None:
    """A line of a drop list must have a source, a tab and a target."""
    with pytest.raises(InputError, match="drop:2: no phrase pair"):
        DropList([b"a\tx", line], "drop")
