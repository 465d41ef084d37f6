"""Texts as word ids in the order of table lines."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from moses_integration.system_building.phrase_numbers import (
    BOUNDARY,
    NumberedText,
    read_numbered_text,
)

# characters of words in a corpus: no space, no line feed, no |
WORDS = st.binary(min_size=1, max_size=3).filter(lambda word: not set(word) & set(b" \n|"))
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=8).filter(
    # a file that begins with these bytes is read as gzip
    lambda sentences: not sentences[0][0].startswith(b"\x1f\x8b")
)


def numbered(folder: Path, sentences: list[list[bytes]]) -> NumberedText:
    path = folder / "text"
    path.write_bytes(b"".join(b" ".join(sentence) + b"\n" for sentence in sentences))
    return read_numbered_text(path)


@given(sentences=SENTENCES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_and_order(tmp_path: Path, sentences: list[list[bytes]]) -> None:
    """Ids give the text back, and compare like the words with a space after them."""
    text = numbered(tmp_path, sentences)
    assert len(text) == len(sentences)
    assert text.lengths.tolist() == [len(sentence) for sentence in sentences]
    for i, sentence in enumerate(sentences):
        ids = text.ids[text.starts[i] : text.starts[i + 1]].tolist()
        assert [text.words[number] for number in ids[:-1]] == sentence
        assert ids[-1] == BOUNDARY
    spelt = [word + b" " for word in text.words[1:]]
    assert spelt == sorted(set(spelt))
    before = [word for word in spelt if word < b"||| "]
    assert text.separator == len(before) + 1


def test_words_that_contain_each_other(tmp_path: Path) -> None:
    """Words sort with a space after them: a! (byte 0x21) after a, but a with 0x01 before it."""
    text = numbered(tmp_path, [[b"a", b"a!", b"a\x01", b"}", b"{"]])
    assert text.words[1:] == [b"a\x01", b"a", b"a!", b"{", b"}"]
    assert text.words[text.separator :] == [b"}"]


@pytest.mark.parametrize(
    ("data", "lengths"),
    [(b"a b\nc\n", [2, 1]), (b"a b\nc", [2, 1]), (b"", []), (b"a\n\nb\n", [1, 0, 1])],
)
def test_line_ends(tmp_path: Path, data: bytes, lengths: list[int]) -> None:
    """A missing last line feed, an empty file and an empty line are read correctly."""
    (tmp_path / "text").write_bytes(data)
    assert read_numbered_text(tmp_path / "text").lengths.tolist() == lengths


def test_word_that_is_not_there(tmp_path: Path) -> None:
    """An unknown word gets the first unused id, a known word its own id."""
    text = numbered(tmp_path, [[b"b", b"a"]])
    assert (text.id_of(b"a"), text.id_of(b"b"), text.id_of(b"NULL")) == (1, 2, 3)
