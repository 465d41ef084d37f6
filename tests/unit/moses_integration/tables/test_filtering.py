"""Tables cut down to a text: which lines stay, byte for byte, and that it is done once."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables import filtering
from moses_integration.tables.filtering import (
    LineCounts,
    PhraseFilter,
    filter_system,
    filter_table,
    is_filterable,
)
from phrasescore.errors import InputError, PhrasescoreError, ResumeError

WORDS = st.sampled_from([b"a", b"b", "\u00a0".encode(), b"c"])
LINES = st.lists(st.lists(WORDS, max_size=12), max_size=4)


def occurs(phrase: list[bytes], lines: list[list[bytes]]) -> bool:
    """Look for a phrase word by word."""
    return any(
        line[begin : begin + len(phrase)] == phrase
        for line in lines
        for begin in range(len(line) - len(phrase) + 1)
    )


@given(lines=LINES, phrase=st.lists(WORDS, min_size=1, max_size=10))
def test_a_phrase_occurs_or_not(lines: list[list[bytes]], phrase: list[bytes]) -> None:
    """The filter agrees with a search word by word, for short phrases and for long ones."""
    phrases = PhraseFilter([b" ".join(line) for line in lines])
    assert phrases.occurs(b" ".join(phrase)) == occurs(phrase, lines)
    assert phrases.occurs(b" " + b"\t".join(phrase) + b"  ") == occurs(phrase, lines)


def test_kept_lines_stay_byte_for_byte(tmp_path: Path) -> None:
    """Every column, odd spacing and order stay; a last line gets its line feed."""
    kept = [
        b"b ||| x ||| 0.5 0.25 ||| 0-0 ||| 1 1 1 ||| dom 1 ||| {{P v}}\n",
        b"a b|||y|||0.1 0.2\r\n",
        b"b ||| z ||| 1 1",
    ]
    table = tmp_path / "table"
    table.write_bytes(kept[0] + b"c ||| x ||| 1 1\n" + kept[1] + b"b a ||| x ||| 1 1\n" + kept[2])
    assert filter_table(table, tmp_path / "out.gz", PhraseFilter([b"a b"])) == LineCounts(5, 3)
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b"".join(kept) + b"\n"


def write_system(folder: Path) -> MosesIni:
    """Write a system with two tables that can be filtered and one that must not be."""
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
    """Paths of filtered tables change and nothing else does; a second call reads the first's."""
    ini = write_system(tmp_path)
    assert [line.name for line in ini.features if is_filterable(line)] == ["TM", "LR"]
    filtered, tables = filter_system(ini, [b"a"], tmp_path / "out")
    assert [(table.name, table.lines, table.kept) for table in tables] == [
        ("TM", 2, 1),
        ("LR", 2, 1),
    ]
    for name, path in (("TM", "pt"), ("LR", "ro")):
        ini = ini.with_feature_option(name, "path", str(tmp_path / "out" / f"{name}.gz"))
        (tmp_path / path).unlink()
    assert filtered.to_bytes() == ini.to_bytes()
    again, none = filter_system(ini, [b"a"], tmp_path / "out")
    assert (again.to_bytes(), none) == (ini.to_bytes(), [])


def test_a_killed_filter_is_gone_on_with(tmp_path: Path) -> None:
    """A table that is filtered stays so for the same system and text, and for no other."""
    ini, part = interrupted(tmp_path)
    assert sorted(path.name for path in part.iterdir()) == [
        *("LR.gz", "TM.gz", "result.json", "steps"),
    ]
    before = (part / "TM.gz").stat().st_ino
    # a writer that was killed leaves its part
    (part / ".result.json.01234567.part").write_bytes(b"half")
    if_other = shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-other"))
    filter_system(ini, [b"a"], tmp_path / "out")
    assert (tmp_path / "out/TM.gz").stat().st_ino == before
    filter_system(ini, [b"q"], if_other / "out")
    assert gzip.decompress((if_other / "out/TM.gz").read_bytes()) == b"q ||| x ||| 1\n"
    for folder in (tmp_path, if_other):
        assert sorted(path.name for path in (folder / "out").iterdir()) == [
            *("LR.gz", "TM.gz", "moses.ini", "result.json"),
        ]
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def interrupted(folder: Path) -> tuple[MosesIni, Path]:
    """A filter that was killed with both tables done; return the system, and the work."""
    ini = write_system(folder)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(filtering, "write_atomically", _killed)
        filter_system(ini, [b"a"], folder / "out")
    return ini, folder / ".out.part"


def _killed(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_what_a_user_put_into_the_work_is_neither_deleted_nor_taken_along(tmp_path: Path) -> None:
    ini, part = interrupted(tmp_path)
    (part / "thesis").write_bytes(b"mine")
    (tmp_path / "ro").write_bytes(b"damaged")
    with pytest.raises(ResumeError, match="something else in it"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert (part / "thesis").read_bytes() == b"mine"
    assert not (tmp_path / "out").exists()


def test_a_table_that_is_gone_is_filtered_again(tmp_path: Path) -> None:
    """And the others are not."""
    ini, part = interrupted(tmp_path)
    (part / "TM.gz").unlink()
    kept = (part / "LR.gz").stat().st_ino
    _, tables = filter_system(ini, [b"a"], tmp_path / "out")
    assert [(each.lines, each.kept) for each in tables] == [(2, 1), (2, 1)]
    assert gzip.decompress((tmp_path / "out/TM.gz").read_bytes()) == b"a ||| x ||| 1\n"
    assert (tmp_path / "out/LR.gz").stat().st_ino == kept


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_others_left_in_its_place_stays(tmp_path: Path, kind: str) -> None:
    """A folder of somebody else is neither deleted nor written to."""
    ini = write_system(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis").write_bytes(b"")
    part = tmp_path / ".out.part"
    if kind == "link":
        part.symlink_to("mine")
    elif kind == "file":
        part.write_bytes(b"mine")
    else:
        shutil.copytree(tmp_path / "mine", part)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ResumeError, match="something else in it"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_table_leaves_nothing(tmp_path: Path) -> None:
    """The tables before it would be filtered again anyway, with the mended one."""
    ini = write_system(tmp_path)
    (tmp_path / "ro").write_bytes(gzip.compress(b"a ||| x ||| 1\n")[:-9])
    with pytest.raises(InputError, match="ro: the gzip data end in the middle"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


@pytest.mark.parametrize("name", ["pt", "ro"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ":1: the file is empty"),
        (b"\n", ":1: no .* in the first line"),
        (b"a ||| b ||| 1\rc ||| d ||| 1\r", ":1: a carriage return within the first line"),
        ("a ||| b ||| 1\n".encode("utf-16"), ": binary data, .* perhaps it is in UTF-16"),
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


def test_a_missing_table_leaves_nothing(tmp_path: Path) -> None:
    """The error names the table, and the folder does not get its name."""
    ini = write_system(tmp_path)
    (tmp_path / "ro").unlink()
    with pytest.raises(InputError, match="ro: no such file"):
        filter_system(ini, [b"a"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../{}", "{folder}/out/{}", "..", "a\\b", "a\x01b", "n" * 253])
def test_names_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """A table is called after its feature, so what a feature is called must be a name."""
    called = name.format("stolen", folder=tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "table").write_bytes(b"a ||| x ||| 1\n")
    line = f"PhraseDictionaryMemory name={called} num-features=1 path={tmp_path}/table"
    ini = MosesIni.parse(f"[feature]\nWordPenalty\n{line}\n".encode())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"moses.ini:3: the name of a feature, .* cannot be that"):
        filter_system(ini, [b"a"], tmp_path / "folder")
    assert sorted(tmp_path.rglob("*")) == before
