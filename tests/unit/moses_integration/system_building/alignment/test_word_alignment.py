"""Word alignment with a library's models."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from moses_integration.system_building.phrase_numbers import NumberedText, read_numbered_text
from moses_integration.system_building.word_alignment import Links, align_words, link_lines
from phrasescore.errors import MissingDependencyError

NOUNS = {"house": "maison", "door": "porte", "dog": "chien", "tree": "arbre", "sea": "mer"}
COLOURS = {"blue": "bleu", "red": "rouge", "green": "vert", "black": "noir"}


@pytest.fixture
def texts(tmp_path: Path) -> tuple[NumberedText, NumberedText]:
    """Return sentences of all nouns and colours, whose order differs in the translation."""
    pairs = [(c, n) for c in COLOURS for n in NOUNS] * 4
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("".join(f"the {c} {n}\n" for c, n in pairs))
    target.write_text("".join(f"la {NOUNS[n]} {COLOURS[c]}\n" for c, n in pairs))
    return read_numbered_text(source), read_numbered_text(target)


def lines(links: Links) -> list[bytes]:
    return b"".join(link_lines(links, 1000)).split(b"\n")[:-1]


def test_fast_align(texts: tuple[NumberedText, NumberedText]) -> None:
    """It aligns nouns and colours that change places, with equal links in every run."""
    pytest.importorskip("thot")
    links = align_words(*texts, "fast_align")
    assert sum(line.endswith(b"1-2 2-1") for line in lines(links)) >= 0.9 * len(texts[0])
    again = align_words(*texts, "fast_align")
    for name in ("sources", "targets", "offsets"):
        assert np.array_equal(getattr(again, name), getattr(links, name))


def test_library_that_is_not_there(
    texts: tuple[NumberedText, NumberedText], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library, the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "thot", None)
    with pytest.raises(MissingDependencyError, match=r"phrasescore\[alignment\]"):
        align_words(*texts, "fast_align")
