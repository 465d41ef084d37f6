"""Word alignment with a library's models."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from moses_integration.system_building.build_settings import Aligner
from moses_integration.system_building.phrase_numbers import NumberedText
from moses_integration.system_building.word_aligners import align_words
from moses_integration.system_building.word_alignment import Links, link_lines
from phrasescore.errors import MissingDependencyError, PhrasescoreError

NOUNS = {"house": "maison", "door": "porte", "dog": "chien", "tree": "arbre", "sea": "mer"}
COLOURS = {"blue": "bleu", "red": "rouge", "green": "vert", "black": "noir"}
LIBRARY: tuple[Aligner, ...] = ("fast_align", "eflomal")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with sentences of all nouns and colours; the translation swaps them."""
    pairs = [(c, n) for c in COLOURS for n in NOUNS] * 4
    (tmp_path / "source").write_text("".join(f"the {c} {n}\n" for c, n in pairs))
    (tmp_path / "target").write_text("".join(f"la {NOUNS[n]} {COLOURS[c]}\n" for c, n in pairs))
    return tmp_path


def align(folder: Path, aligner: Aligner, threads: int = 2) -> tuple[Links, dict[str, Any]]:
    texts = folder / "source", folder / "target"
    numbered = (NumberedText.read(text) for text in texts)
    return align_words(*numbered, texts, aligner, folder / "links", threads=threads)


def lines(links: Links) -> list[bytes]:
    return b"".join(link_lines(links, 1000)).split(b"\n")[:-1]


@pytest.mark.usefixtures("warm_children")
@pytest.mark.parametrize("aligner", LIBRARY)
def test_words_that_change_places(folder: Path, aligner: Aligner) -> None:
    """Nouns and colours are aligned, with equal links for one and two threads."""
    pytest.importorskip("thot")
    links, record = align(folder, aligner)
    crossed = [line.endswith(b"1-2 2-1") for line in lines(links)]
    assert sum(crossed) >= 0.9 * len(crossed)
    again, _ = align(folder, aligner, threads=1)
    for name in ("sources", "targets", "offsets"):
        assert np.array_equal(getattr(again, name), getattr(links, name))
    assert record["made_by"]["sil-thot"] >= "3.5"
    assert ("seed" in record["made_by"]) == (aligner == "eflomal")
    assert "notes" not in record
    assert {path.name for path in folder.iterdir()} == {"source", "target"}


@pytest.mark.usefixtures("warm_children")
@pytest.mark.parametrize("aligner", LIBRARY)
def test_sentences_that_are_too_long(folder: Path, aligner: Aligner) -> None:
    """A pair of 1,024 words on a side gets links, a longer one none, which a note tells."""
    pytest.importorskip("thot")
    for words in (1024, 1025):
        with (folder / "source").open("a") as source, (folder / "target").open("a") as target:
            source.write("the house " * (words // 2) + "dog" * (words % 2) + "\n")
            target.write("la maison\n")
    links, record = align(folder, aligner)
    assert [len(line) > 0 for line in lines(links)][-2:] == [True, False]
    assert record["pairs_too_long"] == 1
    assert record["notes"] == [f"{aligner} finds no link in 1 pair with more than 1,024 words"]


@pytest.mark.parametrize("library", [None, SimpleNamespace(alignment=SimpleNamespace())])
def test_library_that_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, library: object
) -> None:
    """Without the library, or with an old one, the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "thot", library)
    with pytest.raises(MissingDependencyError, match=r"sil-thot.*phrasescore\[alignment\]"):
        align(folder, "eflomal")


def test_process_that_fails(folder: Path) -> None:
    """The error has the last words of the process, and no file is left."""
    pytest.importorskip("thot")
    texts = folder / "source", folder / "target"
    numbered = [NumberedText.read(text) for text in texts]
    texts[1].unlink()
    with pytest.raises(PhrasescoreError, match=r"aligner failed: .*target: no such file"):
        align_words(numbered[0], numbered[1], texts, "fast_align", folder / "links", threads=2)
    assert {path.name for path in folder.iterdir()} == {"source"}
