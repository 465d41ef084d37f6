"""``phrasescore analyze scatter`` as a user runs it: every number computed another way."""

from __future__ import annotations

import gzip
import json
import math
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
    """Models of both directions, and tables."""
    folder = tmp_path_factory.mktemp("scatter")
    sides = [b"e%d" % word for word in range(WORDS)], [b"f%d" % word for word in range(WORDS)]
    save_random_model(folder / "model", *sides)
    save_random_model(folder / "backwards", *sides, "target-source")
    save_random_model(folder / "lm", *sides, kind="feed-forward-lm")
    table = write_phrase_table(folder / "plain.gz", PAIRS, words=WORDS)
    lines = gzip.decompress(table.read_bytes()).split(b"\n")[:-1]
    rng = np.random.default_rng(1)
    scored = [
        line.replace(b"0.5 0.25 0.5", b"0.5 0.25 %.3g" % 10 ** -rng.uniform(0, 7)) for line in lines
    ]
    text = b"".join(line + b"\n" for line in sorted([*scored, *ODD]))
    (folder / "table.gz").write_bytes(gzip.compress(text))
    bare = (b" ||| ".join(line.split(b" ||| ")[:3]) + b"\n" for line in scored)
    (folder / "bare").write_bytes(b"".join(bare))
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
        done = phrasescore("analyze", "scatter", table, "-o", "out", *arguments)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads((tmp_path / "out" / "result.json").read_bytes())
        return {**found, "stderr": done.stderr.decode()}

    return run


def test_figures_and_pairs(
    data: Path, scatter: Any, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The pairs have the ln p of score, the figures are those of the pairs."""
    found = scatter("--model", str(data / "model"), "--disagreements", "20")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    lists = {"model-higher.tsv", "model-lower.tsv"}
    assert files == {"pairs.tsv.gz", "scatter.svg", "result.json", *lists}
    pairs = rows(tmp_path / "out" / "pairs.tsv.gz")
    scored = phrasescore(
        "score", data / "table.gz", "--model", data / "model", "-o", "scored.gz", *FP32
    )
    assert scored.returncode == 0, scored.stderr
    lines = gzip.decompress((tmp_path / "scored.gz").read_bytes()).split(b"\n")[:-1]
    columns = [line.split(b" ||| ") for line in lines]
    assert [pair[:2] for pair in pairs] == [[c[0], c[1]] for c in columns]
    p = np.array([[float(score) for score in c[2].split()] for c in columns])
    table, model = (np.array([float(pair[place]) for pair in pairs]) for place in (2, 3))
    np.testing.assert_allclose(table, np.log(p[:, 2]), atol=1e-5)
    np.testing.assert_allclose(model, np.log(p[:, 4]), atol=1e-4)
    assert found["pairs"] == found["drawn_pairs"] == found["searched_pairs"] == PAIRS + len(ODD)
    assert found["near"] == pytest.approx((abs(table - model) <= 1).mean())
    assert found["far"] == pytest.approx((abs(table - model) > 5).mean())
    assert found["pearson"] == pytest.approx(np.corrcoef(table, model)[0, 1], abs=1e-4)
    assert f"correlation {found['pearson']:.3f}" in found["stderr"]
    text = (tmp_path / "out" / "scatter.svg").read_text("utf-8")
    assert f"{PAIRS + len(ODD):,} phrase pairs" in text
    assert "p(target | source) by score 3" in text


def test_prune_takes_the_lists(
    data: Path, scatter: Any, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """Every pair of a list is found in the table and dropped, odd bytes or not."""
    found = scatter("--model", str(data / "model"), "--disagreements", "1000")
    listed = {name: rows(tmp_path / "out" / name) for name in found["disagreements"]}
    assert sum(map(len, listed.values())) > 100
    odd = [pair for pairs in listed.values() for pair in pairs if b"\xff" in pair[1]]
    assert len(odd) == 1
    assert odd[0][:2] == [b"e1 <script>", b"f1 \xff <b>"]
    for name, pairs in listed.items():
        assert found["disagreements"][name]["pairs"] == len(pairs) > 0
        done = phrasescore(
            *("prune", data / "table.gz", "-o", "left", "--drop", Path("out") / name, "--json")
        )
        assert done.returncode == 0, done.stderr
        left = {tuple(line[0].split(b" ||| ")[:2]) for line in rows(tmp_path / "left")}
        assert len(left) == PAIRS + len(ODD) - len(pairs)
        assert not left & {tuple(pair[:2]) for pair in pairs}


def test_what_a_list_says(data: Path, scatter: Any, tmp_path: Path) -> None:
    """Both ln p, their difference per word, its strength, counts and reasons."""
    found = scatter("--model", str(data / "model"), "--disagreements", "1000")
    a, b, c, d = found["expected"]["coefficients"]
    for name, sign in (("model-higher.tsv", 1), ("model-lower.tsv", -1)):
        strengths = []
        for _, target, table, model, per_word, strength, counts, _ in rows(tmp_path / "out" / name):
            words = len(target.split()) + 1
            t, m = float(table), float(model)
            assert sign * (m - t) > 0
            assert float(per_word) == pytest.approx((m - t) / words, abs=1e-3)
            off = (m - (a + b * t + c * words + d * (t == 0))) / math.sqrt(words)
            assert float(strength) == pytest.approx(off / found["expected"]["deviation"], abs=0.01)
            assert counts in (b"2 2 1", b"2 900 1", b"2 1 1")
            strengths.append(sign * float(strength))
        assert strengths == sorted(strengths, reverse=True)
        assert min(strengths) >= 0
    together = rows(tmp_path / "out" / "model-higher.tsv") + rows(
        tmp_path / "out" / "model-lower.tsv"
    )
    reasons = {pair[0]: pair[7] for pair in together}
    assert reasons[b"e1 <script>"] == b"singleton, unknown=3, unaligned=3/5"
    assert all(reason.startswith(b"singleton") for reason in reasons.values())


def test_a_draw_and_the_whole_table(data: Path, scatter: Any, tmp_path: Path) -> None:
    """A draw is a part; the whole table has the strongest of all; the seed decides."""
    model = "--model", str(data / "model")
    drawn = scatter(*model, "--pairs", "50", "--seed", "5")
    part = rows(tmp_path / "out" / "pairs.tsv.gz")
    assert len(part) == drawn["drawn_pairs"] == drawn["searched_pairs"] == 50
    assert "50 of 402 pairs drawn, 50 searched" in drawn["stderr"]
    strongest = float(rows(tmp_path / "out" / "model-lower.tsv")[0][5])
    whole = scatter(*model, "--pairs", "50", "--seed", "5", "--whole-table")
    assert rows(tmp_path / "out" / "pairs.tsv.gz") == part
    assert whole["expected"] == drawn["expected"]
    assert whole["searched_pairs"] == PAIRS + len(ODD)
    assert float(rows(tmp_path / "out" / "model-lower.tsv")[0][5]) <= strongest
    assert whole["disagreements"]["model-lower.tsv"]["pairs"] == 100
    scatter(*model, "--pairs", "50", "--seed", "6")
    assert rows(tmp_path / "out" / "pairs.tsv.gz") != part


def test_a_score_in_place_of_a_model(
    data: Path, scatter: Any, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """A table that was scored needs no model; what a model knows is then no reason."""
    by_model = scatter("--model", str(data / "model"))
    phrasescore("score", data / "table.gz", "--model", data / "model", "-o", "scored.gz", *FP32)
    found = scatter("--model-column", "5", "--format", "png", table=tmp_path / "scored.gz")
    for name in ("pearson", "spearman", "near", "mean_model"):
        assert found[name] == pytest.approx(by_model[name], abs=1e-4)
    assert (tmp_path / "out" / "scatter.png").read_bytes().startswith(b"\x89PNG")
    assert found["reasons_of_drawn_pairs"]["unknown"] == 0
    assert by_model["reasons_of_drawn_pairs"]["unknown"] > 0


def test_a_table_without_counts_through_a_pipe(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The reasons that need counts or links do not apply; the other direction has its own score."""
    done = phrasescore(
        *("analyze", "scatter", "-", "--model", data / "backwards", "-o", "out", "--json"),
        stdin=(data / "bare").read_bytes(),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["provenance"]["settings"]["column"] == 1
    assert found["mean_table"] == pytest.approx(math.log(0.5))
    assert found["pearson"] is None
    assert found["reasons_of_drawn_pairs"]["singleton"] == 0
    assert found["reasons_of_drawn_pairs"]["unaligned"] == 0
    assert all(pair[6] == b"" for pair in rows(tmp_path / "out" / "model-lower.tsv"))
    assert "p(source | target)" in (tmp_path / "out" / "scatter.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["empty", "--model", "model"], 3, "the file is empty"),
        (["table.gz", "--model", "lm"], 4, "is a language model, which reads no source"),
        (["table.gz"], 2, "one thing is compared with the table"),
        (["table.gz", "--model", "model", "--model-column", "4"], 2, "one thing is compared"),
        (["table.gz", "--model-column", "3"], 2, "would be compared with itself"),
        (["table.gz", "--model-column", "9"], 2, "there is no score 9 to compare"),
        (["table.gz", "--model", "model", "--column", "7"], 2, "there is no score 7 to compare"),
        (["-", "--model", "model", "--whole-table"], 3, "a pipe, and it is read more than once"),
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
    """What is wrong and what to do; nothing is left behind."""
    names = {"empty", "table.gz", "model", "lm"}
    given = [data / each if each in names else each for each in arguments]
    done = phrasescore("analyze", "scatter", *given, "-o", "out", stdin=b"a ||| b ||| 1\n")
    assert done.returncode == status, done.stderr
    assert problem in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
