"""Word alignment with a library's models and with programs on PATH."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from moses_integration.system_building.build_settings import Aligner
from moses_integration.system_building.phrases.phrase_numbers import (
    NumberedText,
    read_numbered_text,
)
from moses_integration.system_building.word_alignment import Links, align_words, link_lines
from phrasescore.errors import CorpusError, MissingDependencyError

NOUNS = {"house": "maison", "door": "porte", "dog": "chien", "tree": "arbre", "sea": "mer"}
COLOURS = {"blue": "bleu", "red": "rouge", "green": "vert", "black": "noir"}


@pytest.fixture
def texts(tmp_path: Path) -> tuple[NumberedText, NumberedText]:
    """Every noun with every colour, which stands on its other side in the translation."""
    pairs = [(c, n) for c in COLOURS for n in NOUNS] * 4
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("".join(f"the {c} {n}\n" for c, n in pairs))
    target.write_text("".join(f"la {NOUNS[n]} {COLOURS[c]}\n" for c, n in pairs))
    return read_numbered_text(source), read_numbered_text(target)


def lines(links: Links) -> list[bytes]:
    return b"".join(link_lines(links, 1000)).split(b"\n")[:-1]


@pytest.mark.parametrize("aligner", ["fast_align", "hmm", "eflomal"])
def test_models(texts: tuple[NumberedText, NumberedText], aligner: Aligner, tmp_path: Path) -> None:
    """Every model finds nouns and colours that change places, and the same links again."""
    pytest.importorskip("thot")
    links = align_words(*texts, aligner, tmp_path / "links")
    assert sum(line.endswith(b"1-2 2-1") for line in lines(links)) >= 0.9 * len(texts[0])
    again = align_words(*texts, aligner, tmp_path / "links")
    for name in ("sources", "targets", "offsets"):
        assert np.array_equal(getattr(again, name), getattr(links, name))


def put_on_path(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / name
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


FAST_ALIGN = """
import sys
text = sys.argv[sys.argv.index("-i") + 1]
for line in open(text):
    source, target = (side.split() for side in line.split(" ||| "))
    assert all(word.isdigit() for word in source + target)
    print("0-0" if "-r" in sys.argv else "0-0 1-2")
"""
EFLOMAL = """
import sys
names = dict(zip(sys.argv, sys.argv[1:]))
lines = list(open(names["-s"]))
assert len(lines) == len(list(open(names["-t"])))
open(names["-f"], "w").write("0-0 1-2\\n" * len(lines))
open(names["-r"], "w").write("0-0\\n" * len(lines))
"""


@pytest.mark.parametrize(
    ("name", "script"), [("fast_align", FAST_ALIGN), ("eflomal-align", EFLOMAL)]
)
def test_programs(
    texts: tuple[NumberedText, NumberedText],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    script: str,
) -> None:
    """A program gets words as numbers; its two directions are joined, and no file is left."""
    put_on_path(tmp_path, name, script, monkeypatch)
    before = set(tmp_path.iterdir())
    aligner: Aligner = f"program:{name}"  # type: ignore[assignment]
    assert set(lines(align_words(*texts, aligner, tmp_path / "links"))) == {b"0-0 1-2"}
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("import sys; sys.exit('no memory')", "fast_align failed with status 1: no memory"),
        ("print('0-0')", "1 lines of word alignment for 80 sentence pairs"),
        ("for _ in range(80): print('7-0')", "7-0 points outside"),
    ],
)
def test_programs_that_fail(
    texts: tuple[NumberedText, NumberedText],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    problem: str,
) -> None:
    """What a program says when it fails is passed on; what it writes is checked."""
    put_on_path(tmp_path, "fast_align", script, monkeypatch)
    with pytest.raises(CorpusError, match=problem):
        align_words(*texts, "program:fast_align", tmp_path / "links")


def test_program_that_is_not_there(
    texts: tuple[NumberedText, NumberedText], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is not on PATH is named, with a way out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="there is no program eflomal-align on PATH"):
        align_words(*texts, "program:eflomal-align", tmp_path / "links")


def test_library_that_is_not_there(
    texts: tuple[NumberedText, NumberedText], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library, the error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "thot", None)
    with pytest.raises(MissingDependencyError, match=r"phrasescore\[alignment\]"):
        align_words(*texts, "hmm", tmp_path / "links")
