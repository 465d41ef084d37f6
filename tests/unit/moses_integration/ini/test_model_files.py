"""Where the files of an ini are."""

from __future__ import annotations

from pathlib import Path

import pytest

from moses_integration.ini.model_files import find_binary_file, find_model_file
from phrasescore.errors import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: an ini in it, and its models."""
    (tmp_path / "system").mkdir()
    for name in ("pt", "lm.arpa.gz", "system/both", "system/both.gz", "cpt.minphr"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_that_is_there_is_taken_as_named(folder: Path) -> None:
    """Also when a zipped one lies beside it; relative paths stay relative."""
    assert find_model_file("pt") == Path("pt")
    assert find_model_file("system/both") == Path("system/both")
    assert find_model_file(f"{folder}/pt") == folder / "pt"


def test_a_missing_file_falls_back_to_gz() -> None:
    """Moses does that for reordering tables."""
    assert find_model_file("lm.arpa") == Path("lm.arpa.gz")


@pytest.mark.parametrize("name", ["none", "both"])
def test_a_file_that_is_nowhere_is_named(name: str, folder: Path) -> None:
    """The error says which folder was looked in: as in Moses, the current one, not the ini's."""
    with pytest.raises(InputError) as caught:
        find_model_file(name)
    assert str(caught.value).startswith(f"{name}: no such file, with or without .gz.")
    assert f"which is {folder}." in str(caught.value)


def test_binary_forms_have_endings_of_their_class() -> None:
    """A compact table is named without its ending."""
    assert find_binary_file("cpt", "PhraseDictionaryCompact") == Path("cpt.minphr")
    assert find_model_file("cpt", "PhraseDictionaryCompact") == Path("cpt.minphr")
    assert find_binary_file("cpt", "LexicalReordering") is None
    assert find_binary_file("cpt", "KENLM") is None


@pytest.mark.parametrize("name", ["n" * 253, "n" * 300, "n/" * 3000, "loop"])
def test_names_that_no_file_can_have(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too long, or leads in a circle, is not there."""
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"no such file, with or without \.gz"):
        find_model_file(name)
    assert find_binary_file(name, "PhraseDictionaryCompact") is None
