"""Changing an ini to use a table with more scores, without guessing."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.edits import find_table_feature, with_table
from moses_integration.ini.model_files import named_paths, with_absolute_paths
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError, SettingsError

INI = b"""\
[feature]
PhraseDictionaryMemory name=TranslationModel0 num-features=2 path=pt.gz # the table
WordPenalty
[weight]
TranslationModel0= 0.3 0.30
WordPenalty0= -1
"""
TWO_TABLES = b"""\
[feature]
PhraseDictionaryMemory name=A num-features=2 path=a
PhraseDictionaryMemory name=B num-features=1 path=b
Distortion
[weight]
A= 1 2
B= 3
"""


def change(data: bytes, scores: int, feature: str | None = None) -> tuple[MosesIni, str]:
    """Replace the phrase table by new.gz."""
    ini = MosesIni.parse(data)
    return with_table(ini, find_table_feature(ini, feature), "new.gz", scores)


def test_frozen_components_stay_and_new_ones_are_tuned() -> None:
    """tuneable-components is extended with 1."""
    data = INI.replace(b"num-features=2", b"num-features=2 tuneable-components=1,0")
    assert b"tuneable-components=1,0,1,1 path" in change(data, 4)[0].to_bytes()


def test_weights_that_were_not_given_are_written_out() -> None:
    """Missing weights, which are 1 in Moses, are written out, so that they do not change."""
    data = INI.replace(b"TranslationModel0= 0.3 0.30\n", b"")
    assert change(data, 3)[0].to_bytes().endswith(b"TranslationModel0= 1 1 0.2\n")


def test_one_of_several_tables_is_named() -> None:
    """If there are several tables, one is named, and the others are unchanged."""
    ini, _ = change(TWO_TABLES, 2, "B")
    assert ini.to_bytes() == TWO_TABLES.replace(
        b"num-features=1 path=b", b"num-features=2 path=new.gz"
    ).replace(b"B= 3", b"B= 3 0")


@pytest.mark.parametrize(
    ("data", "feature", "problem"),
    [
        (b"[ttable-file]\n0 0 0 5 pt\n", None, "old-style moses.ini.*convert-moses-ini-to-v2.perl"),
        (b"[feature]\nDistortion\n", None, "no phrase table among the features"),
        (TWO_TABLES, None, "moses.ini:3: the ini has 2 phrase tables: A, B. Choose one"),
        (TWO_TABLES, "C", "there is no feature C. Name one of: A, B, Distortion0"),
        (TWO_TABLES, "Distortion0", "Distortion0 is a Distortion, not a.*Name one of: A, B"),
        (INI.replace(b"Memory", b"Compact"), None, "Compact, which does not.*Min -nscores N"),
        (INI.replace(b"PhraseDictionaryMemory", b"Mmsapt"), None, "is a Mmsapt.*Point the feature"),
        (INI.replace(b"num-features=2", b"num-features=4"), None, "moses.ini:5: 2 weights for Tr"),
        (INI.replace(b"=2", b"=two"), None, "moses.ini:2: num-features is 'two'"),
        (INI + b"[weight-overwrite]\nA= 1\n", None, r"a \[weight-overwrite\] section.*Move its"),
        (INI + b"[alternate-weight-setting]\nid=1\n", None, "alternate-weight-setting.*by hand"),
    ],
)
def test_what_is_ambiguous_is_refused(data: bytes, feature: str | None, problem: str) -> None:
    """Ambiguous inis are refused with a remedy."""
    with pytest.raises((IniError, SettingsError), match=problem):
        find_table_feature(MosesIni.parse(data), feature)


def test_a_table_with_fewer_scores_is_refused() -> None:
    """A table with fewer scores cannot be the rescored table, and is refused."""
    with pytest.raises(IniError, match=r"moses.ini:2: .* has 2 scores, but new.gz has only 1"):
        change(INI, 1)


def test_all_paths_can_be_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of all features and of [weight-file] become absolute; comments are unchanged."""
    monkeypatch.chdir(tmp_path)
    data = (
        b"[feature]\nKENLM path=a/../lm factor=0\nX target-path=/t base=b # path=c\n"
        b"[weight-file]\n sparse # yes\n"
    )
    here = str(tmp_path).encode()
    assert with_absolute_paths(MosesIni.parse(data)).to_bytes() == (
        b"[feature]\nKENLM path=%b/lm factor=0\nX target-path=/t base=%b/b # path=c\n"
        b"[weight-file]\n %b/sparse # yes\n" % (here, here, here)
    )


def test_options_that_name_files() -> None:
    """Options with files are recognised by the names that Moses's features use."""
    ini = MosesIni.parse(
        b"[feature]\nA path=a source-path=b vocab-file=c name=d factor=0 base= file=e\n"
    )
    keys = [key for _, key, _ in named_paths(ini)]
    assert keys == ["path", "source-path", "vocab-file", "file"]
