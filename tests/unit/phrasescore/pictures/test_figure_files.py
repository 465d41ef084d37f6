"""Picture files: formats, reproducible bytes, and errors."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import pytest

from phrasescore.errors import MissingDependencyError
from phrasescore.pictures.figure_files import check_drawing, plain_label, saved_figure

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_formats(tmp_path: Path, kind: str) -> None:
    """The name's ending decides the format, ignoring case; bytes depend only on the content."""
    written = []
    for name in (f"one.{kind}", f"two.{kind.upper()}"):
        with saved_figure(tmp_path / name) as figure:
            axes = figure.add_subplot()
            axes.plot([1, 2], [3, 4], label=plain_label("_$a_b$"))
            axes.legend()
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(BEGINNINGS[kind])
    assert len(list(tmp_path.iterdir())) == 2
    if kind == "svg":
        assert b"_$a_b$" in written[0]


def test_labels(tmp_path: Path) -> None:
    """Special characters of matplotlib are printed as letters; invalid bytes are escaped."""
    name = b"caf\xe9.fr".decode("utf-8", "surrogateescape")
    with saved_figure(tmp_path / "a.svg") as figure:
        figure.suptitle(plain_label(name))
    assert b".fr</text>" in (tmp_path / "a.svg").read_bytes()
    assert plain_label("_a$") == r" _a\$"


def test_nothing_is_written_after_an_error(tmp_path: Path) -> None:
    """After an error there is no file, and matplotlib's settings are restored."""
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), saved_figure(tmp_path / "a.png"):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())
    assert dict(matplotlib.rcParams) == before


def test_settings_of_a_user_change_nothing(tmp_path: Path) -> None:
    """A matplotlibrc does not change the picture."""
    for name, size in (("a.svg", 10), ("b.svg", 25)):
        with (
            matplotlib.rc_context({"font.size": size, "svg.fonttype": "path"}),
            saved_figure(tmp_path / name) as figure,
        ):
            figure.suptitle("text")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib, the error names the extra to install."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'phrasescore\[report\]'"):
        check_drawing()
