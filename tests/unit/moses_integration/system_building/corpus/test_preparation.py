"""The preparation of two files for building a system, and the choice of pairs to leave out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from moses_integration.system_building.corpus_preparation import (
    LOOKS_RAW,
    PreparedText,
    TextSource,
    prepare_corpus,
    reason_to_leave_out,
)
from moses_integration.text.preparation import TextSettings
from phrasescore.errors import CorpusError


def prepare(
    folder: Path, source: bytes, target: bytes, cleaning: bool = True, tokenize: bool = False
) -> PreparedText:
    (folder / "en").write_bytes(source)
    (folder / "fr").write_bytes(target)
    sources = [
        TextSource(folder / name, TextSettings(name, tokenize, escape=tokenize))
        for name in ("en", "fr")
    ]
    outputs = folder / "out.en.gz", folder / "out.fr.gz"
    return prepare_corpus(sources, outputs, 80 if cleaning else None, keeps_all=not cleaning)


def written(folder: Path) -> list[bytes]:
    return [gzip.decompress((folder / f"out.{name}.gz").read_bytes()) for name in ("en", "fr")]


def test_text_as_it_is(tmp_path: Path) -> None:
    """Blanks become single spaces; other spaces stay inside words, with a note."""
    done = prepare(tmp_path, b" a\t b  c \r\nd\n", "x\u00a0y\nz".encode())
    assert written(tmp_path) == [b"a b c\nd\n", "x\u00a0y\nz\n".encode()]
    assert done.kept == [True, True]
    assert done.words == [4, 2]
    assert [note.split(": ")[0] for note in done.notes] == [f"{tmp_path / 'fr'}:1"]


def test_cleaning_keeps_the_sides_together(tmp_path: Path) -> None:
    """Both sides of a pair are left out together, with a note about the first such lines."""
    done = prepare(tmp_path, b"a\n\nb\nc\n\n", b"x\ny\n" + b"z " * 81 + b"\nw\nv\n")
    assert written(tmp_path) == [b"a\nc\n", b"x\nw\n"]
    assert done.kept == [True, False, False, True, False]
    assert [note.removeprefix(f"{tmp_path / 'en'}") for note in done.notes] == [
        ":2: left out: empty (2 lines, also 5)",
        ":3: left out: too long (1 line)",
    ]
    done = prepare(tmp_path, b"a\nb\n", b"x\n\n")
    assert [*done.notes] == [f"{tmp_path / 'fr'}:2: left out: empty (1 line)"]


def test_tokenised(tmp_path: Path) -> None:
    """Raw text is tokenised and escaped for its language before it is checked and counted."""
    prepare(tmp_path, b'He said: "it\'s [done]".\n', "C'est l'été.\n".encode(), tokenize=True)
    assert written(tmp_path) == [
        b"He said : &quot; it &apos;s &#91; done &#93; &quot; .\n",
        "C&apos; est l&apos; été .\n".encode(),
    ]


def test_truecased(tmp_path: Path) -> None:
    """First words get the case that the kept pairs show; the model is written beside the text."""
    names = ("en", "fr")
    for name in names:
        (tmp_path / name).write_text("The dog and the cat .\nDog .\n\nA Cat\n")
    sources = [TextSource(tmp_path / name, TextSettings(name, tokenize=False)) for name in names]
    outputs = [tmp_path / f"out.{name}.gz" for name in names]
    models = [tmp_path / f"model.{name}" for name in names]
    prepare_corpus(sources, outputs, 80, models)
    assert written(tmp_path) == [b"the dog and the cat .\ndog .\nA Cat\n"] * 2
    assert models[0].read_text().split("\n")[:2] == ["dog (1/1)", "and (1/1)"]


@pytest.mark.parametrize(
    ("source", "target", "where"),
    [
        (b"a\n\n", b"x\ny\n", "en:2: a sentence of 0 words"),
        (b"a\n", b" \n", "fr:1: a sentence of 0 words"),
    ],
)
def test_empty_sentence_without_cleaning(
    tmp_path: Path, source: bytes, target: bytes, where: str
) -> None:
    """If no pair may be left out, an empty sentence is an error with line and remedy."""
    with pytest.raises(CorpusError) as caught:
        prepare(tmp_path, source, target, cleaning=False)
    assert where in str(caught.value)
    assert "--no-cleaning" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "tokenize", "note"),
    [
        (b"It is done.\nIs it?\n", False, f":1: {LOOKS_RAW} (2 lines)"),
        ("घर है।\nघर?\n".encode(), False, f":1: {LOOKS_RAW} (2 lines)"),
        (b"It is done .\nIs it ?\n", False, ""),
        ("घर है ।\nघर ?\n".encode(), False, ""),
        (b"It is done.\nIs it?\n", True, ""),
    ],
)
def test_text_that_looks_otherwise(
    tmp_path: Path, source: bytes, tokenize: bool, note: str
) -> None:
    """Raw text without tokenisation, and escaped text with tokenisation, get a note."""
    done = prepare(tmp_path, source, b"x\ny\n", tokenize=tokenize)
    expected = [f"{tmp_path / 'en'}{note}"] if note else []
    assert list(done.notes) == expected


@pytest.mark.parametrize(
    ("source", "problem", "remedy"),
    [
        (b"\n\n", "no sentence is left: 2 empty", "one sentence on each line"),
        (b"a " * 100 + b"\nb\n", "no sentence is left", "--max-sentence-length"),
    ],
)
def test_nothing_left(tmp_path: Path, source: bytes, problem: str, remedy: str) -> None:
    """If cleaning leaves no sentence, this is an error, and there is no output."""
    with pytest.raises(CorpusError, match=problem) as caught:
        prepare(tmp_path, source, b"x\n\n")
    assert remedy in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en", "fr"]


def test_an_alignment_of_other_words_is_refused(tmp_path: Path) -> None:
    """Tokenising may not change the number of words that are aligned already."""
    (tmp_path / "en").write_text("one two\nthe man.\n")
    settings = TextSettings("en", tokenize=True, escape=True)
    outputs = [tmp_path / "out"]
    assert len(prepare_corpus([TextSource(tmp_path / "en", settings)], outputs, None).kept) == 2
    sources = [TextSource(tmp_path / "en", settings, aligned=True)]
    with pytest.raises(CorpusError, match="en:2: an alignment of 2 words is given, but they becom"):
        prepare_corpus(sources, outputs, None)
    (tmp_path / "en").write_text("one two\nthe man .\n")
    assert len(prepare_corpus(sources, outputs, None).kept) == 2


W = b"w"


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ([W], [W], None),
        ([W] * 80, [W] * 80, None),
        ([W] * 81, [W] * 80, "too long"),
        ([W] * 80, [W] * 81, "too long"),
        ([W] * 9, [W], None),
        ([W] * 10, [W], "of too uneven lengths"),
        ([W] * 2, [W] * 19, "of too uneven lengths"),
        ([], [W], "empty"),
        ([W], [], "empty"),
        ([b"x" * 1000], [W], None),
        ([b"x" * 1001], [W], "with a word that is too long"),
        (["é".encode() * 1000], [W], None),
    ],
)
def test_rules_of_clean_corpus_n(
    source: list[bytes], target: list[bytes], reason: str | None
) -> None:
    """Limits are 1 to 80 words, a ratio of 9 and words of 1,000 characters, all inclusive."""
    assert reason_to_leave_out((source, target), 80) == reason


def test_without_cleaning() -> None:
    """Without cleaning, only empty sentences are reported."""
    assert reason_to_leave_out(([W] * 500, [W]), None) is None
    assert reason_to_leave_out(([], [W]), None) == "empty"
