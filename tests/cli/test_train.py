"""``phrasescore train`` as a user runs it: results, interruptions, refusals."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from phrasescore.runs.identity import sha256_of
from phrasescore.words.vocabulary import UNK_ID
from tests.conftest import Phrasescore, StartPhrasescore
from tests.support.builders import write_phrase_table
from tests.support.killed import kill_when, wait_for
from tests.support.warm_process import Started

SMALL = ["--hidden", "16", "--embedding", "8", "--rank", "8", "--threads", "1", "--patience", "0"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a table of 3,000 pairs."""
    return write_phrase_table(tmp_path_factory.mktemp("table") / "table", 3000)


def test_training_learns_and_says_how_well(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """Training writes a model folder with curves, and held-out figures better than chance."""
    done = phrasescore(
        "train", table, "model", *SMALL, "--max-epochs", "12", "--batch-size", "32",
        "--learning-rate", "0.01",
    ).well()  # fmt: skip
    said = done.stderr.decode()
    assert "3,000 lines, 3,000 distinct pairs" in said
    assert "cover 100.00% of the tokens" in said
    assert not (tmp_path / "model.training").exists()
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    # with 54 target words and </s>, chance is ln 55 = 4
    assert record["held_out"]["held_out_pairs"]["nll"] < 1.5
    assert f"{record['held_out']['held_out_pairs']['nll']:.4f} nats per word" in said
    curve = (tmp_path / "model" / "curves.jsonl").read_text("utf-8").strip().split("\n")
    assert len(curve) == 10


def test_no_epochs_write_the_untrained_model(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """--max-epochs 0 writes a complete model folder, with the words outside its shortlists."""
    options = ["--target-words", "20", "--max-epochs", "0"]
    phrasescore("train", table, "model", *SMALL, *options).well()
    assert (tmp_path / "model" / "model.safetensors").exists()
    # the words f0 to f39, and de
    outside = (tmp_path / "model" / "target.outside.txt").read_bytes()
    assert outside.count(b"\n") == 41 - 20
    phrasescore("score", "--model", "model", "--unknown", "share", table, "-o", "scored").well()


def test_the_paper_s_recipe_holds_nothing_out_and_keeps_the_last_weights(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """With equal training pairs, the model is equal with and without held-out pairs."""
    paper = [option for option in SMALL if option not in ("--patience", "0")]
    paper += ["--recipe", "paper", "--max-epochs", "1"]
    done = phrasescore("train", table, "model", *paper).well()
    assert "on 3,000 pairs" in done.stderr.decode()
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    assert record["held_out"] == {}
    assert (record["settings"]["patience"], record["settings"]["held_out"]) == (0, [0, 0])


def test_phrases_too_long_for_the_paper_s_recipe(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """If the recipe leaves out all pairs, training ends with an error, and not never."""
    many = b" ".join(b"w%d" % number for number in range(32))
    (tmp_path / "long").write_bytes(b"%b ||| %b ||| 1\n" % (many, many))
    phrasescore(
        "train", "long", "model", "--recipe", "paper", *SMALL[:-2], "--max-time", "5s"
    ).refused(3, "each pair has a phrase that is too long for the recipe")


def test_sentences(phrasescore: Phrasescore, table: Path, tmp_path: Path) -> None:
    """Training reads two texts, one compressed, and held-out texts; empty lines are counted."""
    rows = [line.split(b" ||| ")[:2] for line in table.read_bytes().split(b"\n")[:-1]]
    for name, part in (("train", rows[:2900]), ("dev", rows[2900:])):
        (tmp_path / f"{name}.en").write_bytes(b"".join(s + b"\n" for s, _ in part) + b"\n")
        text = b"".join(t + b"\n" for _, t in part) + b"f1\n"
        (tmp_path / f"{name}.fr.gz").write_bytes(gzip.compress(text))
    options = ["--kind", "search", *SMALL, "--max-epochs", "3", "--learning-rate", "0.01"]
    texts = ["train.en", "train.fr.gz", "nmt", "--held-out-text", "dev.en"]
    texts += ["--held-out-text", "dev.fr.gz"]
    done = phrasescore("train", *texts, *options).well()
    said = done.stderr.decode()
    assert "2,901 pairs of sentences; left out: 1 empty" in said
    assert "on 2,900 pairs (fast recipe" in said
    record = json.loads((tmp_path / "nmt" / "provenance.json").read_text("utf-8"))
    assert set(record["inputs"]) == {"train.en", "train.fr.gz", "dev.en", "dev.fr.gz"}
    assert record["held_out"]["held_out_sources"]["pairs"] == 100
    assert record["held_out"]["held_out_sources"]["nll"] < 3
    assert b"is trained already" in phrasescore("train", *texts, *options).stderr
    (tmp_path / "train.en").write_bytes(b"e1\n")
    phrasescore("train", *texts, *options, "--overwrite").refused(
        3, "train.fr.gz:2: line 2 has no counterpart: train.en ends before it"
    )


@pytest.mark.parametrize("kind", ["search", "encdec"])
def test_unknown_words_are_learnt_where_the_shortlists_cover_the_texts(
    phrasescore: Phrasescore, tmp_path: Path, kind: str
) -> None:
    """One epoch changes the rows of <unk> in the word vectors of both sides."""
    for side in ("en", "fr"):
        # each line has a word that occurs in no other line
        lines = "".join(f"{side}{n % 7} only{n} {side}{n % 5}\n" for n in range(200))
        (tmp_path / f"train.{side}").write_text(lines, "utf-8")
    rows = []
    for epochs in ("0", "1"):
        options = ["--kind", kind, *SMALL, "--max-epochs", epochs, "--batch-size", "16"]
        done = phrasescore("train", "train.en", "train.fr", epochs, *options).well()
        assert "the encoder reads 207 of 207 words" in done.stderr.decode()
        weights = load_file(tmp_path / epochs / "model.safetensors")
        rows.append([weights[f"{side}_embedding"][UNK_ID] for side in ("source", "target")])
    moved = np.abs(np.subtract(rows[1], rows[0])).max(axis=1)
    assert (moved > 1e-3).all(), moved


class Trainings:
    """Runs of some seconds that save their state often.

    Args:
        table: The table to train on.
        start: Starts a command in a folder.
    """

    def __init__(self, table: Path, start: StartPhrasescore) -> None:
        self.table, self._start = table, start

    def start(self, folder: Path, *options: str, named: str | None = None) -> Started:
        """Start a run, as the fixture ``start_phrasescore`` does."""
        return self._start(
            folder, "train", self.table, "model", *SMALL, "--max-epochs", "3",
            "--batch-size", "16", "--checkpoint-every", "0.3s", *options, named=named,
        )  # fmt: skip

    def finish(self, folder: Path, *options: str) -> None:
        """Start or continue a run, and wait for its end."""
        ended = self.start(folder, *options).wait()
        assert ended.status == 0, ended.errors.decode()

    def killed(self, folder: Path, *options: str) -> None:
        """Start a run that is killed with SIGKILL after its first checkpoint."""
        ended = self.start(folder, *options, named="checkpoint.pt").wait()
        assert ended.status == -signal.SIGKILL, ended.errors.decode()


@pytest.fixture(scope="module")
def trainings(table: Path, start_phrasescore: StartPhrasescore) -> Trainings:
    """Return runs on the table."""
    return Trainings(table, start_phrasescore)


@pytest.fixture(scope="module")
def straight(trainings: Trainings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("straight")
    trainings.finish(folder)
    return folder


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_run_resumes_to_the_same_bits(
    table: Path, trainings: Trainings, straight: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """However a run was stopped, the same command ends with the weights of an uninterrupted run."""
    stopped = tmp_path
    checkpoint = stopped / "model.training" / "checkpoint.pt"
    ended = kill_when(checkpoint.exists, trainings.start(stopped), number)
    assert ended.status == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert not (stopped / "model").exists()
    if number != signal.SIGKILL:
        told = f"stopped; finished work is kept. To continue, type: phrasescore train {table}"
        assert told in ended.errors.decode()
    trainings.finish(stopped)
    for name in ("model.safetensors", "source.vocabulary.txt", "config.json"):
        assert sha256_of(stopped / "model" / name) == sha256_of(straight / "model" / name), name


QUICK = [*SMALL, "--max-epochs", "1", "--batch-size", "64"]


def test_an_interrupted_run_is_not_continued_as_another(
    phrasescore: Phrasescore, trainings: Trainings, table: Path, tmp_path: Path
) -> None:
    """Other options or another table are refused by name; --overwrite starts again with them."""
    trainings.killed(tmp_path)
    base = ["model", *SMALL, "--max-epochs", "3", "--batch-size", "16"]
    begun = "model.training: the work was begun with other settings: seed was 1 and is now 2"
    phrasescore("train", table, *base, "--seed", "2").refused(6, begun)
    longer = tmp_path / "longer"
    longer.write_bytes(table.read_bytes() + b"a ||| b ||| 1 1 1 1\n")
    phrasescore("train", longer, *base).refused(
        6, f"{longer} is not the file that the work began with"
    )
    anew = phrasescore("train", longer, "model", *QUICK, "--overwrite").well()
    assert b"resuming after" not in anew.stderr
    assert b"3,001 lines" in anew.stderr


def test_two_processes_do_not_train_one_model(
    phrasescore: Phrasescore, trainings: Trainings, table: Path, tmp_path: Path
) -> None:
    """The second process gets an error with the number of the first, which leaves no lock."""
    run = trainings.start(tmp_path)
    wait_for((tmp_path / "model.training" / "checkpoint.pt").exists)
    phrasescore("train", table, "model", *SMALL, "--max-epochs", "3", "--batch-size", "16").refused(
        6, f"model: another process is at work here: process {run.pid} on "
    )
    assert run.wait().status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_finished_model_is_not_trained_again(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """The same command reports this; other settings are refused by name without --overwrite."""
    command = ["train", table, "model", *QUICK]
    phrasescore(*command).well()
    weights = tmp_path / "model" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    again = phrasescore(*command, "--maxout", "8", "--checkpoint-every", "1m").well()
    assert again.stderr == (
        b"model/ is trained already, with the same options and input; a larger --max-time or "
        b"--max-epochs trains it further\n"
    )
    said = "begun with other settings: hidden was 16 and is now 12; maxout was 8 and is"
    other = phrasescore(*command, "--hidden", "12").refused(6, said)
    assert b"Give --overwrite to replace it" in other.stderr
    assert weights.stat().st_mtime_ns == before
    assert not (tmp_path / "model.training").exists()
    phrasescore(*command, "--hidden", "12", "--overwrite").well()
    # a model from a version that did not save these settings
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    del record["settings"]
    (tmp_path / "model" / "provenance.json").write_text(json.dumps(record), "utf-8")
    phrasescore(*command, "--hidden", "12").refused(
        2, "the options and input that it was trained with. Give --overwrite"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["-", "model"], 3, "standard input: a pipe, but it must be read more than once"),
        (["here/thesis.tex", "model"], 3, "has no |||. To train a language model on a text, give"),
        (
            ["TABLE", "model", "--kind", "rnn-lm"],
            3,
            "this is a phrase table: its first line has |||. To train a model of phrases on it",
        ),
        (["TABLE", "here"], 2, "here: the name is taken, but not by a model"),
        (["TABLE", "model", "--max-time", "soon"], 2, "write 90s, 45m, 2h or 1h30m"),
        (["TABLE", "model", "--device", "cuda"], 2, "Choose the device cpu"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    phrasescore: Phrasescore,
    table: Path,
    tmp_path: Path,
    arguments: list[str],
    status: int,
    text: str,
) -> None:
    """Each refusal prints one sentence, sets the status and leaves no partial model."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "thesis.tex").write_text("do not lose me")
    given = [table if argument == "TABLE" else argument for argument in arguments]
    phrasescore("train", *given, *SMALL).refused(status, text)
    assert not (tmp_path / "model").exists()
    assert (tmp_path / "here" / "thesis.tex").exists()


def test_a_run_without_time_says_that_its_model_has_hardly_learnt(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """A warning says so, even if there is only one evaluation."""
    options = [*SMALL, "--hidden", "400", "--max-time", "0.000001s", "--learning-rate", "1e-6"]
    done = phrasescore("train", table, "model", *options).well()
    said = done.stderr.decode()
    assert re.search("words in [12] updates: 0", said)
    assert "warning: the model has hardly learnt anything: " in said
    assert "nats per word, where word frequencies alone give " in said
    assert "a larger --max-time trains it further" in said
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    assert 0 < record["training"]["passes"] < 1
    options = [*SMALL, "--max-epochs", "1", "--max-time", "1h", "--learning-rate", "1e-6"]
    done = phrasescore("train", table, "other", *options)
    assert "a larger --max-epochs trains it further" in done.stderr.decode(), "what ended the run"
    numbers = np.random.default_rng(1).integers(50, size=(200, 10)).tolist()
    random = tmp_path / "random.txt"
    random.write_text("".join(" ".join(map(str, line)) + "\n" for line in numbers))
    options = ["--kind", "feed-forward-lm", "--hidden", "16", "--patience", "1"]
    done = phrasescore("train", random, "third", *options, "--learning-rate", "0.01")
    assert "it has stopped getting better, so it needs more text" in done.stderr.decode()


def test_less_than_one_pass_gets_a_warning(phrasescore: Phrasescore, table: Path) -> None:
    options = [*SMALL, "--held-out-sources", "0", "--held-out-pairs", "0", "--max-time", "0.01s"]
    said = phrasescore("train", table, "model", *options).well().stderr.decode()
    assert re.search(r"warning: the model saw only \d+% of its text; the same command with", said)


def test_evaluations_leave_most_of_the_time_to_training(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """If an evaluation takes more than its share of the time, there are fewer evaluations."""
    options = [*SMALL, "--max-time", "1s", "--evaluations", "100000"]
    done = phrasescore("train", table, "model", *options).well()
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    points = (tmp_path / "model" / "curves.jsonl").read_bytes().count(b"\n")
    assert 1 < points < record["training"]["updates"] / 2
    (foretold,) = re.findall(
        rb"at this speed, ([0-9.]+) passes over the pairs in the time", done.stderr
    )
    assert float(foretold) == pytest.approx(record["training"]["passes"], rel=0.9)


@pytest.mark.parametrize("named", ["replaced", "model"])
def test_killed_while_it_replaces_a_model(
    phrasescore: Phrasescore, table: Path, tmp_path: Path, named: str
) -> None:
    """A kill between the renames loses no model; the next call gives the new one its name."""
    command = ["train", table, "model", *QUICK, "--max-epochs", "0"]
    phrasescore(*command).well()
    (tmp_path / "model").rename(tmp_path / "old")
    phrasescore(*command[:-1], "1").well()
    (tmp_path / "model").rename(tmp_path / "new")
    old, new = (sha256_of(tmp_path / name / "model.safetensors") for name in ("old", "new"))
    (tmp_path / "old").rename(tmp_path / "model")
    ended = phrasescore.start(*command[:-1], "1", named=named).wait()
    assert ended.status == -signal.SIGKILL, ended.errors.decode()
    places = tmp_path / "model", tmp_path / "model.training" / "replaced"
    kept = [place for place in places if place.exists()]
    assert old in [sha256_of(place / "model.safetensors") for place in kept]
    again = phrasescore(*command[:-1], "1").well()
    assert b"is trained already" in again.stderr
    assert sha256_of(tmp_path / "model" / "model.safetensors") == new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "new"]


def test_a_finished_model_is_trained_further(
    phrasescore: Phrasescore, trainings: Trainings, straight: Path, tmp_path: Path
) -> None:
    """With only more epochs, training continues; a killed run resumes to the same bits."""
    shutil.copytree(straight / "model", tmp_path / "one" / "model")
    shutil.copytree(straight / "model", tmp_path / "two" / "model")
    record = json.loads((straight / "model" / "provenance.json").read_text("utf-8"))
    command = ["train", trainings.table, "one/model", *SMALL, "--batch-size", "16"]
    phrasescore(*command, "--max-epochs", "2").refused(
        6, "max_epochs was 3 and is now 2. Give --overwrite to replace it; larger"
    )
    phrasescore(*command, "--max-epochs", "5", "--seed", "2").refused(
        6, "begun with other settings: seed was 1 and is now 2"
    )
    done = phrasescore(*command, "--max-epochs", "5").well()
    updates = record["training"]["updates"]
    assert f"training one/model/ further, after {updates:,} updates" in done.stderr.decode()
    longer = json.loads((tmp_path / "one" / "model" / "provenance.json").read_text("utf-8"))
    assert longer["training"]["passes"] == pytest.approx(5)
    assert longer["training"]["continued_after_updates"] == updates
    for name in ("held_out_sources", "held_out_pairs"):
        assert longer["held_out"][name]["nll"] < record["held_out"][name]["nll"]
    curves = (tmp_path / "one" / "model" / "curves.jsonl").read_bytes()
    assert curves.startswith((straight / "model" / "curves.jsonl").read_bytes())
    assert not (tmp_path / "one" / "model.training").exists()
    trainings.killed(tmp_path / "two", "--max-epochs", "5")
    trainings.finish(tmp_path / "two", "--max-epochs", "5")
    weights = [tmp_path / name / "model" / "model.safetensors" for name in ("one", "two")]
    assert sha256_of(weights[0]) == sha256_of(weights[1])


def test_the_time_chooses_the_size_of_a_phrase_model(
    phrasescore: Phrasescore, table: Path, tmp_path: Path
) -> None:
    """The size is told, stored and kept when the model is trained further."""
    command = ["train", table, "model", "--embedding", "8", "--rank", "8"]
    done = phrasescore(*command, "--max-time", "1s").well()
    (told,) = re.findall(rb"choosing --hidden ([0-9]+): at the speed of this", done.stderr)
    started = phrasescore.start(*command, "--max-time", "5s")
    curves = tmp_path / "model.training" / "curves.jsonl"
    before = (tmp_path / "model" / "curves.jsonl").stat().st_size

    def has_learnt() -> bool:
        return curves.exists() and curves.stat().st_size > before

    stopped = kill_when(has_learnt, started, signal.SIGINT)
    assert b"training model/ further" in stopped.errors
    assert (tmp_path / "model.training/checkpoint.pt").exists()
    further = phrasescore(*command, "--max-time", "5s").well()
    assert b"resuming after" in further.stderr
    assert b"choosing" not in further.stderr + stopped.errors
    record = json.loads((tmp_path / "model" / "provenance.json").read_text("utf-8"))
    assert record["settings"]["hidden"] is None
    assert record["training"]["hidden"] == int(told)
    phrasescore(*command, "--max-time", "5s", "--hidden", "77").refused(
        6, "hidden was not set and is now 77"
    )
