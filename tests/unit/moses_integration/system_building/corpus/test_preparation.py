"""From two files to the text that a system is built from."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from moses_integration.system_building.corpus.preparation import (
    LOOKS_ESCAPED,
    LOOKS_RAW,
    TextSource,
    prepare_corpus,
)
from moses_integration.system_building.corpus.text_preparation import TextSettings
from phrasescore.errors import CorpusError


def prepare(
    folder: Path,
    source: bytes,
    target: bytes,
    max_words: int | None = 80,
    tokenize: bool = False,
) -> tuple[list[int], dict[str, Any]]:
    (folder / "en").write_bytes(source)
    (folder / "fr").write_bytes(target)
    sources = [
        TextSource(folder / name, TextSettings(name, tokenize, escape=tokenize))
        for name in ("en", "fr")
    ]
    outputs = folder / "out.en.gz", folder / "out.fr.gz"
    kept, report = prepare_corpus((sources[0], sources[1]), outputs, max_words)
    return kept.tolist(), report


def written(folder: Path) -> list[bytes]:
    return [gzip.decompress((folder / f"out.{name}.gz").read_bytes()) for name in ("en", "fr")]


def test_text_as_it_is(tmp_path: Path) -> None:
    """Blanks become single spaces; other spaces stay in their words, and are noted."""
    kept, report = prepare(tmp_path, b" a\t b  c \r\nd\n", "x\u00a0y\nz".encode())
    assert written(tmp_path) == [b"a b c\nd\n", "x\u00a0y\nz\n".encode()]
    assert kept == [1, 2]
    assert (report["source_words"], report["target_words"]) == (4, 2)
    assert [note.split(": ")[0] for note in report["notes"]] == [f"{tmp_path / 'fr'}:1"]


def test_cleaning_keeps_the_sides_together(tmp_path: Path) -> None:
    """A pair goes as a whole; what is left out is noted with the first line."""
    kept, report = prepare(tmp_path, b"a\n\nb\nc\n", b"x\ny\n" + b"z " * 81 + b"\nw\n")
    assert written(tmp_path) == [b"a\nc\n", b"x\nw\n"]
    assert kept == [1, 4]
    assert report["pairs_read"] == 4
    assert [note.removeprefix(f"{tmp_path / 'en'}") for note in report["notes"]] == [
        ":2: left out: empty (1 line)",
        ":3: left out: too long (1 line)",
    ]


def test_tokenised(tmp_path: Path) -> None:
    """Raw text is tokenised and escaped for its language before it is checked and counted."""
    prepare(tmp_path, b'He said: "it\'s [done]".\n', "C'est l'été.\n".encode(), tokenize=True)
    assert written(tmp_path) == [
        b"He said : &quot; it &apos;s &#91; done &#93; &quot; .\n",
        "C&apos; est l&apos; été .\n".encode(),
    ]


@pytest.mark.parametrize(
    ("source", "target", "where"),
    [(b"a\n\n", b"x\ny\n", "en:2: the sentence is empty"), (b"a\n", b" \n", "fr:1: the sentence")],
)
def test_empty_sentence_without_cleaning(
    tmp_path: Path, source: bytes, target: bytes, where: str
) -> None:
    """Where no pair may be left out, an empty sentence is an error in its line, with a remedy."""
    with pytest.raises(CorpusError) as caught:
        prepare(tmp_path, source, target, max_words=None)
    assert where in str(caught.value)
    assert "--no-cleaning" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "tokenize", "note"),
    [
        (b"It is done.\nIs it?\n", False, f":1: {LOOKS_RAW} (2 lines)"),
        (b"It is done .\nIs it ?\n", False, ""),
        (b"It is done.\nIs it?\n", True, ""),
        (b"it is n&apos;t\nit is .\n", True, f":1: {LOOKS_ESCAPED} (1 line)"),
        (b"it is n&apos;t\nit is .\n", False, ""),
    ],
)
def test_text_that_looks_otherwise(
    tmp_path: Path, source: bytes, tokenize: bool, note: str
) -> None:
    """Raw text that is taken as it is, and escaped text that is tokenised, get a note."""
    _, report = prepare(tmp_path, source, b"x\ny\n", tokenize=tokenize)
    expected = [f"{tmp_path / 'en'}{note}"] if note else []
    assert report["notes"] == expected


def test_endless_sentence_without_cleaning(tmp_path: Path) -> None:
    """A sentence of more than 2,000 words is an error in its line even without cleaning."""
    with pytest.raises(CorpusError, match=r"fr:2: a sentence of 2,001 words"):
        prepare(tmp_path, b"a\nb\n", b"x\n" + b"y " * 2001 + b"\n", max_words=None)


@pytest.mark.parametrize(
    ("source", "problem", "remedy"),
    [
        (b"\n\n", "no sentence pair is left: 2 empty", "a sentence per line"),
        (b"a " * 100 + b"\nb\n", "no sentence pair is left", "--max-sentence-length"),
    ],
)
def test_nothing_left(tmp_path: Path, source: bytes, problem: str, remedy: str) -> None:
    """A corpus of which nothing is left is an error, and leaves no output."""
    with pytest.raises(CorpusError, match=problem) as caught:
        prepare(tmp_path, source, b"x\n\n")
    assert remedy in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en", "fr"]
