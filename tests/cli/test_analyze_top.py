"""``phrasescore analyze top`` as a user runs it, with a real model."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.random_models import save_random_model

WORDS = b"a b c d".split()
# bytes that are not Unicode, and text that a page would run as a script, are ordinary words
LINES = [
    b"<script> b c d ||| A \xff ||| 1 1 0.25 1 ||| 0-0 ||| 1 40 10",
    b"<script> b c d ||| B ||| 1 1 0.75 1 ||| 0-0 ||| 1 40 30",
    b"a b ||| A B ||| 1 1 1 1 ||| 0-0 ||| 1 100 100",
    b"a b c d ||| A B C D ||| 1 1 0.6 1 ||| 0-0 ||| 1 3 2",
    b"a b c d ||| A B ||| 1 1 0.4 1 ||| 0-0 ||| 1 3 1",
    b"a a a d ||| A B ||| 1 1 1 1 ||| 0-0 ||| 1 1 1",
    b"b b b b b ||| B ||| 1 1 1 1 ||| 0-0 ||| 1 5 5",
    b"d c \xfe a ||| D A ||| 1 1 0.25 1 ||| 0-0 ||| 1 12 3",
    b"d c \xfe a ||| D C ||| 1 1 0.5 1 ||| 0-0 ||| 1 12 6",
    b"d c \xfe a ||| D D D ||| 1 1 0 1 ||| 0-0 ||| 1 12 0",
    b"d c \xfe a ||| D ||| 1 1 0.25 1 ||| 0-0 ||| 1 12 3",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models and tables."""
    folder = tmp_path_factory.mktemp("top")
    targets = [word.upper() for word in WORDS]
    save_random_model(folder / "model", WORDS, targets)
    save_random_model(folder / "backwards", WORDS, targets, "target-source")
    save_random_model(folder / "lm", WORDS, targets, kind="feed-forward-lm")
    save_random_model(folder / "search", WORDS, targets, kind="search")
    (folder / "table.gz").write_bytes(
        gzip.compress(b"".join(line + b"\n" for line in sorted(LINES)))
    )
    (folder / "empty").write_bytes(b"")
    return folder


def test_the_lists_are_those_of_score_and_generate(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The model's ln p equal those of score-text, and the samples are those of generate."""
    model = "--model", data / "model"
    done = phrasescore(
        *("analyze", "top", data / "table.gz", *model, "-o", "top.md", "--json-file", "top.json"),
        *("--samples", "40", "--seed", "3"),
    ).well()
    assert b"frequent: drawn from 2 sources\n" in done.stderr
    result = json.loads((tmp_path / "top.json").read_bytes())
    assert result["drawn_from"] == {"frequent": 2, "rare": 1, "long": 0}
    assert result["provenance"]["settings"]["seed"] == 3
    found = result["sources"]
    assert [(each["group"], each["source"], each["count"]) for each in found] == [
        ("frequent", "<script> b c d", 40),
        ("frequent", "d c \\xfe a", 12),
        ("rare", "a b c d", 3),
    ]
    assert [each["by_table"][0] for each in found] == [
        {"target": "B", "p": 0.75},
        {"target": "D C", "p": 0.5},
        {"target": "A B C D", "p": 0.6},
    ]
    # equal candidates stand in the order of the table
    second = [target["target"] for target in found[1]["by_table"]]
    assert (found[1]["candidates"], second) == (4, ["D C", "D A", "D"])
    # the model prefers the best of the table; bytes that are not Unicode are escaped in JSON
    sources = [each["source"].encode().replace(b"\\xfe", b"\xfe") for each in found]
    for source, each in zip(sources, found, strict=True):
        targets = [line.split(b" ||| ")[1] for line in sorted(LINES) if line.startswith(source)]
        (tmp_path / "pairs").write_bytes(b"".join(b"%s\t%s\n" % (source, t) for t in targets))
        scored = phrasescore("score-text", *model, "pairs").stdout.split(b"\n")[:-1]
        ln_p = dict(zip(targets, (float(line.split(b"\t")[2]) for line in scored), strict=True))
        best = sorted(targets, key=ln_p.__getitem__, reverse=True)[:3]
        preferred = [target["target"].encode() for target in each["by_model"]]
        assert preferred == [target.replace(b"\xff", b"\\xff") for target in best]
        values = [target["ln_p"] for target in each["by_model"]]
        assert values == pytest.approx([ln_p[target] for target in best], abs=1e-3)
    # the targets that the model generates
    (tmp_path / "phrases").write_bytes(b"".join(source + b"\n" for source in sources))
    drawn = phrasescore(
        *("generate", *model, "-i", "phrases", "--samples", "40", "--seed", "3"),
        *("--nbest-size", "5"),
    ).stdout.split(b"\n")[:-1]
    samples = [line.split(b"\t") for line in drawn]
    assert [
        (source, each["target"].encode(), each["times"])
        for source, of in zip(sources, found, strict=True)
        for each in of["samples"]
    ] == [(source, target, int(times)) for source, target, _, times in samples]
    text = (tmp_path / "top.md").read_text("utf-8")
    assert text.startswith("**Long, frequent source phrases**\n")
    assert "<script>" not in text


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["empty", "--model", "model"], 3, "the file is empty"),
        (["table.gz", "--model", "lm"], 4, "is a language model, which reads no source"),
        (["table.gz", "--model", "search"], 4, "has learnt from sentences"),
        (["table.gz", "--model", "backwards"], 4, "writes source phrases"),
        (["table.gz", "--model", "model", "--column", "5"], 2, "there is no score 5 to compare"),
    ],
)
def test_wrong_input_is_one_sentence(
    data: Path, phrasescore: Phrasescore, arguments: list[str], status: int, problem: str
) -> None:
    """Wrong input prints one sentence with the problem and a remedy, and the right exit status."""
    names = {"empty", "table.gz", "model", "lm", "search", "backwards"}
    given = [data / each if each in names else each for each in arguments]
    phrasescore("analyze", "top", *given).refused(status, problem)
