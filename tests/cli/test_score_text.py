"""``phrasescore score-text`` as a user runs it."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from phrasescore.commands.score_text import score_text
from phrasescore.errors import PhrasescoreError
from phrasescore.table.phrase_table import parse_entry, parse_scores
from tests.conftest import PROJECT, Phrasescore
from tests.support.builders import write_phrase_table
from tests.support.random_models import save_random_model

ENGLISH, FRENCH = [b"e%d" % i for i in range(30)], [b"f%d" % i for i in range(30)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a phrase table, its pairs as texts in both forms, and two models."""
    folder = tmp_path_factory.mktemp("score-text")
    write_phrase_table(folder / "table", 300)
    lines = (folder / "table").read_bytes().split(b"\n")[:-1]
    entries = [parse_entry(line) for line in lines]
    with gzip.open(folder / "pairs.tsv.gz", "wb") as stream:
        stream.write(b"".join(b"%s\t%s\n" % (entry.source, entry.target) for entry in entries))
    (folder / "source").write_bytes(b"".join(entry.source + b"\n" for entry in entries))
    (folder / "target").write_bytes(b"".join(entry.target + b"\n" for entry in entries))
    save_random_model(folder / "model", ENGLISH, [*FRENCH, b"de"])
    save_random_model(folder / "backwards", ENGLISH, [*FRENCH, b"de"], "target-source")
    return folder


def run(*arguments: str | Path) -> str:
    """Run the command in this process and return what it prints."""
    result = CliRunner().invoke(score_text, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("model", ["model", "backwards"])
def test_equal_to_the_column_of_score(
    model: str, data: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """The pairs of a table get the ln p that score writes as a probability, in both forms."""
    done = phrasescore(
        *("score", "--precision", "fp32", "--model", data / model, data / "table", "-o", "-")
    )
    assert done.returncode == 0, done.stderr
    columns = [parse_scores(parse_entry(line).scores) for line in done.stdout.split(b"\n")[:-1]]
    piped = phrasescore(
        *("score-text", "--model", data / model, "-"),
        stdin=(data / "pairs.tsv.gz").read_bytes(),
    )
    assert piped.returncode == 0, piped.stderr
    lines = piped.stdout.split(b"\n")[:-1]
    for line, scores in zip(lines, columns, strict=True):
        assert float(line.split(b"\t")[2]) == pytest.approx(math.log(scores[-1]), abs=1e-4)
    assert b"300 lines, " in piped.stderr
    run("--model", data / model, data / "source", data / "target", "-o", tmp_path / "out.gz")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == piped.stdout


def test_perplexity(data: Path, tmp_path: Path) -> None:
    """The figures are those of the lines, recomputed from what --words writes."""
    arguments = ["--model", data / "model", data / "pairs.tsv.gz"]
    alone = run(*arguments, "--perplexity")
    both = run(*arguments, "--perplexity", "--words", "-o", tmp_path / "out", "--batch-size", "9")
    figures, again = (dict(line.split() for line in text.splitlines()) for text in (alone, both))
    lines = (tmp_path / "out").read_bytes().split(b"\n")[:-1]
    words = [float(word) for line in lines for word in line.split(b"\t")[3].split()]
    unknown = sum(
        word not in (*FRENCH, b"de") for line in lines for word in line.split(b"\t")[1].split()
    )
    assert figures.keys() == {"lines", "skipped", "tokens", "unknown", "ln_p", "perplexity"}
    for found in (figures, again):
        counts = [int(found[name]) for name in ("lines", "skipped", "tokens", "unknown")]
        assert counts == [300, 0, len(words), unknown]
        assert float(found["ln_p"]) == pytest.approx(sum(words), abs=2e-3)
        expected = math.exp(-sum(words) / len(words))
        assert float(found["perplexity"]) == pytest.approx(expected, rel=1e-5)


def test_json(data: Path, tmp_path: Path) -> None:
    """JSON has figures, work, digests and provenance."""
    arguments = ["--model", data / "model", data / "source", data / "target", "--json"]
    printed = json.loads(run(*arguments, "--perplexity", "--threads", "1"))
    run(*arguments, "-o", tmp_path / "out", "--json-file", tmp_path / "json")
    written = json.loads((tmp_path / "json").read_bytes())
    assert printed["perplexity"] == pytest.approx(written["perplexity"])
    assert printed["lines"] == 300 and len(written["sha256"]) == 2
    assert written["work"]["target_asked"] == written["tokens"]
    assert written["provenance"]["settings"]["numerics"]["precision"] == "fp32"


def test_faulty_lines(data: Path, phrasescore: Phrasescore) -> None:
    """One is an error that names it, or is skipped and counted."""
    text = b"e1|x\tf1|y\ne1|x\tf1\ne1|x\t\r\n"
    arguments = ["score-text", "--model", data / "model", "--factor", "1", "-"]
    stopped = phrasescore(*arguments, stdin=text)
    assert (stopped.returncode, stopped.stdout) == (3, b"")
    assert b"standard input:2: the target token f1 has 1 factor, so there is no" in stopped.stderr
    assert stopped.stderr.count(b"\n") == 1
    skipped = phrasescore(*arguments, "--on-error", "skip", "--words", stdin=text)
    assert skipped.returncode == 0, skipped.stderr
    lines = skipped.stdout.split(b"\n")
    assert lines[1] == b"e1|x\tf1\t\t"
    # an empty target is </s> alone
    assert lines[2].startswith(b"e1|x\t\t-") and lines[2].endswith(b"\r")
    assert len(set(lines[2].rstrip(b"\r").split(b"\t")[2:])) == 1
    assert b"1 line could not be scored" in skipped.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a", "b", "c"], 2, "3 files, where this kind of model takes at most 2"),
        (["-", "-"], 2, "would both read standard input"),
        (["target", "source", "-o", "source"], 2, "--output would replace what"),
        (["source", "--json"], 2, "the lines and the JSON would both go to standard output"),
        (["source", "--perplexity", "-o", "-"], 2, "the lines and the perplexity would both go"),
        (["source", "--perplexity", "--words"], 2, "--words is about the lines"),
        (["source", "absent"], 3, "absent: no such file"),
        (["source"], 3, "source:1: no tab, where a source, a tab and a target were expected"),
        (["source"], 3, "Write them so, or give --on-error skip to leave its score empty."),
        (["source", "shorter", "-o", "new"], 3, "source:3: line 3 has no counterpart"),
    ],
)
def test_errors(
    arguments: list[str], code: int, message: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors are one sentence, with the exit code of their kind, and leave no output."""
    monkeypatch.chdir(data)
    Path("shorter").write_bytes(b"f1\nf2\n")
    with pytest.raises(PhrasescoreError) as caught:
        run("--model", "model", *arguments)
    assert caught.value.exit_code == code
    assert message in str(caught.value)
    assert not [path for path in data.iterdir() if "new" in path.name]


def test_appending_to_the_input(data: Path, tmp_path: Path) -> None:
    """The shell's >> onto an input is seen before it grows without end."""
    text = tmp_path / "text"
    text.write_bytes(b"e1\tf1\n")
    with text.open("ab") as output:
        done = subprocess.run(
            [sys.executable, "-m", "phrasescore", "score-text", "--model", data / "model", text],
            stdout=output,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            check=False,
        )
    assert done.returncode == 2
    assert b"the output is one of the texts" in done.stderr
    assert text.read_bytes() == b"e1\tf1\n"
