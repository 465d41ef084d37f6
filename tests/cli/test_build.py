"""``phrasescore build`` as a user runs it."""

from __future__ import annotations

import gzip
import signal
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.aligned_corpora import random_corpus, write_corpus
from tests.support.killed import kill_when
from tests.support.warm_process import Surroundings, WarmProcesses

WORDS = [b"w%d" % i for i in range(40)]


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[str, str, str]:
    """Return source, target and alignment of a small corpus, as names in the current folder."""
    source, target, links = write_corpus(tmp_path, random_corpus(3, 200, WORDS, 10))
    return source.name, target.name, links.name


def test_build_and_build_again(
    phrasescore: Phrasescore, tmp_path: Path, corpus: tuple[str, str, str]
) -> None:
    """A repeated command finds everything done; other options are refused, or need --update."""
    source, target, links = corpus
    command = ("build", source, target, "system/", "--alignment", links)
    first = phrasescore(*command).well()
    assert first.stdout == b""
    assert b"200 pairs kept" not in first.stderr  # some are too uneven
    assert b"left out: " in first.stderr
    assert first.stderr.endswith(b"the system is ready: system/moses.ini\n")
    table = (tmp_path / "system" / "phrase-table.gz").read_bytes()
    assert gzip.decompress(table).count(b"\n") > 500

    again = phrasescore(*command).well()
    assert again.stderr.count(b"(done before)") == 5
    assert (tmp_path / "system" / "phrase-table.gz").read_bytes() == table

    absolute = [str(tmp_path / "system") if word == "system/" else word for word in command]
    assert phrasescore(*absolute).well().stderr.count(b"(done before)") == 5

    phrasescore(*command, "--lm-order", "2").refused(6, "lm_order was 3 and is now 2")
    one = phrasescore("build", "--tokenize", "lv", source, target, "other")
    one.refused(2, f"'{source}' is not a language code")
    updated = phrasescore(*command, "--lm-order", "2", "--update").well()
    assert updated.stderr.count(b"(done before)") == 3


def test_further_text_of_words(
    phrasescore: Phrasescore, tmp_path: Path, corpus: tuple[str, str, str]
) -> None:
    """A further text is prepared like the target, and gets its own language model and weight."""
    source, target, links = corpus
    (tmp_path / "more").write_text("W1 w2\n\nNEW w3\n" * 9)
    command = ("build", source, target, "system", "--alignment", links, "--lowercase")
    more = ("--language-model-text", "more", "--lm-order", "8", "--no-reordering")
    done = phrasescore(*command, *more).well()
    assert b" n-grams (" in done.stderr
    arpa = gzip.decompress((tmp_path / "system" / "lm1.arpa.gz").read_bytes())
    assert b"\tnew" in arpa
    assert b"ngram 8=" in arpa
    ini = (tmp_path / "system" / "moses.ini").read_text()
    assert f"KENLM name=LM1 factor=0 path={tmp_path}/system/lm1.arpa.gz order=8\n" in ini
    assert "LM0= 0.25\nLM1= 0.25\n" in ini
    assert "LexicalReordering" not in ini
    assert "[distortion-limit]\n0\n" in ini
    assert not (tmp_path / "system" / "reordering-table.gz").exists()
    phrasescore("decode", "system/moses.ini", stdin=b"w1 w2 w3\n").well()
    (tmp_path / "more").write_text(" ".join(f"other{n}" for n in range(30)) + "\n")
    done = phrasescore(*command, *more, "--update")
    assert done.stderr.count(b"(done before)") == 4
    assert b"warning: more: " in done.stderr
    assert b"is it in the right language?" in done.stderr


def test_raw_text_in_any_script(phrasescore: Phrasescore, tmp_path: Path) -> None:
    """Marks stay with their letters, words get their usual case, and lost pairs are reported."""
    (tmp_path / "en").write_text("The dog.\nSee the dog!\n\nA dog\n")
    (tmp_path / "yo").write_text(
        "Aj\u00e1 fo\u0323\u0300.\nWo aj\u00e1!\nx\nw\u1ecd\u0301n aj\u00e1\n"
    )
    (tmp_path / "more").write_text("Aj\u00e1 r\u1ecd \u0300wa.\n")
    command = ("build", "en", "yo", "system", "--aligner", "monotone", "--tokenize", "en", "yo")
    done = phrasescore(*command, "--language-model-text", "more", "--case", "truecase").well()
    said = done.stderr.decode()
    assert "1 left out (1 empty)" in said
    assert "warning: more than 2 % of the sentence pairs were left out" in said
    assert "note: yo: the tokeniser has no rules for yo" in said
    texts = [gzip.decompress((tmp_path / "system" / f"corpus.{side}.gz").read_bytes()).decode()
             for side in ("source", "target")]  # fmt: skip
    assert texts[0] == "The dog .\nSee the dog !\nA dog\n".replace("The", "the")
    assert texts[1] == "aj\u00e1 f\u1ecd\u0300 .\nWo aj\u00e1 !\nw\u1ecd\u0301n aj\u00e1\n"
    arpa = gzip.decompress((tmp_path / "system" / "lm1.arpa.gz").read_bytes()).decode()
    assert "\taj\u00e1" in arpa
    assert "\tr\u1ecd\u0300" in arpa


def test_interrupted(tmp_path: Path, phrasescore: Phrasescore) -> None:
    """Ctrl-C prints how to continue; the next run does not repeat finished steps."""
    paths = write_corpus(tmp_path, random_corpus(4, 2000, WORDS, 12))
    source, target, links = (path.name for path in paths)
    command = ["build", source, target, "system", "--alignment", links]
    stamp = tmp_path / "system" / ".build" / "corpus.json"  # of the first step
    ended = kill_when(stamp.exists, phrasescore.start(*command), signal.SIGINT)
    said = ended.errors
    assert ended.status == 130, said
    assert b"stopped; finished work is kept. To continue, type: phrasescore build" in said
    again = phrasescore(*command).well()
    lines = again.stderr.split(b"\n")
    assert lines[0].startswith(b"corpus ")
    assert lines[0].endswith(b"(done before)")
    assert (tmp_path / "system" / "moses.ini").exists()


def test_a_disk_that_fills_during_word_alignment(
    tmp_path: Path, warm_processes: WarmProcesses
) -> None:
    """The error of the aligner's process, its remedy and its status reach the user."""
    for side in ("source", "target"):
        (tmp_path / side).write_text("a b c d e f g h\n" * 3000)
    arguments = ["build", "source", "target", "system", "--aligner", "fast_align"]
    found = warm_processes.observe(arguments, Surroundings(tmp_path, largest_file=40_000))
    assert found.status == 8
    told = b"cannot be written further (File too large). Raise the file size limit (ulimit -f), "
    assert found.errors.endswith(told + b"then run the command again.\n")


def test_a_text_of_two_columns(
    phrasescore: Phrasescore, tmp_path: Path, corpus: tuple[str, str, str]
) -> None:
    """Lines with a tab are told, because a table of both sides would be taken for a text."""
    source, target, _ = corpus
    lines = (tmp_path / source).read_bytes().splitlines()
    (tmp_path / "both").write_bytes(b"".join(b"%b\t%b\n" % (line, line) for line in lines))
    done = phrasescore("build", "both", target, "system", "--aligner", "fast_align").well()
    assert b"warning: both: lines with a tab: a table of several columns?; take a" in done.stderr
