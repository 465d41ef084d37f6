"""The reading of tables for decoding, and the lines that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.decoder.loading.source_phrases import SourcePhrases
from moses_integration.decoder.loading.table_loading import TableEntries, TableLoader
from phrasescore.errors import PhraseTableError

LONG = b" ".join([b"x"] * 40_000)


def load(folder: Path, alignment: bytes, target: bytes = LONG) -> TableEntries:
    path = folder / "table"
    path.write_bytes(b"a ||| " + target + b" ||| 0.5 ||| " + alignment + b"\n")
    return TableLoader(None).load(path, 1, "here", SourcePhrases([(b"a",)], 7))


@pytest.mark.parametrize(
    "alignment",
    [b"0-32768", b"0-39999", b"32768-0", b"65536-0", b"0-4294967296", b"0-0 " * 10_001, b"0-\xb2"],
)
def test_links_that_no_phrase_has(tmp_path: Path, alignment: bytes) -> None:
    """Link positions that are too large, and too many links, are refused instead of wrapping."""
    with pytest.raises(PhraseTableError, match="table:1: the word alignment is not a list"):
        load(tmp_path, alignment)


def test_links_at_the_border(tmp_path: Path) -> None:
    """The largest possible position is read correctly, and links are sorted."""
    loaded = load(tmp_path, b"32767-32767 0-1 0-0")
    assert loaded.targets.links.tolist() == [[0, 0], [0, 1], [32767, 32767]]


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_phrase_table_is_no_reordering_table(tmp_path: Path, in_memory: bool) -> None:
    """A phrase table that was loaded before is still refused as a reordering table."""
    path = tmp_path / "table"
    path.write_bytes(b"a ||| x ||| 0.5 ||| 0-0\n")
    (tmp_path / "cache").mkdir()
    loader = TableLoader(tmp_path / "cache", in_memory=in_memory)
    source = SourcePhrases([(b"a",)], 7)
    assert len(loader.load(path, 1, "here", source).phrases) == 1
    with pytest.raises(PhraseTableError, match="4 columns, expected 3 in a reordering table"):
        loader.load(path, 1, "here", source, reordering=True)


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("line", [b"c|N ||| cc ||| 0.9", b"c ||| cc|N ||| 0.9"])
def test_a_bar_in_a_phrase_of_the_input(tmp_path: Path, line: bytes, in_memory: bool) -> None:
    """Moses looks words up by the factor before the bar, so the line is not ignored but refused."""
    path = tmp_path / "table"
    path.write_bytes(b"a ||| x ||| 0.5\n" + line + b"\nd|N ||| y ||| 0.5\n")
    loader = TableLoader(None, in_memory=in_memory)
    with pytest.raises(PhraseTableError, match="a phrase has a bar in a token"):
        loader.load(path, 1, "here", SourcePhrases([(b"a", b"c")], 7))
    assert len(loader.load(path, 1, "here", SourcePhrases([(b"a",)], 7)).phrases) == 1
