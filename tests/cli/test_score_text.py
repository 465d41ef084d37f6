"""``phrasescore score-text`` as a user runs it."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from phrasescore.commands.score_text import score_text
from phrasescore.errors import PhrasescoreError
from phrasescore.model.folder import load_model
from phrasescore.model.sequence_model import Batch
from phrasescore.scoring.text_scoring import ModelCounts, TextCounts
from phrasescore.table.phrase_table import parse_entry, parse_scores
from tests.conftest import Phrasescore
from tests.support.builders import write_phrase_table
from tests.support.fresh_process import run_fresh
from tests.support.random_models import save_random_model
from tests.support.warm_process import Surroundings, WarmProcesses

ENGLISH, FRENCH = [b"e%d" % i for i in range(30)], [b"f%d" % i for i in range(30)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a phrase table, its pairs as texts in both forms, and two models."""
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
    """Run the command in this process and return its output."""
    result = CliRunner().invoke(score_text, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("model", ["model", "backwards"])
def test_equal_to_the_column_of_score(
    model: str, data: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """The ln p of a table's pairs equal the probabilities of ``score``, in both forms of text."""
    done = phrasescore(
        *("score", "--precision", "fp32", "--model", data / model, data / "table", "-o", "-")
    ).well()
    columns = [parse_scores(parse_entry(line).scores) for line in done.stdout.split(b"\n")[:-1]]
    piped = phrasescore(
        *("score-text", "--model", data / model, "-"), stdin=(data / "pairs.tsv.gz").read_bytes()
    ).well()
    lines = piped.stdout.split(b"\n")[:-1]
    for line, scores in zip(lines, columns, strict=True):
        assert float(line.split(b"\t")[2]) == pytest.approx(math.log(scores[-1]), abs=1e-4)
    assert b"300 lines, " in piped.stderr
    run("--model", data / model, data / "source", data / "target", "-o", tmp_path / "out.gz")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == piped.stdout


def words_alone(folder: Path, read: bytes, predicted: bytes) -> list[float]:
    """Return ln p of each word and of </s> by the model itself."""
    loaded = load_model(folder)
    source = torch.tensor([loaded.source_vocabulary.encode(read.split())], dtype=torch.long)
    target = torch.tensor([loaded.target_vocabulary.encode(predicted.split())], dtype=torch.long)
    with torch.no_grad():
        return [float(ln_p) for ln_p in loaded.model.score(Batch(source, target, None))[0]]


@pytest.mark.parametrize("model", ["model", "backwards"])
def test_each_word_alone(model: str, data: Path, tmp_path: Path) -> None:
    """Lines keep order and bytes; words and totals equal those of the model for one pair."""
    pairs = [b"%b\t%b" % (pair[0], pair[1]) for pair in pairs_of_any_length(60)]
    (tmp_path / "pairs").write_bytes(b"\n".join(pairs))
    scored = run("--model", data / model, tmp_path / "pairs", "--words").encode().splitlines()
    for pair, line in zip(pairs, scored, strict=True):
        kept, total, words = line.rsplit(b"\t", 2)
        assert kept == pair
        read, predicted = pair.split(b"\t")[:: 1 if model == "model" else -1]
        found = [float(word) for word in words.split(b" ")]
        assert found == pytest.approx(words_alone(data / model, read, predicted), abs=1e-4)
        assert float(total) == pytest.approx(sum(found), abs=1e-6 * (len(found) + 1))


def pairs_of_any_length(count: int) -> list[tuple[bytes, bytes]]:
    """Return pairs with repeated and unknown words, and without source or target words."""
    rng = np.random.default_rng(7)

    def text(words: list[bytes], least: int) -> bytes:
        return b" ".join(rng.choice([*words, b"new"], rng.integers(least, 12)).tolist())

    return [(text(ENGLISH, 1), text(FRENCH, 1 if i % 9 else 0)) for i in range(count)]


def test_skipped_lines_change_no_other(data: Path, tmp_path: Path) -> None:
    """Other lines have the scores that they have without faulty lines between them."""
    good = gzip.decompress((data / "pairs.tsv.gz").read_bytes())
    (tmp_path / "pairs").write_bytes(b"no tab\n\t f1\n" + good.replace(b"\n", b"\nno tab\n"))
    command = ["--model", data / "model", "--json", "-o", tmp_path / "out"]
    skipping = json.loads(run(*command, tmp_path / "pairs", "--on-error", "skip"))
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert lines[:2] == [b"no tab\t", b"\t f1\t"] and set(lines[3::2]) == {b"no tab\t"}
    plain = json.loads(run(*command, data / "pairs.tsv.gz"))
    alone = (tmp_path / "out").read_bytes().splitlines()
    for line, other in zip(lines[2::2], alone, strict=True):
        (kept, score), (expected, ln_p) = line.rsplit(b"\t", 1), other.rsplit(b"\t", 1)
        assert kept == expected and float(score) == pytest.approx(float(ln_p), abs=1e-5)
    assert (skipping["lines"], skipping["skipped"]) == (602, 302)
    assert skipping["models"][0]["tokens"] == plain["models"][0]["tokens"]


@pytest.mark.parametrize("text", [b"no tab\n" * 3, b""])
def test_no_line_to_score(text: bytes, data: Path, tmp_path: Path) -> None:
    """Without lines to score there is no perplexity, and no error."""
    (tmp_path / "pairs").write_bytes(text)
    command = ["--model", data / "model", tmp_path / "pairs", "--on-error", "skip"]
    printed = json.loads(run(*command, "--json", "-o", tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == text.replace(b"\n", b"\t\n")
    assert printed["models"][0]["perplexity"] is None


def test_no_infinity_in_json() -> None:
    """A perplexity that is no finite number is null in JSON."""
    improbable = TextCounts(models=(ModelCounts(ln_p=-1e6, tokens=10),))
    assert improbable.figures()[0]["perplexity"] is None


@pytest.mark.parametrize("change", ["--words", "--batch-size", "model", "texts", "--on-error"])
def test_another_run_begins_anew(
    change: str, data: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Only a run with equal model, texts and options continues an interrupted run."""
    pairs = gzip.decompress((data / "pairs.tsv.gz").read_bytes()) * 100
    (tmp_path / "pairs").write_bytes(pairs)
    command = ["score-text", "pairs", "-o", "out", "--threads", "1", "--model"]
    phrasescore.killed_after_a_block("out", *command, str(data / "model"))
    if change == "texts":
        (tmp_path / "pairs").write_bytes(pairs + b"e1\tf1\n")
    others = {"--words": ["--words"], "--batch-size": ["--batch-size", "9"]}
    others["--on-error"] = ["--on-error", "skip"]
    model = data / ("backwards" if change == "model" else "model")
    done = phrasescore(*command, model, *others.get(change, [])).well()
    assert b"is discarded" in done.stderr and b"continuing" not in done.stderr


def test_perplexity(data: Path, tmp_path: Path) -> None:
    """The figures equal those recomputed from the output of --words."""
    arguments = ["--model", data / "model", data / "pairs.tsv.gz"]
    alone = run(*arguments, "--json", "-o", os.devnull)
    both = run(*arguments, "--json", "--words", "-o", tmp_path / "out", "--batch-size", "9")
    figures, again = (json.loads(text)["models"][0] for text in (alone, both))
    del figures["model"]
    lines = (tmp_path / "out").read_bytes().split(b"\n")[:-1]
    words = [float(word) for line in lines for word in line.split(b"\t")[3].split()]
    unknown = sum(
        word not in (*FRENCH, b"de") for line in lines for word in line.split(b"\t")[1].split()
    )
    assert figures.keys() == {"lines", "skipped", "tokens", "unknown", "ln_p", "perplexity"}
    for found in (figures, again):
        counts = [found[name] for name in ("lines", "skipped", "tokens", "unknown")]
        assert counts == [300, 0, len(words), unknown]
        assert found["ln_p"] == pytest.approx(sum(words), abs=2e-3)
        expected = math.exp(-sum(words) / len(words))
        assert found["perplexity"] == pytest.approx(expected, rel=1e-5)


def test_no_record_if_the_figures_cannot_be_printed(
    data: Path, tmp_path: Path, warm_processes: WarmProcesses
) -> None:
    """If standard output is full, no file reports success."""
    words = ["score-text", "--model", f"{data / 'model'}", f"{data / 'pairs.tsv.gz'}"]
    words += ["--json", "-o", os.devnull, "--json-file", "record.json"]
    done = warm_processes.observe(words, Surroundings(tmp_path, stdout="/dev/full"))
    assert (done.status, b"No space left on device" in done.errors) == (8, True)
    assert not (tmp_path / "record.json").exists()


def test_zero_bytes(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A line with a zero byte stops the command, or is skipped like any other faulty line."""
    (tmp_path / "pairs").write_bytes(b"e1\tf1\ne\0\tf1\ne2\tf1\n")
    command = ["score-text", "--model", data / "model", "pairs"]
    stopped = phrasescore(*command).refused(3, "a zero byte after 7 bytes")
    assert stopped.stdout == b""
    skipped = phrasescore(*command, "--on-error", "skip").well()
    assert skipped.stdout.split(b"\n")[1] == b"e\0\tf1\t"
    assert b"1 line could not be scored" in skipped.stderr
    phrasescore(*command, "--on-error", "skip", "--keep", "100%", "-o", "best").well()
    assert (tmp_path / "best").read_bytes().count(b"\n") == 2


def test_faulty_lines(data: Path, phrasescore: Phrasescore) -> None:
    """A faulty line is an error with its number, or is skipped and counted."""
    text = b"e1|x\tf1|y\ne1|x\tf1\ne1|x\t\r\n"
    arguments = ["score-text", "--model", data / "model", "--factor", "1", "-"]
    stopped = phrasescore(*arguments, stdin=text)
    assert (stopped.returncode, stopped.stdout) == (3, b"")
    assert b"standard input:2: the target token f1 has 1 factor, so there is no" in stopped.stderr
    assert stopped.stderr.count(b"\n") == 1
    skipped = phrasescore(*arguments, "--on-error", "skip", "--words", stdin=text).well()
    lines = skipped.stdout.split(b"\n")
    assert lines[1] == b"e1|x\tf1\t\t"
    # an empty target is </s> alone
    assert lines[2].startswith(b"e1|x\t\t-") and lines[2].endswith(b"\r")
    assert len(set(lines[2].rstrip(b"\r").split(b"\t")[2:])) == 1
    assert b"1 line could not be scored" in skipped.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a", "b", "c"], 2, "3 files, but this kind of model takes at most 2"),
        (["-", "-"], 2, "would both read standard input"),
        (["source"], 3, "source:1: no tab, where a source, a tab and a target were expected"),
        (["source"], 3, "Separate source and target by a tab."),
        (["source", "shorter", "-o", "new"], 3, "source:3: line 3 has no counterpart"),
    ],
)
def test_errors(
    arguments: list[str], code: int, message: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors print one sentence, have the exit code of their kind, and leave no output."""
    monkeypatch.chdir(data)
    Path("shorter").write_bytes(b"f1\nf2\n")
    with pytest.raises(PhrasescoreError) as caught:
        run("--model", "model", *arguments)
    assert caught.value.exit_code == code
    assert message in str(caught.value)
    assert not [path for path in data.iterdir() if "new" in path.name]


def test_appending_to_the_input(data: Path, tmp_path: Path) -> None:
    """Appending to the input with the shell's >> is detected, because it would never end."""
    text = tmp_path / "text"
    text.write_bytes(b"e1\tf1\n")
    with text.open("ab") as output:
        command = ("score-text", "--model", data / "model", text)
        done = run_fresh(tmp_path, *command, stdout=output)
    done.refused(2, "--output would replace an input")
    assert text.read_bytes() == b"e1\tf1\n"


def _columns(text: str | bytes, first: int) -> list[list[float]]:
    lines = (text.encode() if isinstance(text, str) else text).splitlines()
    return [[float(field) for field in line.split(b"\t")[first:]] for line in lines]


def test_several_models_in_one_pass(data: Path, tmp_path: Path) -> None:
    """Each model's column equals the column of a separate run, byte for byte."""
    pairs = data / "pairs.tsv.gz"
    alone = [run("--model", data / name, pairs).splitlines() for name in ("model", "backwards")]
    arguments = ["--model", data / "model", "--model", data / "backwards", pairs]
    together = run(*arguments).splitlines()
    for line, forward, backward in zip(together, *alone, strict=True):
        assert line == forward + "\t" + backward.rpartition("\t")[2]
    printed = json.loads(run(*arguments, "--json", "-o", tmp_path / "out"))
    assert (printed["lines"], printed["kept"]) == (300, 300)
    single = json.loads(run("--model", data / "backwards", pairs, "--json", "-o", tmp_path / "one"))
    assert printed["models"][1] == single["models"][0]


def test_scores_by_length_and_of_both_directions(data: Path) -> None:
    """The paper's filter scores equal those recomputed from each model's ln p of words."""
    pairs = data / "pairs.tsv.gz"
    entropies = []
    for name in ("model", "backwards"):
        words = run("--model", data / name, pairs, "--words").splitlines()
        each = [[float(word) for word in line.split("\t")[3].split()] for line in words]
        entropies.append([-sum(word) / len(word) for word in each])
    arguments = ["--model", data / "model", "--model", data / "backwards", pairs]
    found = _columns(run(*arguments, "--length-normalisation", "--dual"), 2)
    for (forward, backward, dual), first, second in zip(found, *entropies, strict=True):
        assert (forward, backward) == pytest.approx((-first, -second), abs=2e-6)
        expected = math.exp(-(abs(first - second) + 0.5 * (first + second)))
        assert dual == pytest.approx(expected, rel=1e-4)
    # neither the order of the models nor the normalisation of their own columns matters
    swapped = ["--model", data / "backwards", "--model", data / "model", pairs, "--dual"]
    assert [row[2] for row in _columns(run(*swapped), 2)] == [row[2] for row in found]


def test_keep(data: Path, tmp_path: Path) -> None:
    """A threshold or a share keeps lines unchanged and in order."""
    pairs = data / "pairs.tsv.gz"
    for options in (
        ["--model", data / "model"],
        ["--model", data / "model", "--words"],
        ["--model", data / "model", "--length-normalisation"],
        ["--model", data / "model", "--model", data / "backwards", "--dual"],
    ):
        every = run(*options, pairs).splitlines()
        place = -2 if "--words" in options else -1
        scores = [float(line.split("\t")[place]) for line in every]
        middle = sorted(scores)[150]
        kept = run(*options, pairs, "--keep", str(middle)).splitlines()
        expected = [line for line, score in zip(every, scores, strict=True) if score >= middle]
        assert kept == expected
        run(*options, pairs, "--keep", "10%", "-o", tmp_path / "share")
        best = sorted(range(300), key=lambda row: (-scores[row], row))[:30]
        assert (tmp_path / "share").read_text().splitlines() == [every[row] for row in sorted(best)]
        assert [path.name for path in tmp_path.iterdir()] == ["share"]


def test_keep_drops_what_cannot_be_scored(data: Path, phrasescore: Phrasescore) -> None:
    """Skipped lines are never kept; a share refers to lines with a score."""
    text = b"e1\tf1\nno tab\n\tf2\ne2\tf2\r\n"
    command = ["score-text", "--model", data / "model", "--on-error", "skip", "-"]
    low = phrasescore(*command, "--keep", "-1000", stdin=text).well()
    assert [line.split(b"\t")[0] for line in low.stdout.splitlines()] == [b"e1", b"e2"]
    assert b"4 lines, " in low.stderr and b"2 kept" in low.stderr
    half = phrasescore(
        *command, "--keep", "50%", "-o", "half", "--json-file", "json", stdin=text
    ).well()
    assert b"1 kept" in half.stderr


def test_a_share_killed_in_the_middle(data: Path, tmp_path: Path, phrasescore: Phrasescore) -> None:
    """After SIGKILL, the same command scores the rest and keeps the same lines."""
    lines = (gzip.decompress((data / "pairs.tsv.gz").read_bytes())).splitlines(keepends=True)
    (tmp_path / "pairs").write_bytes(b"".join(lines * 300))
    command = ["score-text", "pairs", "--keep", "5%", "--threads", "1", "--dual"]
    command += ["--model", str(data / "model"), "--model", str(data / "backwards"), "-o"]
    phrasescore.killed_after_a_block(".out.scored.gz", *command, "out")
    assert not (tmp_path / "out").exists()
    again = phrasescore(*command, "out").well()
    assert b"continuing after line" in again.stderr
    phrasescore(*command, "whole").well()
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len((tmp_path / "out").read_bytes().splitlines()) == 4500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pairs", "whole"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dual"], "--dual compares two models of opposite directions"),
        (["--dual", "--model", "model"], "--dual compares two models of opposite directions"),
        (["--model", "backwards", "--keep", "1"], "2 models give as many scores, but --keep needs"),
        (["--keep", "10%"], "the best lines are known only after all are scored"),
        (["--model", "lm"], "a language model reads one text, but the other models read pairs"),
    ],
)
def test_refused_filters(
    arguments: list[str], message: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models that do not match, and missing options, get one sentence."""
    monkeypatch.chdir(data)
    if not Path("lm").exists():
        save_random_model(Path("lm"), [], FRENCH, kind="feed-forward-lm")
    with pytest.raises(PhrasescoreError) as caught:
        run("--model", "model", "pairs.tsv.gz", *arguments)
    assert caught.value.exit_code == 2
    assert message in str(caught.value)


_KILLED_AT = """
import os, signal, sys
from phrasescore.cli import main
from phrasescore.scoring import text_scoring

setattr(text_scoring, sys.argv.pop(1), lambda *_: os.kill(os.getpid(), signal.SIGKILL))
main()
"""


@pytest.mark.parametrize(("place", "goes_on"), [("_best", True), ("remove", False)])
def test_a_share_killed_after_the_last_block(
    place: str, goes_on: bool, data: Path, tmp_path: Path, phrasescore: Phrasescore
) -> None:
    """Kills during the selection or before the cleanup do not change the output."""
    command = ["score-text", data / "pairs.tsv.gz", "--model", data / "model", "--keep", "20%"]
    phrasescore(*command, "-o", "whole").well()
    killed = phrasescore.start("-c", _KILLED_AT, place, *command, "-o", "out").wait()
    assert killed.status == -signal.SIGKILL, killed.errors
    again = phrasescore(*command, "-o", "out").well()
    assert (b"continuing after line 300" in again.stderr) == goes_on
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]
