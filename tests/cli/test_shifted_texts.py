"""Texts with equally many lines of which none translates the same line of the other."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from tests.conftest import Phrasescore
from tests.support.toy_system import write_toy_system

TOLD = b": the lengths of lines 1 to 120 do not match those of %b (correlation %b"


def write(path: Path, lengths: list[int], word: str) -> None:
    """Write a line of so many words for each length."""
    path.write_text("".join(" ".join([word] * length) + "\n" for length in lengths))


@pytest.fixture
def names(tmp_path: Path) -> tuple[str, str, str]:
    """Return a source, its target, and the same target shifted by one line."""
    rng = random.Random(1)
    lengths = [rng.randrange(4, 20) for _ in range(120)]
    write(tmp_path / "source", lengths, "s1")
    write(tmp_path / "target", [length + rng.randrange(3) for length in lengths], "t1")
    write(tmp_path / "shifted", [*lengths[1:], lengths[0]], "t1")
    (tmp_path / "links").write_text("0-0\n" * len(lengths))
    return "source", "target", "shifted"


def test_build_and_doctor(phrasescore: Phrasescore, names: tuple[str, str, str]) -> None:
    """The training text is checked when a system is built, and a dev set by doctor."""
    source, target, shifted = names
    command = ("build", "--alignment", "links", "--no-reordering", source)
    good = phrasescore(*command, target, "good").well()
    assert b"the lengths of lines" not in good.stderr
    bad = phrasescore(*command, shifted, "bad").well()
    assert b"  warning: source" + TOLD % (b"shifted", b"-0.") in bad.stderr
    dev = ("doctor", "good", "--source", source, "--reference")
    assert b"the lengths of lines" not in phrasescore(*dev, target).stdout
    found = phrasescore(*dev, shifted).stdout
    assert b"shifted" + TOLD % (b"source", b"-0.") in found


def test_tune(phrasescore: Phrasescore, tmp_path: Path, names: tuple[str, str, str]) -> None:
    """The dev set is checked before the first round."""
    toy = write_toy_system(tmp_path / "toy")
    for reference in names[1:]:
        dev = "--source", names[0], "--reference", reference
        done = phrasescore("tune", toy.ini, *dev, "--rounds", "1", "-o", f"{reference}.tuned")
        warned = b"warning: source" + TOLD % (reference.encode(), b"-0.") in done.stderr
        assert warned == (reference == "shifted")


@pytest.mark.parametrize("name", ["target", "shifted"])
def test_train_and_evaluate(
    phrasescore: Phrasescore, tmp_path: Path, names: tuple[str, str, str], name: str
) -> None:
    """Training a model of sentences, and scoring a translation, tell the same."""
    sizes = "--kind search --hidden 8 --embedding 4 --max-epochs 0 --threads 1"
    trained = phrasescore("train", names[0], name, "model", *sizes.split()).well()
    warned = b"warning: source" + TOLD % (name.encode(), b"-0.") in trained.stderr
    assert warned == (name == "shifted")
    (tmp_path / "target.gz").write_bytes(gzip.compress((tmp_path / "target").read_bytes()))
    scored = phrasescore("evaluate", name, "--reference", "target.gz", "--metric", "bleu").well()
    assert (b"note: shifted" + TOLD % (b"target.gz", b"-0.") in scored.stderr) == warned
