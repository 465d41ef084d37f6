"""Reading parallel text: lines, errors with their lines, and notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.system_building.corpus_preparation import (
    NOT_UTF8,
    OTHER_SPACES,
    Notes,
    check_taken_text,
    read_parallel_lines,
)
from phrasescore.errors import CorpusError


def write(folder: Path, source: bytes, target: bytes) -> tuple[Path, Path]:
    paths = folder / "text.en", folder / "text.fr"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    return paths


def test_line_ends_and_byte_order_marks(tmp_path: Path) -> None:
    """Lines end only at line feeds, the last may lack one, and byte order marks are dropped."""
    paths = write(tmp_path, "\ufeffa\u2028b\n\nc".encode(), "x\x85y\nz\nz\n".encode())
    blocks = list(read_parallel_lines(*paths))
    sides = [["a\u2028b".encode(), b"", b"c"], ["x\x85y".encode(), b"z", b"z"]]
    assert blocks == [(1, sides)]


@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        (b"a\n", b"b\nc\n", "text.fr:2: line 2 has no counterpart"),
        (b"a\n" * 30_000, b"b\n", "text.en:2: line 2 has no counterpart"),
        (b"a\n" * 10_000, b"b\n" * 10_001, "text.fr:10001: line 10,001 has no counterpart"),
        (b"", b"b\n", "text.fr:1: line 1 has no counterpart"),
        (b"", b"", "text.en: the text contains no sentence"),
    ],
)
def test_unequal_lines(tmp_path: Path, source: bytes, target: bytes, place: str) -> None:
    """A line without a counterpart is reported in the longer file; empty texts are errors."""
    with pytest.raises(CorpusError) as caught:
        list(read_parallel_lines(*write(tmp_path, source, target)))
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"a | b", "an unescaped |"),
        (b"a|b", "an unescaped |"),
        (b"[laughs] a", r"an unescaped \[laughs\], which Moses takes for markup"),
        (b"a []", r"an unescaped \[\]"),
        (b"a\0b", "a zero byte"),
        (b"<s> a", "the word <s>"),
        (b"a </s>", "the word </s>"),
        (b"a\t<unk> b", "the word <unk>"),
        (b"<s>", "the word <s>"),
        (b"a\r<s>\x0bb", "the word <s>"),
    ],
)
def test_harmful_text(line: bytes, problem: str) -> None:
    """Text that Moses or a language model would misread is an error with line and remedy."""
    with pytest.raises(CorpusError, match=problem) as caught:
        check_taken_text([b"fine", line, b"a | b"], "text.en", 41, Notes())
    assert (caught.value.path, caught.value.line) == ("text.en", 42)
    assert caught.value.remedy


def test_harmless_text() -> None:
    """Escaped text, and special words inside other words, are accepted."""
    notes = Notes()
    lines = [b"&#124; &#91; &lt;s&gt; a<s>b <s>x x</s>", "où ça ?".encode()]
    lines += [b"[ a ] [b c] d[e] <UNK>"]  # Moses takes only a whole word in brackets for a label
    check_taken_text(lines, "text.fr", 1, notes)
    assert list(notes) == []


def test_notes() -> None:
    """Unusual spaces and bytes that are not UTF-8 are counted, with the first place of each."""
    notes = Notes()
    check_taken_text([b"a", "b\u00a0c".encode(), "d\u202fe".encode()], "x.fr", 1, notes)
    check_taken_text(["f\u2028".encode(), b"\xe9t\xe9"], "x.fr", 4, notes)
    assert notes.counts == {OTHER_SPACES: 3, NOT_UTF8: 1}
    assert list(notes) == [
        f"x.fr:2: {OTHER_SPACES} (3 lines, also 3, 4)",
        f"x.fr:5: {NOT_UTF8} (1 line)",
    ]
    check_taken_text([b"\xe9"], "x.en", 1, notes)
    assert [*notes][1] == f"x.fr:5: {NOT_UTF8} (2 lines of both texts)"
