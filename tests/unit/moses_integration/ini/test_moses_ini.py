"""moses.ini: reading by Moses's rules, editing without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.problems import section_problems
from phrasescore.errors import IniError, InputError

SMALL = b"""\
# made by hand
[feature]
UnknownWordPenalty
WordPenalty   # one a word
PhraseDictionaryMemory name=TranslationModel0 num-features=2 path=pt.gz
KENLM  name=LM0 path=lm.arpa order=3

[distortion-limit]
6
[weight]
WordPenalty0= -1
TranslationModel0= 0.20  0.3\t# two
LM0= 0.5
"""


def test_features_have_kind_name_options_and_line() -> None:
    """A feature is named by name=, or else by its class and a running index."""
    ini = MosesIni.parse(b"[feature]\nA x=1\nB name=B7\nA\nB\nA name=\n")
    found = [(f.kind, f.name, f.line) for f in ini.features]
    assert found == [("A", "A0", 2), ("B", "B7", 3), ("A", "A1", 4), ("B", "B0", 5), ("A", "A2", 6)]
    assert ini.features[0].options == {"x": "1"}


def test_values_keep_their_order_over_reopened_sections() -> None:
    """A repeated section continues the first; values exclude comments and outer blanks."""
    ini = MosesIni.parse(b"[mapping]\n0 T 0\n[x]\n1\n [mapping] ignored\n\t0 T 1 # second\r\n")
    assert ini.values("mapping") == ("0 T 0", "0 T 1")
    assert ini.values("nothing") == ()
    assert list(ini.sections) == ["mapping", "x"]


def test_an_equals_sign_in_a_value_belongs_to_it() -> None:
    """Only the first = of an argument separates the key."""
    (feature,) = MosesIni.parse(b"[feature]\nA path=/x=y/z\n").features
    assert feature.options == {"path": "/x=y/z"}


def test_the_last_weights_of_a_name_win_and_weight_overrules_weight_add() -> None:
    """Moses keeps the last entry of each name, and reads [weight] after [weight-add]."""
    ini = MosesIni.parse(
        b"[weight]\nA0= 1\nB0= 1 2\nA0= .5\n[weight-add]\nA0= 9\nC0= 1e-3\n[weight]\nB0= 3 -4.\n"
    )
    assert ini.weights == {"A0": (0.5,), "B0": (3.0, -4.0), "C0": (0.001,)}
    assert ini.weight_line("A0") == 4
    assert ini.weight_line("Z0") is None


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"6\n[distortion-limit]\n", 1, "before the first [section]"),
        (b"\xef\xbb\xbf[feature]\n", 1, "byte order mark"),
        (b"[feature]\nA\n[weight\nA0= 1\n", 3, "no closing bracket"),
        (b"[feature]\nA path = x\n", 2, "'path', expected key=value"),
        (b"[feature]\nA x=1 y=2 x=3\n", 2, "the key x twice"),
        (b"[feature]\nA name=T|||M\n", 2, "has |||, which ends a column of an n-best list"),
        (b"[feature]\nA name=T\n\nB name=T\n", 2, "two features have the name T"),
        (b"[weight]\nA0=0.3\n", 2, "not of the form 'Name= 0.3'"),
        (b"[weight]\nA0=0.3 0.2\n", 2, "not of the form 'Name= 0.3'"),
        (b"[weight]\nA0 = 0.3\n", 2, "not of the form 'Name= 0.3'"),
        (b"[weight]\n= 0.3\n", 2, "not of the form 'Name= 0.3'"),
        (b"[weight]\n\nA0= # 0.3\n", 3, "the weight line of A0 has no weight"),
        (b"[weight]\nA0= 0.3 0,2\n", 2, "a weight of A0 is '0,2'"),
        (b"[weight]\nA0= nan\n", 2, "a weight of A0 is 'nan'"),
        (b"[weight]\nA0= 1e999\n", 2, "a weight of A0 is '1e999'"),
        (b"[weight-l]\n0.5\n[feature]\nA\n", 2, "old-style sections ([weight-l]) in a file"),
        (b"[feature]\n\0\n", None, "binary data"),
    ],
)
def test_failures_name_the_line_and_the_remedy(data: bytes, line: int | None, problem: str) -> None:
    """Text that Moses refuses or silently misreads is refused with its place."""
    with pytest.raises(IniError) as caught:
        MosesIni.parse(data, "my.ini")
    assert problem in str(caught.value)
    assert (caught.value.path, caught.value.line) == ("my.ini", line)


def test_old_style_is_recognised_and_refused_on_request() -> None:
    """An old-style file can be read, has no features, and gets a hint how to convert it."""
    ini = MosesIni.parse(b"[ttable-file]\n0 0 0 5 pt.gz\n[weight-t]\n0.2\n", "old.ini")
    assert ini.features == ()
    with pytest.raises(IniError, match=r"old.ini:2: an old-style .*convert-moses-ini-to-v2.perl"):
        ini.refuse_old_style()


def test_weights_change_in_place() -> None:
    """Unchanged numbers keep their spelling; comments, blanks and other lines are unchanged."""
    edited = MosesIni.parse(SMALL).with_weights({"TranslationModel0": [0.2, 1.0], "LM0": [1e-5]})
    expected = SMALL.replace(b"0.20  0.3\t# two", b"0.20  1\t# two").replace(b"0.5", b"1e-05")
    assert edited.to_bytes() == expected
    assert edited.weights["TranslationModel0"] == (0.2, 1.0)


@pytest.mark.parametrize(
    ("weights", "line"),
    [
        ([0.2, 0.3, 0.4], b"TranslationModel0= 0.20  0.3 0.4\t# two"),
        ([0.2], b"TranslationModel0= 0.20\t# two"),
        ([7.0], b"TranslationModel0= 7\t# two"),
    ],
)
def test_more_or_fewer_weights_keep_the_line(weights: list[float], line: bytes) -> None:
    """New weights follow the last; removed weights take the preceding blanks with them."""
    edited = MosesIni.parse(SMALL).with_weights({"TranslationModel0": weights})
    assert edited.to_bytes() == SMALL.replace(b"TranslationModel0= 0.20  0.3\t# two", line)


def test_only_the_deciding_line_of_a_name_changes() -> None:
    """If a name has two weight lines, only the last, which counts, is edited."""
    edited = MosesIni.parse(b"[weight]\nA0= 1\nA0= 2\n").with_weights({"A0": [3]})
    assert edited.to_bytes() == b"[weight]\nA0= 1\nA0= 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"[weight]\nA0= 1\n\n[x]\n1\n", b"[weight]\nA0= 1\nB0= 0.5 1\n\n[x]\n1\n"),
        (b"[weight]\r\nA0= 1\r\n", b"[weight]\r\nA0= 1\r\nB0= 0.5 1\r\n"),
        (b"[x]\n1\n", b"[x]\n1\n\n[weight]\nB0= 0.5 1\n"),
        (b"[x]\n1", b"[x]\n1\n\n[weight]\nB0= 0.5 1\n"),
    ],
)
def test_a_name_without_weights_gets_a_line(before: bytes, after: bytes) -> None:
    """The line is added after the last weight line, or in a new section at the end."""
    assert MosesIni.parse(before).with_weights({"B0": [0.5, 1]}).to_bytes() == after


def test_options_are_set_in_place_or_appended() -> None:
    """The rest of the line, including comments, is unchanged."""
    ini = MosesIni.parse(SMALL)
    edited = ini.with_feature_option("LM0", "path", "new.arpa").with_feature_option(
        "WordPenalty0", "tuneable", "false"
    )
    expected = SMALL.replace(b"path=lm.arpa", b"path=new.arpa").replace(
        b"WordPenalty   # one", b"WordPenalty tuneable=false   # one"
    )
    assert edited.to_bytes() == expected


@pytest.mark.parametrize("value", ["a b", "a#b", "", "a\tb", "a\nb"])
def test_values_that_moses_could_not_read_back_are_refused(value: str) -> None:
    """Paths with blanks or #, which would be cut off, are refused with the line."""
    with pytest.raises(IniError, match=r"moses.ini:6: .*Rename the file"):
        MosesIni.parse(SMALL).with_feature_option("LM0", "path", value)
    ini = MosesIni.parse(b"[weight-file]\nw.txt # all\n")
    with pytest.raises(IniError, match="cannot be written into"):
        ini.with_value("weight-file", 0, value)


def assert_round_trip(folder: Path) -> None:
    files = list(folder.glob("*.ini"))
    assert len(files) == 2
    for file in files:
        ini = MosesIni.read(file)
        assert ini.to_bytes() == file.read_bytes()
        assert ini.with_weights(ini.weights).to_bytes() == file.read_bytes()
        assert len(ini.features) == len(ini.weights) == 7
        assert not list(section_problems(ini))


def test_real_files_round_trip(golden: Path) -> None:
    """Parsing and writing, and setting every weight to its own value, keep all bytes."""
    assert_round_trip(golden / "system")


def test_tuned_files_round_trip(multi30k: Path) -> None:
    """The inis of a real system, before and after tuning, keep all bytes."""
    assert_round_trip(multi30k)


# --- properties -----------------------------------------------------------------------------

_blanks = st.text(" \t", max_size=2)
_gap = st.text(" \t", min_size=1, max_size=2)
# any character except a line feed; surrogates represent bytes that are not UTF-8
_comment = st.one_of(
    st.just(""),
    st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])).map("#{}".format),
    st.just("# \udcff\udc80"),
)
_word = st.text("abcXYZ019-/.:é\u2028\xa0\x85", min_size=1, max_size=8)
_name = st.text("ABCab01", min_size=1, max_size=5)
_number = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def _lines(draw: st.DrawFn, values: st.SearchStrategy[str]) -> list[str]:
    """Draw value lines with outer blanks, comments, and blank lines in between."""
    texts = draw(st.lists(st.one_of(st.just(""), values), max_size=5))
    ends = ("", "\r")
    return [
        draw(_blanks) + text + draw(_blanks) + draw(_comment) + draw(st.sampled_from(ends))
        for text in texts
    ]


@st.composite
def _features(draw: st.DrawFn) -> str:
    keys = draw(st.lists(_name, max_size=3, unique=True))
    return draw(_name) + "".join(f"{draw(_gap)}{key}={draw(_word)}" for key in keys)


@st.composite
def _weights(draw: st.DrawFn) -> str:
    numbers = draw(st.lists(_number, min_size=1, max_size=4))
    return draw(_name) + "=" + "".join(f"{draw(_gap)}{number!r}" for number in numbers)


@st.composite
def ini_files(draw: st.DrawFn) -> bytes:
    """Draw valid new-style files with all irregularities that the format allows."""
    kinds = {"feature": _features(), "weight": _weights(), "other": _word, "x y": _word}
    parts = draw(_lines(st.just("")))
    for section in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=5)):
        parts.append(f"{draw(_blanks)}[{section}]{draw(_comment)}")
        parts += draw(_lines(kinds[section]))
    ending = "\n" if draw(st.booleans()) else ""
    return ("\n".join(parts) + ending).encode("utf-8", "surrogateescape")


@given(ini_files())
def test_every_file_comes_back_byte_for_byte(data: bytes) -> None:
    """Reading and writing lose nothing."""
    assert MosesIni.parse(data).to_bytes() == data


@given(ini_files(), st.data())
def test_an_edit_and_its_inverse_give_the_same_meaning(data: bytes, draw: st.DataObject) -> None:
    """New weights are read back exactly, only they change, and old weights can be restored."""
    ini = MosesIni.parse(data)
    if not ini.weights:
        return
    name = draw.draw(st.sampled_from(sorted(ini.weights)))
    new = tuple(draw.draw(st.lists(_number, min_size=1, max_size=5)))
    edited = ini.with_weights({name: new})
    assert edited.weights == {**ini.weights, name: new}
    assert edited.features == ini.features
    touched = {index for index, line in enumerate(ini.lines) if line != edited.lines[index]}
    deciding = ini.weight_line(name)
    assert deciding is not None
    assert touched <= {deciding - 1}
    back = edited.with_weights({name: ini.weights[name]})
    assert back.weights == ini.weights
    assert len(back.lines) == len(ini.lines)


@given(ini_files(), _word)
def test_an_option_is_read_back_as_it_was_set(data: bytes, value: str) -> None:
    """Setting an option changes only this option of this feature."""
    ini = MosesIni.parse(data)
    if not ini.features:
        return
    target = ini.features[0]
    edited = ini.with_feature_option(target.name, "path", value)
    assert edited.feature(target.name).options == {**target.options, "path": value}
    assert edited.features[1:] == ini.features[1:]
    others = [line for index, line in enumerate(ini.lines) if index != target.line - 1]
    assert others == [line for index, line in enumerate(edited.lines) if index != target.line - 1]


def test_kenlm_reads_some_options_again() -> None:
    """As in Moses, the last of several values counts; an edit replaces all of them."""
    ini = MosesIni.parse(b"[feature]\nKENLM name=L path=a factor=1 path=b factor=0\n")
    assert dict(ini.feature("L").options) == {"name": "L", "path": "b", "factor": "0"}
    edited = ini.with_feature_option("L", "path", "c").to_bytes()
    assert edited == b"[feature]\nKENLM name=L path=c factor=1 path=c factor=0\n"


def test_a_folder_that_contains_the_system(tmp_path: Path) -> None:
    """The folder of `improve` has its system in a folder, which the message names."""
    (tmp_path / "system").mkdir()
    with pytest.raises(InputError, match="a folder without a"):
        MosesIni.read(tmp_path)
    (tmp_path / "system" / "moses.ini").touch()
    with pytest.raises(InputError, match="ame the system in it"):
        MosesIni.read(tmp_path)
