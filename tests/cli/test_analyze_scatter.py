"""``phrasescore analyze scatter`` as a user runs it; the tests recompute every number."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Phrasescore
from tests.support.builders import write_phrase_table
from tests.support.random_models import save_random_model

PAIRS, WORDS = 400, 12
FP32 = "--precision", "fp32"
ODD = (
    b"e1 <script> ||| f1 \xff <b> ||| 0.5 0.25 1e-9 0.125 ||| 0-0 ||| 2 900 1",
    b"e2 2014 , ||| f2 ||| 0.5 0.25 1e-8 0.125 ||| 0-0 ||| 2 1 1",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with models and tables."""
    folder = tmp_path_factory.mktemp("scatter")
    sides = [b"e%d" % word for word in range(WORDS)], [b"f%d" % word for word in range(WORDS)]
    save_random_model(folder / "model", *sides)
    save_random_model(folder / "lm", *sides, kind="feed-forward-lm")
    table = write_phrase_table(folder / "plain.gz", PAIRS, words=WORDS)
    lines = gzip.decompress(table.read_bytes()).split(b"\n")[:-1]
    rng = np.random.default_rng(1)
    scored = [
        line.replace(b"0.5 0.25 0.5", b"0.5 0.25 %.3g" % 10 ** -rng.uniform(0, 7)) for line in lines
    ]
    text = b"".join(line + b"\n" for line in sorted([*scored, *ODD]))
    (folder / "table.gz").write_bytes(gzip.compress(text))
    (folder / "empty").write_bytes(b"")
    return folder


def rows(path: Path) -> list[list[bytes]]:
    text = path.read_bytes()
    text = gzip.decompress(text) if path.suffix == ".gz" else text
    return [line.split(b"\t") for line in text.split(b"\n")[:-1]]


@pytest.fixture
def scatter(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> Any:
    """Run the command on the table; return its summary."""

    def run(*arguments: str, table: Path = data / "table.gz") -> dict[str, Any]:
        done = phrasescore("analyze", "scatter", table, "-o", "out", *arguments).well()
        found: dict[str, Any] = json.loads((tmp_path / "out" / "result.json").read_bytes())
        return {**found, "stderr": done.stderr.decode()}

    return run


def test_figures_and_pairs(
    data: Path, scatter: Any, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The pairs have the ln p of ``score``, and the figures follow from the pairs."""
    found = scatter("--model", str(data / "model"))
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"pairs.tsv.gz", "scatter.svg", "result.json"}
    pairs = rows(tmp_path / "out" / "pairs.tsv.gz")
    phrasescore(
        "score", data / "table.gz", "--model", data / "model", "-o", "scored.gz", *FP32
    ).well()
    lines = gzip.decompress((tmp_path / "scored.gz").read_bytes()).split(b"\n")[:-1]
    columns = [line.split(b" ||| ") for line in lines]
    p = {(c[0], c[1]): [float(score) for score in c[2].split()] for c in columns}
    assert {(pair[0], pair[1]) for pair in pairs} == p.keys()
    of_score = np.log([p[pair[0], pair[1]] for pair in pairs])
    table, model = (np.array([float(pair[place]) for pair in pairs]) for place in (2, 3))
    np.testing.assert_allclose(table, of_score[:, 2], atol=1e-5)
    np.testing.assert_allclose(model, of_score[:, 4], atol=1e-4)
    # pairs that the model prefers more than the table come first
    assert (np.diff(model - table) <= 1e-4).all()
    assert found["pairs"] == found["drawn_pairs"] == PAIRS + len(ODD)
    assert found["near"] == pytest.approx((abs(table - model) <= 1).mean())
    assert found["far"] == pytest.approx((abs(table - model) > 5).mean())
    assert found["pearson"] == pytest.approx(np.corrcoef(table, model)[0, 1], abs=1e-4)
    assert f"correlation {found['pearson']:.3f}" in found["stderr"]
    text = (tmp_path / "out" / "scatter.svg").read_text("utf-8")
    assert f"{PAIRS + len(ODD):,} phrase pairs" in text
    assert "p(target | source) by score 3" in text


def test_prune_takes_the_lines(
    data: Path, scatter: Any, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """``prune`` finds and drops every listed pair in the table, even with odd bytes."""
    scatter("--model", str(data / "model"))
    odd = [b"e1 <script>", b"f1 \xff <b>"]
    listed = rows(tmp_path / "out" / "pairs.tsv.gz")
    chosen = [*listed[:100], next(pair for pair in listed if pair[:2] == odd)]
    (tmp_path / "chosen").write_bytes(b"".join(b"\t".join(pair) + b"\n" for pair in chosen))
    phrasescore("prune", data / "table.gz", "-o", "left", "--drop", "chosen").well()
    left = {tuple(line[0].split(b" ||| ")[:2]) for line in rows(tmp_path / "left")}
    dropped = {tuple(pair[:2]) for pair in chosen}
    assert left == {tuple(pair[:2]) for pair in listed} - dropped


def test_other_format(data: Path, scatter: Any, tmp_path: Path) -> None:
    """The picture may have another format."""
    scatter("--model", str(data / "model"), "--format", "png")
    assert (tmp_path / "out" / "scatter.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["empty", "--model", "model"], 3, "the file is empty"),
        (["table.gz", "--model", "lm"], 4, "is a language model, which reads no source"),
        (["table.gz"], 2, "--model"),
        (["table.gz", "--model", "model", "--column", "7"], 2, "there is no score 7 to compare"),
        (["model", "--model", "model"], 3, "folder"),
    ],
)
def test_wrong_input_is_one_sentence(
    data: Path,
    phrasescore: Phrasescore,
    tmp_path: Path,
    arguments: list[str],
    status: int,
    problem: str,
) -> None:
    """Wrong input prints one sentence with the problem and a remedy, and leaves no file."""
    names = {"empty", "table.gz", "model", "lm"}
    given = [data / each if each in names else each for each in arguments]
    phrasescore("analyze", "scatter", *given, "-o", "out").refused(status, problem)
    assert not (tmp_path / "out").exists()


def test_nothing_is_replaced(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Files whose names the command chooses replace neither inputs nor other commands' results."""
    (tmp_path / "pairs.tsv.gz").write_bytes((data / "table.gz").read_bytes())
    call = "analyze", "scatter", "--model", data / "model", "pairs.tsv.gz", "-o"
    phrasescore(*call, ".").refused(2, "--output would replace an input: TABLE")
    (tmp_path / "out").mkdir()
    for text in ('{"kind": "tune"}', "no JSON"):
        (tmp_path / "out" / "result.json").write_text(text)
        phrasescore(*call, "out").refused(2, "would replace this file, which it did not write")
    (tmp_path / "out" / "result.json").unlink()
    (tmp_path / "out" / "scatter.svg").write_text("mine")
    assert phrasescore(*call, "out").returncode == 2
    assert (tmp_path / "out" / "scatter.svg").read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scatter.svg"]
