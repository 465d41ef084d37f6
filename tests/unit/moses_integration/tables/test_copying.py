"""Filtering tables for a text: the kept lines, and the reuse of filtered tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.copying import (
    PhraseFilter,
    filter_system,
    filter_table,
    is_filterable,
)
from phrasescore.errors import InputError, PhrasescoreError, ResumeError

WORDS = st.sampled_from([b"a", b"b", "\u00a0".encode(), b"c"])
LINES = st.lists(st.lists(WORDS, max_size=12), max_size=4)


def occurs(phrase: list[bytes], lines: list[list[bytes]]) -> bool:
    """Search a phrase word by word."""
    return any(
        line[begin : begin + len(phrase)] == phrase
        for line in lines
        for begin in range(len(line) - len(phrase) + 1)
    )


@given(lines=LINES, phrase=st.lists(WORDS, min_size=1, max_size=10))
def test_a_phrase_occurs_or_not(lines: list[list[bytes]], phrase: list[bytes]) -> None:
    """The filter agrees with a search word by word, for short and long phrases."""
    phrases = PhraseFilter([b" ".join(line) for line in lines])
    assert phrases.occurs(b" ".join(phrase)) == occurs(phrase, lines)
    assert phrases.occurs(b" " + b"\t".join(phrase) + b"  ") == occurs(phrase, lines)


def test_kept_lines_stay_byte_for_byte(tmp_path: Path) -> None:
    """Kept lines are unchanged and in order; a missing last line feed is added."""
    kept = [
        b"b ||| x ||| 0.5 0.25 ||| 0-0 ||| 1 1 1 ||| dom 1 ||| {{P v}}\n",
        b"a b|||y|||0.1 0.2\r\n",
        b"b ||| z ||| 1 1",
    ]
    table = tmp_path / "table"
    table.write_bytes(kept[0] + b"c ||| x ||| 1 1\n" + kept[1] + b"b a ||| x ||| 1 1\n" + kept[2])
    assert filter_table(table, tmp_path / "out.gz", PhraseFilter([b"a b"])) == (5, 3)
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b"".join(kept) + b"\n"


def write_system(folder: Path) -> MosesIni:
    """Write a system with two tables that can be filtered and one that cannot."""
    for name in ("pt", "ro", "glue"):
        (folder / name).write_bytes(b"a ||| x ||| 1\nq ||| x ||| 1\n")
    (folder / "pt.minphr").write_bytes(b"binary")
    return MosesIni.parse(
        b"[feature]\n"
        b"PhraseDictionaryMemory name=TM num-features=1 path=%(f)s/pt\n"
        b"PhraseDictionaryMemory name=Glue num-features=1 path=%(f)s/glue filterable=false\n"
        b"PhraseDictionaryMemory name=Tags num-features=1 path=%(f)s/glue input-factor=1\n"
        b"PhraseDictionaryCompact name=Compact num-features=1 path=%(f)s/pt.minphr\n"
        b"LexicalReordering name=LR type=wbe-msd-bidirectional-fe-allff path=%(f)s/ro\n"
        b"[weight]\nTM= 0.3 # mine\n" % {b"f": str(folder).encode()}
    )


def test_a_system_is_filtered_once(tmp_path: Path) -> None:
    """Only the paths of filtered tables change; a second call uses the tables of the first."""
    ini = write_system(tmp_path)
    assert [line.name for line in ini.features if is_filterable(line)] == ["TM", "LR"]
    filtered, tables = filter_system(ini, [b"a"], tmp_path / "out")
    counts = [(table.name, table.lines, table.kept) for table in tables]
    assert counts == [("TM", 2, 1), ("LR", 2, 1)]
    expected = ini
    for name, path in (("TM", "pt"), ("LR", "ro")):
        place = str(tmp_path / "out" / f"{name}.gz")
        expected = expected.with_feature_option(name, "path", place)
        (tmp_path / path).unlink()
    assert filtered.to_bytes() == expected.to_bytes()
    again, none = filter_system(ini, [b"a"], tmp_path / "out")
    assert (again.to_bytes(), none) == (expected.to_bytes(), [])
    with pytest.raises(ResumeError, match="text has changed"):
        filter_system(ini, [b"q"], tmp_path / "out")


def test_a_damaged_table_leaves_nothing(tmp_path: Path) -> None:
    """A damaged table leaves no files, because repairing it changes the input of all tables."""
    ini = write_system(tmp_path)
    (tmp_path / "ro").write_bytes(gzip.compress(b"a ||| x ||| 1\n")[:-9])
    with pytest.raises(InputError, match="ro: the gzip data are cut short"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


@pytest.mark.parametrize("name", ["pt", "ro"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ":1: the file is empty"),
        (b"\n", ":1: no .* in the first line"),
        (b"a ||| b ||| 1\rc ||| d ||| 1\r", ":1: a carriage return within the first line"),
        (b"a [X] ||| b [X] ||| 1\n", ":1: the table holds hierarchical rules"),
        ("a ||| b ||| 1\n".encode("utf-16"), ": binary data, .* perhaps the text is in UTF-16"),
    ],
)
def test_what_is_no_table_is_not_filtered_to_nothing(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    ini = write_system(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PhrasescoreError, match=f"{name}{says}"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


@pytest.mark.parametrize("name", ["../{}", "{folder}/out/{}", "..", "a\\b", "a\x01b", "n" * 253])
def test_names_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """Filtered tables are named after features, so a feature's name must not be a path."""
    called = name.format("stolen", folder=tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "table").write_bytes(b"a ||| x ||| 1\n")
    line = f"PhraseDictionaryMemory name={called} num-features=1 path={tmp_path}/table"
    ini = MosesIni.parse(f"[feature]\nWordPenalty\n{line}\n".encode())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"moses.ini:3: the feature name .* cannot be a"):
        filter_system(ini, [b"a"], tmp_path / "folder")
    assert sorted(tmp_path.rglob("*")) == before


def test_only_the_first_factor_is_compared() -> None:
    """Moses looks words up by the factor before the bar."""
    phrases = PhraseFilter([b"a c|V d"])
    assert phrases.occurs(b"a c|N")
    assert phrases.occurs(b"c d")
    assert not phrases.occurs(b"N")
