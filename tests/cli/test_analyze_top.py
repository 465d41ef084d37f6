"""``phrasescore analyze top`` as a user runs it, with a real model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = b"a b c d".split()
# what is not Unicode, and what a page would run, are words like others
LINES = [
    b"<script> b c d ||| A \xff ||| 1 1 0.25 1 ||| 0-0 ||| 1 40 10",
    b"<script> b c d ||| B ||| 1 1 0.75 1 ||| 0-0 ||| 1 40 30",
    b"a b ||| A B ||| 1 1 1 1 ||| 0-0 ||| 1 100 100",
    b"a b c d ||| A B C D ||| 1 1 0.6 1 ||| 0-0 ||| 1 3 2",
    b"a b c d ||| A B ||| 1 1 0.4 1 ||| 0-0 ||| 1 3 1",
    b"a a a d ||| A B ||| 1 1 1 1 ||| 0-0 ||| 1 1 1",
    b"b b b b b ||| B ||| 1 1 1 1 ||| 0-0 ||| 1 5 5",
    b"d c \xfe a ||| D C ||| 1 1 0.5 1 ||| 0-0 ||| 1 12 6",
    b"d c \xfe a ||| D D ||| 1 1 0.5 1 ||| 0-0 ||| 1 12 6",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some models, and tables with and without counts."""
    folder = tmp_path_factory.mktemp("top")
    targets = [word.upper() for word in WORDS]
    save_random_model(folder / "model", WORDS, targets)
    save_random_model(folder / "backwards", WORDS, targets, "target-source")
    save_random_model(folder / "lm", WORDS, targets, kind="feed-forward-lm")
    save_random_model(folder / "search", WORDS, targets, kind="search")
    (folder / "table.gz").write_bytes(
        gzip.compress(b"".join(line + b"\n" for line in sorted(LINES)))
    )
    bare = (b" ||| ".join(line.split(b" ||| ")[:3]) + b"\n" for line in sorted(LINES))
    (folder / "bare").write_bytes(b"".join(bare))
    (folder / "empty").write_bytes(b"")
    return folder


def test_the_lists_are_those_of_score_and_generate(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The model's ln p is what score-text gives, the samples are what generate draws."""
    model = "--model", data / "model"
    done = phrasescore(
        *("analyze", "top", data / "table.gz", *model, "-o", "top.tsv", "--json-file", "top.json"),
        *("--samples", "40", "--seed", "3"),
    )
    assert done.returncode == 0, done.stderr
    drawn = b"%d of %d sources of at least 4 words with at least 2 targets, extracted %s\n"
    for line in (drawn % (2, 2, b"10 times or more"), drawn % (1, 1, b"3 times or less")):
        assert line in done.stderr
    lines = [line.split(b"\t") for line in (tmp_path / "top.tsv").read_bytes().split(b"\n")[:-1]]
    found = [line for line in lines[1:] if line[3] == b"1"]
    assert [line[:3] for line in found] == [
        [b"frequent", b"<script> b c d", b"40"],
        [b"frequent", b"d c \xfe a", b"12"],
        [b"rare", b"a b c d", b"3"],
    ]
    assert [line[4:6] for line in found] == [
        [b"B", b"0.75"],
        [b"D C", b"0.5"],
        [b"A B C D", b"0.6"],
    ]
    # what the model prefers
    pairs = b"".join(b"%s\t%s\n" % (line[1], line[6]) for line in lines[1:] if line[6])
    (tmp_path / "pairs").write_bytes(pairs)
    scored = phrasescore("score-text", *model, "pairs").stdout.split(b"\n")[:-1]
    assert [float(line.split(b"\t")[2]) for line in scored] == pytest.approx(
        [float(line[7]) for line in lines[1:] if line[6]], abs=1e-3
    )
    # what it writes
    (tmp_path / "phrases").write_bytes(b"".join(line[1] + b"\n" for line in found))
    drawn = phrasescore(
        *("generate", *model, "-i", "phrases", "--samples", "40", "--seed", "3"),
        *("--nbest-size", "5"),
    ).stdout.split(b"\n")[:-1]
    samples = [line.split(b"\t") for line in drawn]
    assert [[line[1], line[8], line[9]] for line in lines[1:]] == [
        [source, target, times] for source, target, _, times in samples
    ]
    result = json.loads((tmp_path / "top.json").read_bytes())
    assert result["drawn_from"] == {"frequent": 2, "rare": 1, "long": 0}
    assert result["figures"]["frequent"]["tied"] == 0.5
    assert result["figures"]["rare"]["table_words"] == 4
    assert b"words of the best: 4.00 by the table" in done.stderr
    assert result["sources"][1]["source"] == "d c \\xfe a"
    assert result["provenance"]["settings"]["seed"] == 3


def test_given_sources_on_standard_output(data: Path, phrasescore: Phrasescore) -> None:
    """In their order, also those that the table lacks; a table may come through a pipe."""
    done = phrasescore(
        *("analyze", "top", data / "table.gz", "--model", data / "model", "--sources", "-"),
        *("--samples", "5"),
        stdin=b"nowhere\na  b\n",
    )
    assert done.returncode == 0, done.stderr
    assert b"1 of 2 sources are in the table" in done.stderr
    lines = [line.split(b"\t") for line in done.stdout.split(b"\n")[1:-1]]
    assert [line[:6] for line in lines if line[3] == b"1"] == [
        [b"given", b"nowhere", b"", b"1", b"", b""],
        [b"given", b"a b", b"100", b"1", b"A B", b"1"],
    ]
    table = gzip.decompress((data / "table.gz").read_bytes())
    piped = phrasescore("analyze", "top", "-", "--model", data / "model", stdin=table)
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout.count(b"\n") > 5


def test_markdown_and_a_table_without_counts(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The format goes by the name; without counts there is one group, and it is said why."""
    done = phrasescore(
        *("analyze", "top", data / "bare", "--model", data / "model", "-o", "top.md"),
        *("--min-words", "2", "--phrases", "3", "--min-targets", "1"),
    )
    assert done.returncode == 0, done.stderr
    said = b"3 of 6 sources of at least 2 words with at least 1 target, without counts\n"
    assert done.stderr.startswith(said)
    text = (tmp_path / "top.md").read_text("utf-8")
    assert text.startswith("**Long source phrases, of a table without counts**\n")
    assert "<script>" not in text


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["empty", "--model", "model"], 3, "the file is empty"),
        (["none", "--model", "model"], 3, "no such file"),
        (["table.gz", "--model", "lm"], 4, "is a language model, which reads no source"),
        (["table.gz", "--model", "search"], 4, "has learnt from sentences"),
        (["table.gz", "--model", "backwards"], 4, "reads the target side of a table"),
        (["table.gz", "--model", "model", "--column", "5"], 2, "there is no score 5 to compare"),
        (["table.gz", "--model", "model", "--rare", "10"], 2, "both rare and frequent"),
        (
            ["table.gz", "--model", "model", "--sources", "bare", "--min-words", "2"],
            2,
            "--min-words is about drawing sources",
        ),
        (["table.gz", "--model", "model", "--json"], 2, "would both go to standard output"),
        (["table.gz", "--model", "model", "-o", "table.gz"], 2, "would replace what"),
    ],
)
def test_wrong_input_is_one_sentence(
    data: Path, phrasescore: Phrasescore, arguments: list[str], status: int, problem: str
) -> None:
    """What is wrong, what to do, and a status that says whose fault it is."""
    names = {"empty", "none", "table.gz", "bare", "model", "lm", "search", "backwards"}
    given = [data / each if each in names else each for each in arguments]
    done = phrasescore("analyze", "top", *given)
    assert done.returncode == status, done.stderr
    assert problem in done.stderr.decode()
    assert b"Traceback" not in done.stderr
