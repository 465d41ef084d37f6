"""Settings of a moses.ini that are neither features nor weights."""

from __future__ import annotations

import pytest

from moses_integration.ini.edits import with_sections
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import SettingsError


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"[stack]\n100 # wide\n", b"[stack]\n50 # wide\n"),
        (b"[mapping]\n0 T 0\n", b"[mapping]\n0 T 0\n\n[stack]\n50\n"),
        (b"[mapping]\n0 T 0", b"[mapping]\n0 T 0\n\n[stack]\n50\n"),
        (b"[stack]\n", b"[stack]\n\n[stack]\n50\n"),
    ],
)
def test_a_setting_is_changed_or_added(before: bytes, after: bytes) -> None:
    """An existing value is replaced, a new one is added at the end; the rest is unchanged."""
    ini = with_sections(MosesIni.parse(before), [("stack", "50")])
    assert ini.to_bytes() == after
    assert ini.values("stack") == ("50",)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("cube-pruning-pop-limits", "5", "did you mean cube-pruning-pop-limit?"),
        ("weight", "LM0= 1", r"\[weight\] cannot be set"),
        ("mapping", "0 T 1", r"\[mapping\] cannot be set"),
        ("stack", "", "cannot be set to ''"),
        ("stack", "5\n[weight]", "cannot be set"),
    ],
)
def test_what_is_no_plain_setting_is_refused(name: str, value: str, sentence: str) -> None:
    """Unknown sections, model sections, and values that would start a section are refused."""
    with pytest.raises(SettingsError, match=sentence):
        with_sections(MosesIni.parse(b"[stack]\n100\n"), [(name, value)])
