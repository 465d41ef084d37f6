"""Finding the files of an ini."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.model_files import find_binary_file, find_model_file
from phrasescore.errors import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory with an ini and its models."""
    (tmp_path / "system").mkdir()
    for name in ("pt", "lm.arpa.gz", "system/both", "system/both.gz", "cpt.minphr"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_that_is_there_is_taken_as_named(folder: Path) -> None:
    """An existing file is used even if a .gz file also exists; relative paths stay relative."""
    assert find_model_file("pt") == Path("pt")
    assert find_model_file("system/both") == Path("system/both")
    assert find_model_file(f"{folder}/pt") == folder / "pt"


def test_a_missing_file_falls_back_to_gz() -> None:
    """Like Moses for reordering tables, a missing file falls back to .gz."""
    assert find_model_file("lm.arpa") == Path("lm.arpa.gz")


@pytest.mark.parametrize("name", ["none", "both"])
def test_a_file_that_is_nowhere_is_named(name: str, folder: Path) -> None:
    """The error names the searched folder: the current one, as in Moses, not the ini's."""
    with pytest.raises(InputError) as caught:
        find_model_file(name)
    assert str(caught.value).startswith(f"{name}: no such file, with or without .gz.")
    assert f"which is {folder}." in str(caught.value)


def test_binary_forms_have_endings_of_their_class() -> None:
    """The ini names a compact table without its ending."""
    assert find_binary_file("cpt", "PhraseDictionaryCompact") == Path("cpt.minphr")
    assert find_model_file("cpt", "PhraseDictionaryCompact") == Path("cpt.minphr")
    assert find_binary_file("cpt", "LexicalReordering") is None
    assert find_binary_file("cpt", "KENLM") is None
