"""``phrasescore improve`` as a user runs it, on a toy whose language model has much to learn."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.conftest import Phrasescore, said
from tests.support.toy_system import ToySystem, write_toy_system

# in the right translation, words of two kinds alternate, which the system cannot know
KINDS = "rw"


def alternating(source: str) -> str:
    """Return the right translation of a text."""
    lines = [line.split(" ") for line in source.split("\n")[:-1]]
    words = [[KINDS[at % 2] + word[1:] for at, word in enumerate(line)] for line in lines]
    return "".join(" ".join(line) + "\n" for line in words)


@pytest.fixture
def toy(tmp_path: Path) -> ToySystem:
    """Write a system, its dev set, and the parallel text train.src and train.trg."""
    write_toy_system(tmp_path / "train", sentences=300, seed=2)
    toy = write_toy_system(tmp_path / "toy", sentences=60)
    for source in (tmp_path / "train" / "dev.src", toy.source):
        source.with_suffix(".trg").write_text(alternating(source.read_text()))
    return toy


def call(toy: ToySystem, output: str) -> list[str | Path]:
    """Return the command line."""
    train = toy.ini.parents[1] / "train"
    return [
        "improve", toy.ini.parent, "--parallel", train / "dev.src", train / "dev.trg",
        "--source", toy.source, "--reference", toy.reference, "-o", output, "--passes", "20",
    ]  # fmt: skip


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a system; only a model's provenance has times and paths."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = {str(path.relative_to(folder)): path for path in files}
    unlike = "provenance.json", "SHA256SUMS", "curves.jsonl", "result.json", "rescoring.json"
    return {name: path.read_bytes() for name, path in names.items() if path.name not in unlike}


@pytest.mark.slow
def test_killed_and_continued(phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path) -> None:
    """What helps is kept; after kills the same command repeats no finished step."""
    for name in ("weights.json", "phrase-table.gz"):
        ended = phrasescore.start(*call(toy, "better"), named=name).wait()
        assert ended.status in (-signal.SIGKILL, 0)
    done = phrasescore(*call(toy, "better"), "--json").well()
    record = json.loads(done.stdout)
    assert "language-model" in record["kept"]
    assert record["benefits"]["language-model"]["low"] > 0
    again = phrasescore(*call(toy, "toy/../better")).well()
    assert b": done in " not in again.stderr
    assert again.stdout.decode().startswith(record["verdict"])
    other = tmp_path / "other"
    other.write_bytes(toy.reference.read_bytes().replace(b"\n", b" .\n", 1))
    phrasescore(*call(toy, "better"), "--reference", other).refused(6, "is not the file")
    better = tmp_path / "better"
    decoded = phrasescore("decode", better / "system", "-i", toy.source, "-o", "-")
    scores = {}
    for name, text in (
        ("new", decoded.stdout),
        ("old", (better / "dev.baseline.txt").read_bytes()),
    ):
        right = toy.reference.read_bytes().split()
        scores[name] = sum(a == b for a, b in zip(text.split(), right, strict=False)) / len(right)
    assert scores["new"] > scores["old"] + 0.1
    kept = r"language-model \| [0-9.]+ \| \+.* \| kept \|"
    assert re.search(kept, (better / "improve.md").read_text())
    assert b"tune" in (better / "commands.sh").read_bytes()
    phrasescore("report", "better", "-o", "page.html").well()
    assert record["verdict"].split(" (")[0] in (tmp_path / "page.html").read_text()
    made = content(better / "system")
    longer = phrasescore(*call(toy, "better"), "--passes", "22").well()
    assert b"train.language-model: the" not in longer.stderr
    assert b"further, after" in (better / "steps" / "train.language-model.log").read_bytes()
    whole = phrasescore(*call(toy, "whole")).well()
    assert b"tune.all: note: NeuralLM0 helps" in whole.stderr
    assert made == content(tmp_path / "whole" / "system")


def test_a_failed_first_step_may_be_corrected(phrasescore: Phrasescore, toy: ToySystem) -> None:
    """Other texts and other options are no other work as long as no step has finished."""
    folder = toy.ini.parents[1] / "train"
    (folder / "bad").write_text("s1 | s2\n" * 300)
    texts = "--source", toy.source, "--reference", toy.reference, "-o", "better"
    for source, more in (("bad", ()), ("bad", ("--case", "lower")), ("worse", ())):
        (folder / "worse").write_text("s1 <s>\n" * 300)
        parallel = "--parallel", folder / source, folder / "dev.trg"
        done = phrasescore("improve", *parallel, *texts, *more)
        assert b"the step build ended with status 3" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--source", "toy/dev.trg", "--reference", "toy/dev.src"], "Swap --source and"),
        (["--parallel", "toy/dev.src", "train/dev.trg"], "300 lines, but"),
        (["--reference", "toy/dev.src"], "the same text as the other side"),
        (["-o", "toy"], "has no run.json"),
        (["-o", "toy/lm.arpa"], "a file, where a folder was expected"),
        (["--target-text", "/dev/null"], "the text contains no sentence"),
        (["--tokenize", "en", "fr"], "toy was read as SYSTEM"),
        (["--parallel", "toy/dev.src", "--json"], "a file is missing for --parallel"),
        (["--time", "2h"], "--time and --passes exclude each other"),
    ],
)
def test_wrong_inputs(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path, change: list[str], message: str
) -> None:
    """One sentence says what is wrong, and no step runs."""
    before = sorted(tmp_path.rglob("*"))
    done = phrasescore(*call(toy, "better"), *change)
    assert done.returncode in (2, 3, 6), done.stderr.decode()
    assert message in done.stderr.decode()
    assert said(done.stderr).count(b"\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_system_that_rescores_already(
    phrasescore: Phrasescore, toy: ToySystem, tmp_path: Path
) -> None:
    """Its folder is refused; its ini names the search alone."""
    names = {"AttentionModel0": [0.1]}
    content = {"candidates": 10, "weights": names, "scorers": ["AttentionModel0"], "version": 1}
    (tmp_path / "toy" / "rescoring.json").write_text(json.dumps(content))
    command = call(toy, "better")
    command[1] = toy.ini.parent
    done = phrasescore(*command)
    assert b"this system has models that rescore" in done.stderr
