"""The weights of a table are found by name, or because there is only one table."""

from __future__ import annotations

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


def weights_for(ini: MosesIni, name: str | None = None) -> tuple[str, object]:
    """Return the name of the selected phrase table, and its weights."""
    ini.refuse_rewriting()
    line = find_phrase_table(ini, name)
    return line.name, table_weights(ini, line, given=True)


def test_the_only_table() -> None:
    """The path of the only table need not match, because it may be binary or elsewhere."""
    assert weights_for(MosesIni.parse(ONE)) == ("T", (0.3, -0.1))


def test_several_tables() -> None:
    """The error lists them; a name decides, and its weights must be there."""
    ini = MosesIni.parse(TWO)
    with pytest.raises(IniError, match="2 phrase tables: A, B"):
        weights_for(ini)
    with pytest.raises(IniError, match=r"moses\.ini:3: no weight for B, which has 3 components"):
        weights_for(ini, "B")


def test_the_table_of_this_name() -> None:
    """A name selects the table; the name of another feature is refused."""
    ini = MosesIni.parse(TWO)
    assert weights_for(ini, "A") == ("A", (1.0, 2.0))
    with pytest.raises(SettingsError, match="WordPenalty0 is a WordPenalty, not a phrase table"):
        weights_for(ini, "WordPenalty0")
    with pytest.raises(IniError, match="there is no feature C"):
        weights_for(ini, "C")
