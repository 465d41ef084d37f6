"""Figures that are saved: the format by the file's name, the same bytes for the same content.

matplotlib is loaded when a figure is made, not before. It draws without a screen, and never by way
of pyplot, which would keep figures and choose a window system. It reads no matplotlibrc but the one
beside this file, which sets nothing.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phrasescore.errors import MissingDependencyError, SettingsError, visible
from phrasescore.pictures.svg_elements import in_page
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.system_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's palette, which colour-blind people can tell apart
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DOTS_PER_INCH = 150
_POINTS_IN_PAGE = 9.0  # of a figure 8 inches wide, which a page shows half as large again
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# what would change from one day or run to the next
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# ids by their content, and letters as letters: both can be searched and edited then
_SETTINGS = {"svg.hashsalt": "phrasescore", "svg.fonttype": "none", "pdf.fonttype": 42}


def figure_format(path: str | Path) -> str:
    """Return which of ``FORMATS`` the name of a picture asks for.

    Raises:
        SettingsError: None of them.

    >>> figure_format("lengths.SVG")
    'svg'
    """
    ending = Path(path).suffix[1:].lower()
    if ending not in FORMATS:
        raise SettingsError(
            "a picture's format goes by its name, and this names none",
            path=STANDARD_OUTPUT if str(path) == STANDARD_STREAM else path,
            remedy="end the name in .png, .svg or .pdf",
        )
    return ending


def check_figure(path: str | Path) -> None:
    """Find out before the work begins whether a picture could be drawn at its end.

    Raises:
        SettingsError: The name has no format, or its folder does not exist.
        MissingDependencyError: matplotlib is not installed.
    """
    figure_format(path)
    if not Path(path).absolute().parent.is_dir():
        raise SettingsError(
            "there is no such folder to write the picture to",
            path=Path(path).parent,
            remedy="make it, or name another picture",
        )
    check_drawing()


def check_drawing() -> None:
    """Find out whether there is anything to draw with.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    _figure_class()


def _figure_class() -> type[Figure]:
    try:
        with _beside_our_matplotlibrc():
            from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError.extra("matplotlib", "report") from None
    return Figure


@contextlib.contextmanager
def _beside_our_matplotlibrc() -> Iterator[None]:
    """Leave the current folder while matplotlib is loaded, which would read its settings there.

    The folder may be a stranger's, and the file unreadable or without end.
    """
    if "matplotlib" in sys.modules:
        yield
        return
    # without a handler Python would print notes about fonts and caches
    logging.getLogger("matplotlib").addHandler(logging.NullHandler())
    if cache := os.environ.get("MPLCONFIGDIR"):
        os.environ["MPLCONFIGDIR"] = os.path.abspath(cache)  # noqa: PTH100 - links stay
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(Path(__file__).parent)
        yield
    finally:
        os.fchdir(here)
        os.close(here)


@contextlib.contextmanager
def saved_figure(path: str | Path, width: float = 6.4, height: float = 4.0) -> Iterator[Figure]:
    """Give an empty figure to draw on, and write it at the end of the block if all went well.

    Args:
        path: Where to, in the format of the name; the file appears when it is whole.
        width: In inches.
        height: In inches.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    kind = figure_format(path)
    data = io.BytesIO()
    with _drawing(width, height) as figure:
        yield figure
        figure.savefig(data, format=kind, metadata=_METADATA[kind])
    write_atomically(path, data.getvalue())


def svg_text(
    draw: Callable[[Figure], None], width: float, height: float, *, salt: str = "figure"
) -> str:
    """Return a figure as SVG for a page: an element on nothing, whose size the page decides.

    Args:
        draw: Draws on the empty figure it is given.
        width: In inches.
        height: In inches.
        salt: A word of letters and digits that no other figure of the page has: its ids begin so.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    data = io.BytesIO()
    with (
        _drawing(width, height, {"font.size": _POINTS_IN_PAGE}) as figure,
        warnings.catch_warnings(),
    ):
        # the reader's browser has letters that the font here lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        draw(figure)
        figure.savefig(data, format="svg", metadata=_METADATA["svg"], transparent=True)
    return in_page(data.getvalue(), salt)


@contextlib.contextmanager
def _drawing(
    width: float, height: float, settings: Mapping[str, Any] | None = None
) -> Iterator[Figure]:
    """Give an empty figure, and settings that nobody's matplotlibrc changes."""
    figure_class = _figure_class()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, **(settings or {})})
        figure = figure_class(figsize=(width, height), dpi=_DOTS_PER_INCH, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def cut_label(text: str, longest: int = 40) -> str:
    """Return a text for a picture, the end of a long one left out: a file's word has any length.

    >>> cut_label("lengths", 4)
    'len…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def plain_label(text: str) -> str:
    """Return a text that matplotlib shows letter by letter, in legends too.

    Dollar signs are no formulas, a leading underscore hides nothing, and what is no Unicode (a
    file's name may be anything) is escaped.
    """
    shown = text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")
    # SVG has no place for what controls a terminal
    shown = _CONTROLS.sub(lambda found: visible(found[0].encode()), shown)
    return f" {shown}" if shown.startswith("_") else shown
