"""The weights of a table are found by name, by path, or because there is only one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.feature_weights import find_phrase_table, table_weights
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError, SettingsError

ONE = b"""\
[feature]
PhraseDictionaryCompact name=T num-features=2 path=pt.minphr
WordPenalty
[weight]
T= 0.3 -0.1
"""
TWO = b"""\
[feature]
PhraseDictionaryMemory name=A num-features=2 path=a
PhraseDictionaryMemory name=B num-features=3 path=b
WordPenalty
[weight]
A= 1 2
"""


def weights_for(ini: MosesIni, table: str | Path, name: str | None = None) -> tuple[str, object]:
    """Return the name of the selected phrase table, and its weights."""
    ini.refuse_rewriting()
    line = find_phrase_table(ini, name, table)
    return line.name, table_weights(ini, line, given=True)


def test_the_only_table() -> None:
    """The path of the only table need not match, because it may be binary or elsewhere."""
    assert weights_for(MosesIni.parse(ONE), "anything.gz") == ("T", (0.3, -0.1))


def test_the_table_of_this_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several tables, the table with this file is used, with or without .gz."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b.gz").write_bytes(b"")
    ini = MosesIni.parse(TWO)
    assert weights_for(ini, tmp_path / "a") == ("A", (1.0, 2.0))
    with pytest.raises(IniError, match=r"moses\.ini:3: no weight for B, which has 3 components"):
        weights_for(ini, "b.gz")
    with pytest.raises(IniError, match="2 phrase tables: A, B"):
        weights_for(ini, "c")


def test_the_table_of_this_name() -> None:
    """A name selects the table; the name of another feature is refused."""
    ini = MosesIni.parse(TWO)
    assert weights_for(ini, "c", "A") == ("A", (1.0, 2.0))
    with pytest.raises(SettingsError, match="WordPenalty0 is a WordPenalty, not a phrase table"):
        weights_for(ini, "c", "WordPenalty0")
    with pytest.raises(IniError, match="there is no feature C"):
        weights_for(ini, "c", "C")
