"""``phrasescore prune`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moses_integration.commands.tables import prune
from phrasescore.errors import PhrasescoreError
from tests.conftest import Phrasescore
from tests.support.plain_pruning import minus_ln_p, plain_pruning, plain_reordering, scores_of

TABLE = b"""\
la maison ||| house ||| 0.5 0.1 ||| 0-0 ||| 2 4 1 ||| |||
la maison ||| the home ||| 0.25 0.3 ||| 0-0 ||| 1 4 1 ||| |||
la maison ||| the house ||| 0.5 0.6 ||| 0-0 1-1 ||| 3 4 3 ||| |||
la ||| the ||| 0.9 0.8 ||| 0-0 ||| 9 9 9 ||| |||
un ||| one ||| 0.1 0.1 ||| 0-0 ||| 1 1 1 ||| |||
"""
REORDERING = b"""\
la maison ||| house ||| 0.6 0.2 0.2
la maison ||| the house ||| 0.6 0.2 0.2
la ||| the ||| 0.2 0.6 0.2
un ||| eins ||| 0.2 0.6 0.2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the inputs of the commands."""
    (tmp_path / "table").write_bytes(TABLE)
    (tmp_path / "reordering").write_bytes(REORDERING)
    (tmp_path / "drop.tsv").write_bytes(b"la\tthe\tbecause\nle\tthe\n")
    return tmp_path


def lines_of(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def test_all_conditions_and_both_tables(phrasescore: Phrasescore, folder: Path) -> None:
    """All conditions work together on both tables, and the counts are reported."""
    done = phrasescore(
        *("prune", "table", "-o", "small.gz", "--top", "1", "--column", "2", "--threshold", "0.1"),
        *("--significance", "a+e", "--sentences", "10", "--drop", "drop.tsv"),
        *("--reordering", "reordering", "--reordering-output", "r.gz", "--json"),
    ).well()
    kept = gzip.decompress((folder / "small.gz").read_bytes())
    assert kept == lines_of(TABLE)[2]
    expected = plain_pruning(
        lines_of(TABLE),
        drop={(b"la", b"the")},
        significant=lambda line: minus_ln_p(line, 10) > minus_ln_p(lines_of(TABLE)[4], 10),
        value=lambda line: scores_of(line)[1],
        threshold=0.1,
        top=1,
    )
    assert lines_of(kept) == expected
    reordering = gzip.decompress((folder / "r.gz").read_bytes())
    assert lines_of(reordering) == plain_reordering(lines_of(REORDERING), expected)
    said = done.stderr.decode()
    assert "1 of 5 pairs kept (20.0%), from 1 of 3 sources" in said
    assert "dropped: 1 listed, 3 insignificant, 0 below the threshold, 0 beyond the best" in said
    assert "1 listed pair not in the table" in said
    assert "reordering table: 1 of 4 lines kept" in said
    result = json.loads(done.stdout)
    assert [result[name] for name in ("listed", "insignificant", "below", "beyond")] == [1, 3, 0, 0]
    assert result["reordering"] == {"lines": 4, "kept": 1}
    assert result["provenance"]["settings"]["significance"]["sentences"] == 10


def test_through_pipes(phrasescore: Phrasescore, folder: Path) -> None:
    """Pruning works through pipes, and leaves no work files."""
    done = phrasescore(
        *("prune", "-", "-o", "-", "--top", "1", "--column", "2"), stdin=TABLE
    ).well()
    expected = plain_pruning(lines_of(TABLE), value=lambda line: scores_of(line)[1], top=1)
    assert lines_of(done.stdout) == expected
    assert b" 2 beyond the best\n" in done.stderr
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ("", 2, "no condition was given"),
        ("--top 1 --column 3", 2, "there is no score 3 to compare"),
        ("--column 1", 2, "no condition was given"),
        ("--column 1 --drop drop.tsv", 2, "--column and --top or --threshold need each other"),
        ("--significance a+e", 2, "--significance needs --sentences"),
        ("--drop drop.tsv --reordering reordering", 2, "go together"),
        (
            "--drop drop.tsv -o - --reordering x --reordering-output y",
            2,
            "the output must be a file",
        ),
        (
            "--drop drop.tsv --reordering table --reordering-output y",
            3,
            "table:1: 7 columns, expected 3 in a reordering table",
        ),
        ("--threshold 2 --column 1", 3, "no pair meets the conditions"),
        ("--drop table", 3, "table:1: no phrase pair"),
    ],
)
def test_wrong_calls(
    arguments: str, status: int, sentence: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wrong call prints one sentence and leaves no file."""
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    error = CliRunner().invoke(prune, ["table", "-o", "small", *arguments.split()]).exception
    assert isinstance(error, PhrasescoreError)
    assert error.exit_code == status
    assert sentence in str(error)
    assert {path.name for path in folder.iterdir()} == before
    assert (folder / "table").read_bytes() == TABLE


def test_a_reordering_table_of_another_system_leaves_nothing(
    phrasescore: Phrasescore, folder: Path
) -> None:
    """The pruned table gets its name only when the reordering table is complete."""
    (folder / "damaged").write_bytes(b"la ||| x ||| 0.1 0.2\nl\n")
    before = sorted(folder.iterdir())
    phrasescore(
        "prune", "table", "-o", "small", "--top", "1", "--column", "1",
        "--reordering", "damaged", "--reordering-output", "cut",
    ).refused(3, "damaged")  # fmt: skip
    assert sorted(folder.iterdir()) == before
