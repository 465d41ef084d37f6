"""`phrasescore normalise`: from words with their normal forms to normalised text."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from phrasescore.errors import CorpusError
from tests.conftest import PROJECT, Phrasescore
from tests.support.fresh_process import Done
from tuning.normalisation.word_pairs import Memory

CORPUS = PROJECT / "sample_corpus"
TRAINING, DEV, TEST = (CORPUS / f"old-spelling.{part}.tsv" for part in ("train", "dev", "test"))


def train(phrasescore: Phrasescore, *more: str) -> Done:
    return phrasescore("normalise", "train", TRAINING, "n", "--dev", DEV, *more)


def test_from_words_to_text(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A normaliser is trained once, reports its accuracy, normalises words and can be moved."""
    (tmp_path / "words").write_text("speaking\nlistening\nuncle\nvery\n" * 3)
    done = train(phrasescore, "--language-model-text", "words", "--threads", "1").well()
    assert re.search(rb"^build: [0-9.]+ s$", done.stderr, re.MULTILINE)
    measured = phrasescore("normalise", "evaluate", "n", TEST, "--json")
    scores = json.loads(measured.stdout)
    found = scores["all words"]["accuracy"]
    assert found["low"] <= found["mean"] <= found["high"]
    assert found["mean"] > 0.95 > 0.7 > scores["unchanged"]["accuracy"]["mean"]
    assert scores["known words"]["words"] + scores["unknown words"]["words"] == 504
    assert 0 < scores["unchanged"]["cer"]["mean"] < 0.3
    again = train(phrasescore, "--language-model-text", "words", "--threads", "20")
    steps = re.findall(rb"^[a-z]+: (.*)$", again.stderr, re.MULTILINE)
    assert (again.returncode, set(steps)) == (0, {b"done before"})
    (tmp_path / "n").rename(tmp_path / "moved")
    done = phrasescore("normalise", "apply", "moved", "-", stdin=b"hovse\n\nto day\n")
    assert done.stdout.decode() == "house\n\ntoday\n"
    done = phrasescore("normalise", "apply", "moved", "-", "--nbest-size", "3", stdin=b"verie\n")
    forms = done.stdout.decode().rstrip("\n").split("\t")
    assert forms[0] == "very"
    assert 1 < len(set(forms)) == len(forms) <= 3


def test_other_words_or_options_train_again_what_they_change(
    phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The first step that differs and all later steps run again."""
    lines = TRAINING.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "words.tsv").write_text("".join(lines[:600]), "utf-8")
    command = "normalise", "train", "words.tsv", "n", "--dev", DEV
    phrasescore(*command).well()
    (tmp_path / "words.tsv").write_text("".join(lines[:900]), "utf-8")
    done = phrasescore(*command).well()
    assert re.search(rb"^build: [0-9.]+ s$", done.stderr, re.MULTILINE)
    assert len((tmp_path / "n" / "train.source").read_text("utf-8").splitlines()) > 600


def test_an_attention_model_chooses_among_the_forms(
    phrasescore: Phrasescore, tmp_path: Path
) -> None:
    """The model gets weights; the better choice on the dev words is recorded and used.

    The path of the folder has a space, which an ini cannot express.
    """
    lines = TRAINING.read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "words.tsv").write_text("".join(lines[:40]), "utf-8")
    (tmp_path / "dev.tsv").write_text("".join(lines[40:100]), "utf-8")
    done = phrasescore(
        "normalise", "train", "words.tsv", "a folder", "--dev", "dev.tsv", "--neural"
    ).well()
    assert b"\nrescoring: computing AttentionModel0\n" in done.stderr
    record = tmp_path / "a folder" / "normaliser.json"
    choice = json.loads(record.read_text())
    assert choice["right"] >= choice["system_right"]
    record.write_text(json.dumps(choice | {"attention": True, "remembered": None}))
    done = phrasescore("normalise", "apply", "a folder", "-", stdin=b"hovse\nverie\n").well()
    assert len(done.stdout.split()) == 2


def test_a_normaliser_from_someone_else(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Its folder never becomes the current folder, and a pipe in it is not waited for."""
    train(phrasescore).well()
    (tmp_path / "n" / ".numba_config.yaml").write_text("cache_dir: stolen\n")
    apply = "normalise", "apply", "n", "-"
    assert phrasescore(*apply, stdin=b"hovse\n").stdout == b"house\n"
    for name in ("normaliser.json", "memory.tsv", "tuned/moses.ini", "system/phrase-table.gz"):
        path = tmp_path / "n" / name
        path.rename(tmp_path / "kept")
        os.mkfifo(path)
        done = phrasescore(*apply, stdin=b"aabbccdd\n")
        assert done.returncode in (2, 3), done.stderr
        assert b"pipe" in done.stderr
        (tmp_path / "kept").rename(path)


def test_a_count_that_no_word_has(tmp_path: Path) -> None:
    """A count of thousands of digits is damage, not a number."""
    path = tmp_path / "memory.tsv"
    path.write_text(f"a\tb\t{'9' * 5000}\n")
    with pytest.raises(CorpusError, match=r"memory\.tsv:1: not a word, its form and how often"):
        Memory.read(path)


def test_words_are_composed_and_lower_cased(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """All commands compose decomposed letters with a note, and lower-case words on request."""
    pairs = "Été\tété\nTÊTE\ttête\nforeſt\tforêt\nfeſte\tfête\n\tdonc\n" * 6
    (tmp_path / "a.tsv").write_text(unicodedata.normalize("NFD", pairs), "utf-8")
    command = "normalise", "train", "a.tsv", "n", "--dev", "a.tsv", "--lowercase"
    done = phrasescore(*command).well()
    said = done.stderr.decode()
    assert "note: a.tsv: 36 texts in decomposed Unicode (NFD), composed here (NFC)" in said
    assert "note: a.tsv: 6 normal forms without a word skipped" in said
    done = phrasescore("normalise", "apply", "n", "-", stdin="E\u0301TÉ\n".encode())
    assert done.stdout.decode() == "été\n"


BAD = [
    ("no tab", b"verie very\n", "bad.tsv:1: 1 column; expected a word and its normal form"),
    ("three columns", b"a\tb\tc\n", "3 columns; expected a word and its normal form"),
    ("an empty form", b"a\tb\nverie\t\n", "bad.tsv:2: its normal form is empty"),
    ("no word but a form", b"\tvery\n", "bad.tsv: the file contains no words"),
    ("a long word", b"a\tb\n" + b"a" * 301 + b"\tb\n", "bad.tsv:2: a word of 301 characters"),
    ("nothing", b"\n\n", "the file contains no words"),
    ("Latin-1", b"\xe9t\xe9\tete\n", "not UTF-8 at byte 1"),
    ("sentences", b"he is a very old man\the is an old man\n" * 3, "so they are sentences"),
]


@pytest.mark.parametrize(("text", "message"), [pytest.param(*b[1:], id=b[0]) for b in BAD])
def test_files_that_are_no_words(
    phrasescore: Phrasescore, tmp_path: Path, text: bytes, message: str
) -> None:
    """Wrong files get one sentence with the problem and the place."""
    (tmp_path / "bad.tsv").write_bytes(text)
    done = phrasescore("normalise", "train", "bad.tsv", "n", "--dev", DEV)
    assert done.returncode != 0
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "n").exists()


def test_words_from_standard_input(
    phrasescore: Phrasescore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The folder may be the current directory, if it is empty."""
    dev = tmp_path_factory.mktemp("other") / "dev.tsv"
    dev.write_bytes(b"".join(DEV.read_bytes().splitlines(keepends=True)[:40]))
    pairs = b"".join(TRAINING.read_bytes().splitlines(keepends=True)[:40])
    phrasescore("normalise", "train", "-", ".", "--dev", dev, stdin=pairs).well()


def test_nothing_is_replaced(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Training writes only into a folder of its own, whose files are no inputs."""
    (tmp_path / "n").mkdir()
    shutil.copy(DEV, tmp_path / "n" / "dev.source")
    phrasescore("normalise", "train", TRAINING, "n", "--dev", "n/dev.source").refused(
        2, "the training could replace this input"
    )
    train(phrasescore).refused(6, "the folder is not empty")
    assert [path.name for path in (tmp_path / "n").iterdir()] == ["dev.source"]
    assert (tmp_path / "n" / "dev.source").read_bytes() == DEV.read_bytes()


def test_folders_and_words_that_do_not_fit(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """A folder without a normaliser, and pairs instead of words, are refused."""
    (tmp_path / "n").mkdir()
    done = phrasescore("normalise", "apply", "n", "-", stdin=b"a\n")
    assert done.returncode != 0
    assert b"no normaliser.json, so this is not a finished normaliser" in done.stderr
    shutil.copy(DEV, tmp_path / "words")
    (tmp_path / "n" / "normaliser.json").write_text(
        '{"lowercase": false, "remembered": 1, "attention": false, "dev_words": 1, '
        '"system_right": 1.0, "right": 1.0}'
    )
    (tmp_path / "n" / "memory.tsv").write_text("a\tb\t1\n")
    done = phrasescore("normalise", "apply", "n", "words")
    assert b"words:1: 2 columns; expected a word" in done.stderr
    done = phrasescore("normalise", "apply", "n", "-", stdin=b"a\n\na\n")
    assert done.stdout == b"b\n\nb\n"  # the word is known, so the system is not needed
