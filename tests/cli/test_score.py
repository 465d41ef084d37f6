"""``phrasescore score`` as a user runs it, with real models."""

from __future__ import annotations

import gzip
import json
import math
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from phrasescore.model.folder import load_model
from phrasescore.model.sequence_model import Batch
from phrasescore.table.phrase_table import Entry, parse_entry, parse_scores, phrase_tokens
from phrasescore.words.vocabulary import OutsideWords
from tests.conftest import Phrasescore
from tests.support.fresh_process import run_fresh
from tests.support.killed import blocks_done, kill_when
from tests.support.random_models import save_random_model

# words that the models do not know, with counts from training
OUTSIDE = {"source-target": {b"dog": 3, b"1": 1}, "target-source": {b"chat": 3, b"2": 1}}
NOUNS = [(b"maison", b"house"), (b"chien", b"dog"), (b"chat", b"cat"), (b"eau", b"water")]


def table_text(copies: int) -> bytes:
    """Return pairs with odd spacing, CRLF and missing columns, grouped by source."""
    lines = []
    for i in range(copies):
        for french, english in NOUNS:
            lines += [
                b"la %s %d ||| the %s %d ||| 0.5 1e-05 ||| 0-0 1-1 ||| 3 4 2 ||| |||\n"
                % (french, i, english, i),
                b"la  %s %d |||the %s|||\t0.25  1 |||\r\n" % (french, i, english),
                b"la %s %d ||| ||| 0.125 .5\n" % (french, i),
            ]
    return b"".join(lines)


# runs phrasescore, and prints the largest memory that it had, in KiB
PEAK = """
import resource, subprocess, sys
status = subprocess.run([sys.executable, "-m", "phrasescore", *sys.argv[1:]]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table and a small random model for each direction."""
    folder = tmp_path_factory.mktemp("score")
    with gzip.open(folder / "table.gz", "wb") as stream:
        stream.write(table_text(10))
    french, english = [b"la", b"maison", b"chien", b"0", b"1"], [b"the", b"house", b"cat", b"0"]
    for direction, counts in OUTSIDE.items():
        outside = OutsideWords(tuple(counts), tuple(counts.values()))
        save_random_model(folder / direction, french, english, direction, outside=outside)
    return folder


def split_scores(text: bytes) -> list[tuple[Entry, list[float]]]:
    entries = [parse_entry(line) for line in text.split(b"\n")[:-1]]
    return [(entry, parse_scores(entry.scores)) for entry in entries]


def exact_ln_p(folder: Path, entry: Entry) -> float:
    """Return ln p of one pair, computed alone in float64."""
    loaded = load_model(folder)
    model = loaded.model.double()
    sides = [phrase_tokens(entry.source), phrase_tokens(entry.target)]
    if loaded.direction == "target-source":
        sides.reverse()
    source = torch.tensor([loaded.source_vocabulary.encode(sides[0])], dtype=torch.int64)
    target = torch.tensor([loaded.target_vocabulary.encode(sides[1])], dtype=torch.int64)
    with torch.no_grad():
        return float(model.score(Batch(source, target, None)).sum())


def unknown_on_the_source_side(folder: Path) -> tuple[int, int]:
    """Return how many tokens of the sources the model does not know, of how many."""
    entries = [entry for entry, _ in split_scores(table_text(10))]
    tokens = [token for entry in entries for token in phrase_tokens(entry.source)]
    return load_model(folder).source_vocabulary.encode(tokens).count(1), len(tokens)


def unknown_words(folder: Path, entry: Entry) -> int:
    loaded = load_model(folder)
    ids = loaded.source_vocabulary.encode(phrase_tokens(entry.source))
    return (ids + loaded.target_vocabulary.encode(phrase_tokens(entry.target))).count(1)


def test_two_models_and_the_unknown_column(
    phrasescore: Phrasescore, data: Path, tmp_path: Path
) -> None:
    """Columns have exact p in the given order; all other bytes are unchanged."""
    process = phrasescore(
        "score",
        *("--model", data / "source-target", "--model", data / "target-source"),
        *("--unknown-column", data / "table.gz", "-o", "out.gz", "--json-file", "report.json"),
        *("--precision", "fp32"),
    ).well()
    text = gzip.decompress((tmp_path / "out.gz").read_bytes())
    lines, originals = text.split(b"\n"), table_text(10).split(b"\n")
    assert len(lines) == len(originals)
    for line, original in zip(lines[:-1], originals[:-1], strict=True):
        columns = line.split(b"|||")
        scores = columns[2].rstrip(b" \t\r")
        kept = scores.rsplit(b" ", 3)[0]
        columns[2] = kept + columns[2][len(scores) :]
        assert b"|||".join(columns) == original
    for entry, scores in split_scores(text)[:20]:
        assert len(scores) == 5
        for folder, p in zip(("source-target", "target-source"), scores[2:4], strict=True):
            assert math.log(p) == pytest.approx(exact_ln_p(data / folder, entry), abs=1e-4)
        unknown = unknown_words(data / "source-target", entry)
        assert math.log(scores[4]) == pytest.approx(unknown, abs=1e-6)
    assert b"120 pairs, " in process.stderr
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert report["pairs"] == 120
    assert [Path(model["name"]).name for model in report["models"]] == list(OUTSIDE)
    columns = np.log([scores[2:4] for _, scores in split_scores(text)])
    means = [model["mean_ln_p"] for model in report["models"]]
    assert means == pytest.approx(list(columns.mean(axis=0)), abs=1e-5)
    unknown, tokens = unknown_on_the_source_side(data / "source-target")
    assert report["source_unknown_rate"] == pytest.approx(unknown / tokens)
    assert report["provenance"]["settings"]["settings"]["unknown_column"] is True


def test_average_and_replaced_columns(data: Path, phrasescore: Phrasescore) -> None:
    """--average writes the geometric mean of the models; --replace-column overwrites a score."""
    models = [option for name in OUTSIDE for option in ("--model", data / name)]
    found = []
    for options in ([], ["--average"], ["--average", "--replace-column", "1"]):
        done = phrasescore("score", *models, data / "table.gz", "-o", "-", *options).well()
        found.append(np.array([scores for _, scores in split_scores(done.stdout)]))
    apart, average, replaced = found
    assert average[:, 2] == pytest.approx(np.sqrt(apart[:, 2] * apart[:, 3]), rel=1e-6)
    assert np.array_equal(average[:, :2], apart[:, :2])
    assert np.array_equal(replaced, average[:, [2, 1]])


def test_moses_floor(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A probability below Moses's floor is written at the floor, and counted."""
    (tmp_path / "long").write_bytes(
        b"la ||| the ||| 1\n" + b"la |||%b ||| 1\n" % (b" the" * 300) * 2
    )
    command = ("score", "--model", data / "source-target", "long", "-o", "out")
    done = phrasescore(*command, "--json-file", "report.json").well()
    assert parse_entry((tmp_path / "out").read_bytes().split(b"\n")[1]).scores == b"1 3.71e-44"
    assert b"source-target: 2 pairs at Moses's floor of -100" in done.stderr
    (column,) = json.loads((tmp_path / "report.json").read_bytes())["columns"]
    assert column["floor_hits"] == 2


@pytest.mark.parametrize("direction", OUTSIDE)
def test_unknown_words_share(direction: str, data: Path, phrasescore: Phrasescore) -> None:
    """--unknown share divides p(<unk>) among unknown predicted words by their counts."""
    known, counts = load_model(data / direction).target_vocabulary, OUTSIDE[direction]
    command = ["score", "--model", data / direction, data / "table.gz", "-o", "-"]
    texts = {}
    for unknown in ("whole", "share"):
        done = phrasescore(*command, "--unknown", unknown).well()
        assert (b"predicted unknown words share p(<unk>)" in done.stderr) == (unknown == "share")
        texts[unknown] = split_scores(done.stdout)
    shares = set()
    for (entry, whole), (_, shared) in zip(texts["whole"], texts["share"], strict=True):
        predicted = entry.target if direction == "source-target" else entry.source
        words = phrase_tokens(predicted)
        outside = [word for word in words if known.encode([word]) == [1]]
        # 3 + 1 occurrences of two words, and one share for all unseen words
        share = math.prod((counts.get(word, 0) + 1) / 7 for word in outside)
        assert shared[-1] == pytest.approx(whole[-1] * share, rel=1e-7)
        assert shared[:-1] == whole[:-1]
        shares.add(round(share * 49))
    assert len(shares) > 3


def test_another_run_begins_anew(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """With other models or settings, a killed run is not continued."""
    (tmp_path / "table").write_bytes(table_text(3000))
    forward, backward = (["--model", str(data / name)] for name in OUTSIDE)
    for name, options in (
        ("models", backward),
        ("settings.unknown_column", [*forward, "--unknown-column"]),
        ("settings.unknown", [*forward, "--unknown", "share"]),
        ("numerics.batch_size", [*forward, "--batch-size", "7000"]),
    ):
        (tmp_path / "out").unlink(missing_ok=True)
        command = ["score", *forward, "table", "-o", "out"]
        phrasescore.killed_after_a_block("out", *command)
        done = phrasescore("score", *options, "table", "-o", "out").well()
        said = f"begun with other settings: {name} .*; it is discarded"
        assert re.search(said.encode(), done.stderr)
        assert b"continuing" not in done.stderr


@pytest.mark.slow
def test_flat_memory(multi30k: Path, data: Path, tmp_path: Path) -> None:
    """A table repeated ten times needs at most 5 % more memory."""
    table = (multi30k / "phrase-table.gz").read_bytes()
    peaks = []
    for times in (1, 10):
        (tmp_path / "table.gz").write_bytes(table * times)
        command = "score", "--model", data / "source-target", "--accept-unknown", "table.gz"
        done = run_fresh(tmp_path, *command, "-o", "out.gz", program=("-c", PEAK)).well()
        peaks.append(int(done.stdout))
    assert peaks[1] <= 1.05 * peaks[0]


def test_pipe_and_threads(data: Path, phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Standard streams and files give equal output, with any number of threads."""
    model = data / "source-target"
    piped = phrasescore("score", "--model", model, "-", "-o", "-", stdin=table_text(10)).well()
    table = data / "table.gz"
    phrasescore("score", "--model", model, "--threads", "1", table, "-o", "out").well()
    assert (tmp_path / "out").read_bytes() == piped.stdout
    assert len(piped.stdout.split(b"\n")) == 121


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["table.gz", "--model", "absent"], 4, "absent: no such model folder"),
        (["bad", "--model", "source-target"], 3, "bad:4001: score 1 is negative (-2.5)"),
        (
            ["table.gz", "--model", "source-target", "--replace-column", "3"],
            2,
            "there is no score 3 to replace: each line has 2",
        ),
    ],
)
def test_errors(
    phrasescore: Phrasescore,
    arguments: list[str],
    code: int,
    message: str,
    data: Path,
    tmp_path: Path,
) -> None:
    """Errors print one sentence, have the exit code of their kind, and leave no output."""
    for path in data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "bad").write_bytes(b"la ||| the ||| 1\n" * 4000 + b"la ||| the ||| -2.5\n")
    command = "score", *arguments, "--precision", "fp32", "-o", "failed"
    done = phrasescore(*command).refused(code, message)
    assert done.stderr.count(b"\n") == 1
    assert not [path for path in tmp_path.iterdir() if "failed" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_stopped_in_the_middle(
    phrasescore: Phrasescore, data: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """The same command continues, even after SIGKILL, and writes the bytes of a whole run."""
    with gzip.open(tmp_path / "big.gz", "wb") as stream:
        stream.write(table_text(20_000))
    arguments = ["score", "--model", str(data / "source-target"), "big.gz", "-o"]
    ended = kill_when(
        lambda: blocks_done(tmp_path / "out.gz") >= 1,
        phrasescore.start(*arguments, "out.gz"),
        number,
    )
    if number == signal.SIGTERM:
        assert ended.status == 130
        told = b"out.gz: stopped; finished work is kept. To continue, type: phrasescore sc"
        assert told in ended.errors
        assert not (tmp_path / ".out.gz.lock").exists()
    assert not (tmp_path / "out.gz").exists()
    again = phrasescore(*arguments, "out.gz").well()
    assert b"out.gz: continuing after line " in again.stderr
    whole = phrasescore(*arguments, "whole.gz")
    assert b"continuing" not in whole.stderr
    assert (tmp_path / "out.gz").read_bytes() == (tmp_path / "whole.gz").read_bytes()
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes()).split(b"\n")) == 240_001


def test_a_model_of_other_words_is_refused(
    data: Path, phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """A model with other words is refused, because its scores look normal; with pipes it warns."""
    lines = [b"mot%d le ||| word%d the ||| 0.5 ||| 0-0\n" % (i % 7, i % 7) for i in range(100)]
    (tmp_path / "other").write_bytes(b"".join(lines))
    swapped = [b"the house %d ||| la maison %d ||| 0.5\n" % (i, i) for i in range(100)]
    (tmp_path / "swapped").write_bytes(b"".join(swapped))
    command = ("score", "--model", data / "source-target", "-o", "out")
    done = phrasescore(*command, "other").refused(
        4, "the model knows 0% of the words on the source side of other. Check that"
    )
    assert b"--accept-unknown" in done.stderr
    assert not (tmp_path / "out").exists()
    phrasescore(*command, "swapped").refused(4, "but 100% of the words on the other side")
    phrasescore(*command, "other", "--accept-unknown").well()
    done = phrasescore(*command, "-", stdin=b"".join(lines)).well()
    assert b"warning: the model does not know 100% of these words" in done.stderr


GIVEN = b"a ||| b ||| 0.5 ||| 0-0\na ||| c d ||| 0.25 ||| 0-0\r\nb ||| b |||0.125\n"


@pytest.mark.parametrize(
    ("options", "numbers", "written"),
    [
        ([], b"-0.5\n0\n-250\n", (b"0.60653066", b"1", b"3.71e-44")),
        (["--scores-are", "log10"], b"-1\n -2\n1e-9\n", (b"0.1", b"0.01", b"1")),
        (["--scores-are", "probability"], b"0.5\n0\n1", (b"0.5", b"3.71e-44", b"1")),
    ],
)
def test_scores_of_another_program(
    phrasescore: Phrasescore,
    tmp_path: Path,
    options: list[str],
    numbers: bytes,
    written: tuple[bytes, ...],
) -> None:
    """--scores appends numbers in any scale; below Moses's floor they are as a model's are."""
    (tmp_path / "table").write_bytes(GIVEN)
    (tmp_path / "numbers").write_bytes(numbers)
    command = ["score", "table", "--scores", "numbers", *options]
    done = phrasescore(*command, "-o", "out", "--json-file", "report.json").well()
    lines = zip(GIVEN.split(b"\n"), (tmp_path / "out").read_bytes().split(b"\n"), strict=True)
    for (before, after), text in zip(lines, written, strict=False):
        old = before.split(b"|||")[2].strip()
        assert after == before.replace(old, old + b" " + text)
    report = json.loads((tmp_path / "report.json").read_bytes())
    floor = written.count(b"3.71e-44")
    assert (report["lines"], report["floor_hits"]) == (3, [floor])
    assert b"3 pairs: mean ln p -" in done.stderr
    replaced = phrasescore(*command, "--replace-column", "1", "-o", "-")
    scores = [parse_entry(line).scores for line in replaced.stdout.split(b"\n")[:-1]]
    assert tuple(scores) == written


@pytest.mark.parametrize(
    ("numbers", "options", "status", "message"),
    [
        (b"-1\n-2\n", [], 3, "numbers: the file ends before line 3 of table"),
        (b"-1\n-2\n-3\n-4\n", [], 3, "numbers: more numbers than table has lines, which are 3"),
        (b"-1\n0.2\n-3\n", [], 3, "numbers:2: 0.2 is not the ln of a probability"),
        (b"-1\n0.2\n-3\n", ["--scores-are", "probability"], 3, "numbers:1: -1 is not a prob"),
        (b"0.1\n1.2\n1\n", ["--scores-are", "probability"], 3, "numbers:2: 1.2 is not a prob"),
        (b"-1\n-inf\n-3\n", [], 3, "numbers:2: '-inf' is not a number"),
        (b"-1\n-2\n-3\n", ["--replace-column", "2"], 2, "there is no score 2 to replace"),
        (b"-1\n-2\n-3\n", ["--average"], 2, "--scores and --average exclude each other"),
        (b"-1\n-2\n-3\n", ["--model", "model"], 2, "exactly one of --model and --scores"),
    ],
)
def test_scores_that_do_not_fit(
    phrasescore: Phrasescore,
    tmp_path: Path,
    numbers: bytes,
    options: list[str],
    status: int,
    message: str,
) -> None:
    """Numbers of a wrong count or range are refused in one sentence, and leave no output."""
    (tmp_path / "table").write_bytes(GIVEN)
    (tmp_path / "numbers").write_bytes(numbers)
    (tmp_path / "model").mkdir()
    command = ["score", "table", "--scores", "numbers", *options, "-o", "out"]
    done = phrasescore(*command).refused(status, message)
    assert done.stderr.count(b"\n") == 1
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]
