"""The truecaser learns how words are written inside sentences, and sentences get capitals back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from moses_integration.text.preparation import (
    Preprocessor,
    TextSettings,
    Truecaser,
    capitalized_sentences,
    learn_case,
    read_text,
)
from tests.conftest import PROJECT

CORPUS = [
    "The house of the Queen .",
    "&quot; Houses &quot; said the queen : The Queen is here .",
    "I like the QUEEN . Élan , the élan of Paris !",
    "Queen and queen , the queen",
]


def test_words_inside_sentences_are_counted() -> None:
    """The most frequent form comes first; first words of sentences do not count."""
    model = learn_case(CORPUS)
    assert "queen (3/6) Queen (2) QUEEN (1)" in model
    assert "élan (1/1)" in model
    assert "Paris (1/1)" in model
    assert not any("Houses" in line or "I " in line for line in model)
    assert "Is (1/1)" in learn_case(["No . &quot; Is it ?"])  # counted by Moses, too


def test_first_words_get_their_usual_case() -> None:
    """A known form inside a sentence stays; an unknown form becomes the usual one."""
    truecase = Truecaser(learn_case(CORPUS))
    text = "The Queen , THE queen . &quot; Of ÉLAN : Xyz"
    assert " ".join(truecase(text.split())) == "the Queen , the queen . &quot; of élan : Xyz"


def test_sentences_get_capitals() -> None:
    """The first word of each sentence gets a capital, also after an opening quote."""
    tokens = ["&quot;", "the", "queen", ".", "élan", "?", "(", "yes", ")", "no"]
    assert " ".join(capitalized_sentences(tokens)) == "&quot; The queen . Élan ? ( Yes ) no"
    tokens = ["&apos;yan", "sanda", ".", "'yan", ".", "5th", ".", "http://x", ".", "me@x.org"]
    cased = ["&apos;Yan", "sanda", ".", "'Yan", ".", "5th", ".", "http://x", ".", "me@x.org"]
    assert capitalized_sentences(tokens) == cased
    tokens = ["¿", "qué", "?", "¡", "sí", "!", "-", "no", ".", "«", "oui", "»", "dit-il"]
    assert " ".join(capitalized_sentences(tokens)) == "¿ Qué ? ¡ Sí ! - No . « Oui » dit-il"


def _run(*command: str | Path, text: list[str] | None = None) -> list[str]:
    data = "".join(f"{line}\n" for line in text or ()).encode()
    done = subprocess.run(["perl", *command], input=data, capture_output=True, check=True)
    return done.stdout.decode().split("\n")[:-1]


@pytest.mark.moses
def test_the_model_is_that_of_moses(moses_bin: Path, tmp_path: Path) -> None:
    """The forms and counts equal those of ``train-truecaser.perl``, which writes in any order."""
    prepare = Preprocessor(TextSettings("en"))
    text = [prepare(line) for line in read_text(PROJECT / "sample_corpus" / "train.en")]
    lines = [*CORPUS, *text, "No . &quot; Is it ? ( The", "&quot; [ The End . 5 The", ". . The"]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines))
    script = moses_bin.parent / "scripts" / "recaser" / "train-truecaser.perl"
    _run(script, "--model", tmp_path / "model", "--corpus", tmp_path / "text")

    def forms(line: str) -> tuple[str, list[tuple[str, str]]]:
        fields = line.split(" ")
        counts = [each.split("/")[0].strip("()") for each in fields[1::2]]
        return fields[1].split("/")[1], sorted(zip(fields[::2], counts, strict=True))

    model = (tmp_path / "model").read_text().split("\n")[:-1]
    assert sorted(map(forms, learn_case(lines))) == sorted(map(forms, model))


@pytest.mark.moses
def test_truecasing_is_that_of_moses(moses_bin: Path, tmp_path: Path) -> None:
    """With one model, both directions equal ``truecase.perl`` and ``detruecase.perl``."""
    scripts = moses_bin.parent / "scripts" / "recaser"
    model = learn_case(CORPUS)
    (tmp_path / "model").write_text("".join(f"{line}\n" for line in model))
    truecase = Truecaser(model)
    lines = [*CORPUS, "THE Queen QUEEN queEn . [ élan ] ! House : ( The", "a &apos; The"]
    cased = [" ".join(truecase(line.split(" "))) for line in lines]
    assert cased == _run(scripts / "truecase.perl", "--model", tmp_path / "model", text=lines)
    capitals = [" ".join(capitalized_sentences(line.split(" "))) for line in cased]
    assert capitals == _run(scripts / "detruecase.perl", text=cased)
