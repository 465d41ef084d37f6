"""Drawing sources from a table, with their targets."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from phrasescore.analysis import top
from phrasescore.analysis.top import TopSettings, draw_sources, find_preferences
from phrasescore.errors import PhraseTableError
from phrasescore.model.folder import load_model
from phrasescore.table.block import read_source_runs
from tests.support.random_models import save_random_model


def write_table(path: Path, counts: bool = True) -> Path:
    """Write 120 sources of 1 to 6 words, with counts of 1 to 20, and one to three targets."""
    rng = np.random.default_rng(3)
    lines = []
    for number in range(120):
        source = " ".join([f"w{number:03}"] + ["x"] * int(rng.integers(0, 6)))
        seen = int(rng.choice([1, 1, 2, 9, 10, 20]))
        for target in range(int(rng.integers(1, 4))):
            line = f"{source} ||| T{target} y ||| 0.5 0.5 0.{target + 1} 0.5 ||| 0-0"
            lines.append(line + (f" ||| 7 {seen} 1" if counts else ""))
    path.write_bytes("".join(f"{line}\n" for line in sorted(lines)).encode())
    return path


@pytest.mark.parametrize("size", [2, 17, 1000])
def test_the_drawn_are_those_of_the_least_numbers(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drawn sources have the smallest random numbers, as recomputed in plain Python."""
    table = write_table(tmp_path / "table")
    sources: dict[str, tuple[int, int]] = {}  # count, first line
    targets: Counter[str] = Counter()
    for number, line in enumerate(table.read_text().split("\n")[:-1], 1):
        columns = line.split(" ||| ")
        sources.setdefault(columns[0], (int(columns[4].split()[1]), number))
        targets[columns[0]] += 1
    monkeypatch.setattr(top, "read_source_runs", partial(read_source_runs, lines=size))
    drawn, among = draw_sources(table, 0, TopSettings(phrases=3, rare=1, seed=5))
    random = np.random.default_rng(5).random(sum(targets.values()))
    expected = []
    for group, fits in (("frequent", lambda n: n >= 10), ("rare", lambda n: n <= 1)):
        several = [s for s in sources if len(s.split()) > 3 and targets[s] > 1]
        long = [s for s in several if fits(sources[s][0])]
        assert among[group] == len(long) > 3  # type: ignore[index]
        keys = {s: random[sources[s][1] - 1] for s in long}
        expected += [(group, s) for s in sorted(sorted(long, key=keys.__getitem__)[:3])]
    assert [(each.group, each.source.decode()) for each in drawn] == expected
    assert all(each.count == sources[each.source.decode()][0] for each in drawn)
    lines = [line.split(" ||| ") for line in table.read_text().split("\n")]
    for each in drawn:  # all targets are kept with their p, in table order
        targets_and_p = zip(each.candidates, each.lines.score_column(3).tolist(), strict=True)
        assert [(target.decode(), p) for target, p in targets_and_p] == [
            (line[1], float(line[2].split()[2]))
            for line in lines
            if line[0] == each.source.decode()
        ]


def test_without_counts_there_is_one_group(tmp_path: Path) -> None:
    """Without counts there is one group, of long sources."""
    sources, among = draw_sources(write_table(tmp_path / "table", counts=False), 0, TopSettings(4))
    assert [each.group for each in sources] == ["long"] * 4
    assert all(math.isnan(each.count) and len(each.source.split()) >= 4 for each in sources)
    assert among["frequent"] == among["rare"] == 0


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("4 242 1", 242),
        ("  4\t2.5 0.5 ", 2.5),
        ("3 2", 2),
        ("", math.nan),
        ("3", math.nan),
        ("1 2 3 4", math.nan),
        ("1 -2 3", math.nan),
        ("1 2 nan", math.nan),
        ("1 x 3", math.nan),
    ],
)
def test_counts(tmp_path: Path, column: str, expected: float) -> None:
    """Counts are two or three numbers, of which the second counts the source, or are missing."""
    (tmp_path / "table").write_text(f"a ||| A ||| 1 ||| 0-0 ||| {column} ||| x\n")
    settings = TopSettings(min_words=1, min_targets=1, frequent=0, rare=0, column=1)
    (source,) = draw_sources(tmp_path / "table", 0, settings)[0]
    np.testing.assert_equal(source.count, expected)


def test_bytes_and_factors_of_a_source(tmp_path: Path) -> None:
    """Bytes that are not Unicode, and all factors, are kept."""
    table = tmp_path / "table"
    table.write_bytes(b"a b|N ||| A ||| 0.5 ||| ||| 1 2\nc\xff ||| C ||| 1\nc\xff ||| D ||| 0.25\n")
    sources, _ = draw_sources(table, 0, TopSettings(min_words=1, min_targets=1, column=1))
    assert [each.source for each in sources] == [b"a b|N", b"c\xff"]
    assert [each.lines.score_column(1).tolist() for each in sources] == [[0.5], [1, 0.25]]


def test_faults_name_their_line(tmp_path: Path) -> None:
    """Missing factors in drawn targets, and unsorted tables, are errors with their line."""
    table = tmp_path / "table"
    table.write_bytes(b"a|N ||| A|M ||| 1\nb|N ||| B|M ||| 1\nb|N ||| C ||| 1\n")
    settings = TopSettings(min_words=1, min_targets=1, column=1)
    folder = save_random_model(tmp_path / "model", [b"N"], [b"M"])
    model = load_model(folder)
    reads_tags = dataclasses.replace(model, settings=dataclasses.replace(model.settings, factor=1))
    with pytest.raises(PhraseTableError, match="no factor 1") as caught:
        find_preferences(reads_tags, draw_sources(table, 1, settings)[0], settings, "cpu")
    assert caught.value.line == 3
    table.write_bytes(b"b ||| B ||| 1\na ||| A ||| 1\n")
    with pytest.raises(PhraseTableError, match="must be sorted"):
        draw_sources(table, 0, TopSettings(column=1))
