"""Files that are no phrase tables are called by their names."""

from __future__ import annotations

import bz2
import lzma
from pathlib import Path

import pytest

from phrasescore.errors import PhraseTableError
from phrasescore.table.phrase_table import TableFormat
from tests.support.table_lines import read_entries

WRONG_FILES = {
    "a Hiero rule table": b"[X] ||| le [X,1] de ||| the [X,1] of ||| EgivenF=1.5 Lex=0.3\n",
    "a binary file, perhaps a compact (.minphr)": b"\x03\x00\x00\x00PHRASES\x00\n\x01\x02 ||| \n",
    "a bzip2, xz or zstd file": bz2.compress(b"a ||| b ||| 1\n" * 50),
    "a rule table in Moses's compact text format": b"1\n5\nle\nla\n",
    "an ARPA language model": b"\\data\\\nngram 1=3\n\n\\1-grams:\n",
    "an n-best list": b"0 ||| the house ||| Distortion0= 0 LM0= -3.1 ||| -1.5\n",
    "a file of extracted phrase pairs": b"la maison ||| the house ||| 0-0 1-1\n",
    "a lexicalised reordering table": b"".join(
        b"w%d ||| v%d ||| 0.6 0.2 0.2 0.2 0.2 0.6\n" % (i, i) for i in range(5)
    ),
    "a lexical translation table": b"house maison 0.2500000\nNULL la 0.1\n",
    "a text whose lines end in carriage returns alone": b"a ||| b ||| 1\rc ||| d ||| 1\r",
    "plain text": b"une petite maison .\nun chien .\n",
}


@pytest.mark.parametrize(("name", "content"), list(WRONG_FILES.items()))
def test_look_alike(name: str, content: bytes, tmp_path: Path) -> None:
    """A file that gets confused with a phrase table is refused by its own name, with a remedy."""
    path = tmp_path / "table"
    path.write_bytes(content)
    with pytest.raises(PhraseTableError) as caught:
        list(read_entries(path))
    assert str(caught.value).startswith(f"{path}: this is {name}")
    assert "not a phrase table. " in str(caught.value)


def test_other_compressions(tmp_path: Path) -> None:
    """A file packed by xz is recognised as bzip2 is."""
    path = tmp_path / "table.xz"
    path.write_bytes(lzma.compress(b"a ||| b ||| 1\n"))
    with pytest.raises(PhraseTableError, match="Compress it with gzip"):
        list(read_entries(path))


def test_real_look_alikes(multi30k: Path) -> None:
    """The real reordering table, language model and text are recognised."""
    for name, kind in [
        ("reordering-table.gz", "reordering"),
        ("lm.5gram.arpa.gz", "ARPA"),
        ("train.en.gz", "plain text"),
    ]:
        with pytest.raises(PhraseTableError, match=kind):
            next(read_entries(multi30k / name))


@pytest.mark.parametrize(
    "lines",
    [
        [b"a ||| b ||| 0.2 0.3 0.5"] * 4,
        [b"a ||| b ||| 0.2 0.3 0.5", *[b"a ||| b ||| 0.2 0.3 0.4"] * 9],
        [b"[X] ||| b ||| 0.2 0.3 0.5 ||| 0-0 ||| 1 1 1"],
        [b"1 ||| un ||| 0.5"],
        [b"[X] ||| a= ||| 1 ||| 0-0"],
        [b"le [X][X] [X] ||| the [X][X] [X] ||| 1 ||| 0-0 1-1 ||| 1"],
    ],
)
def test_phrase_tables_are_left_alone(lines: list[bytes]) -> None:
    """Tables that resemble another format in a line or two are taken for what they are."""
    assert TableFormat.from_lines(lines, "table").scores
