"""Saving matplotlib figures, as files or as SVG elements of a page, reproducibly.

matplotlib is loaded when the first figure is made. It draws without a screen and without pyplot,
which would keep figures alive and choose a window system. It reads no matplotlibrc except for the
empty one beside this file. Equal content gives equal bytes.
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
from xml.etree import ElementTree

from phrasescore.errors import MissingDependencyError, SettingsError, visible
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.system_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's palette, which colour-blind people can tell apart
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DOTS_PER_INCH = 150
_POINTS_IN_PAGE = 9.0  # font size for a figure 8 inches wide, which a page magnifies by a half
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# metadata that would differ from run to run
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# reproducible ids, and text as text instead of outlines, so that it can be searched and edited
_SETTINGS = {"svg.hashsalt": "phrasescore", "svg.fonttype": "none", "pdf.fonttype": 42}


def figure_format(path: str | Path) -> str:
    """Return the format that the extension of a picture's name asks for.

    Raises:
        SettingsError: It is none of ``FORMATS``.

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
    """Check before the work begins that a picture can be drawn.

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
    """Check that matplotlib is installed.

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
    """Change to this folder while matplotlib is loaded, which reads settings in the current one.

    The current folder may be a stranger's, and its matplotlibrc unreadable or endless.
    """
    if "matplotlib" in sys.modules:
        yield
        return
    # without a handler Python would print messages about fonts and caches
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
    """Provide an empty figure to draw on, and save it atomically at the end of the block.

    Args:
        path: Output file; the extension chooses the format.
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
    """Return a figure as an SVG element with a transparent background, sized by the page.

    Args:
        draw: Draws on an empty figure.
        width: In inches.
        height: In inches.
        salt: Prefix of ids, of letters and digits, different for each figure of a page.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    data = io.BytesIO()
    with (
        _drawing(width, height, {"font.size": _POINTS_IN_PAGE}) as figure,
        warnings.catch_warnings(),
    ):
        # the browser's fonts have characters that matplotlib's font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        draw(figure)
        figure.savefig(data, format="svg", metadata=_METADATA["svg"], transparent=True)
    return in_page(data.getvalue(), salt)


@contextlib.contextmanager
def _drawing(
    width: float, height: float, settings: Mapping[str, Any] | None = None
) -> Iterator[Figure]:
    """Provide an empty figure under settings that no matplotlibrc changes."""
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
    """Shorten a text for a picture: a word of a file may have any length.

    >>> cut_label("lengths", 4)
    'len…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def plain_label(text: str) -> str:
    """Escape a text so that matplotlib shows every character of it, in legends as well.

    Dollar signs do not begin formulas, a leading underscore does not hide a legend's entry, and
    bytes that are not Unicode (in names of files) are escaped.
    """
    shown = text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")
    # SVG may not contain control characters
    shown = _CONTROLS.sub(lambda found: visible(found[0].encode()), shown)
    return f" {shown}" if shown.startswith("_") else shown


# -- SVG as an element of a page ---------------------------------------------------------------

# colours for the figures of pages
INK, QUIET, LINE, FAINT = "#1b1f23", "#6e7781", "#d0d7de", "#a8b1bb"
_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"
# text inherits the page's font
_FONT = re.compile(r"font-family: [^;]*;? ?")
# variables of the page's style sheet, which has other colours for a dark background
_OF_THE_PAGE = {
    INK: "--ink",
    "#000000": "--ink",
    QUIET: "--quiet",
    "#888888": "--quiet",
    LINE: "--line",
    "#0072b2": "--blue",
    "#d55e00": "--vermilion",
    "#009e73": "--green",
    "#cc79a7": "--pink",
    "#e69f00": "--orange",
    "#56b4e9": "--sky",
    FAINT: "--faint",
}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def in_page(svg: bytes, salt: str) -> str:
    """Turn an SVG file into an element of a page, with unused ids removed.

    Args:
        svg: A file written by matplotlib; other files would not be safe in a page.
        salt: Prefix of the remaining ids, of letters and digits.
    """
    root = ElementTree.fromstring(svg)
    for parent in [*root.iter()]:
        for child in [*parent]:
            # a style element would apply to the whole page
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    named = {name for element in root.iter() for name in _named(element)}
    for element in root.iter():
        _rename(element, named, salt)
    # the page sets the size; the view box keeps the aspect ratio
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    return ElementTree.tostring(root, encoding="unicode")


def _named(element: ElementTree.Element) -> set[str]:
    """Return the ids that an element's attributes refer to."""
    found = {name for value in element.attrib.values() for name in _REFERENCE.findall(value)}
    link = element.get(f"{{{_LINK}}}href", "")
    return found | ({link[1:]} if link.startswith("#") else set())


def _rename(element: ElementTree.Element, named: set[str], salt: str) -> None:
    own = element.attrib.pop("id", None)
    if own in named:
        element.set("id", f"{salt}-{own}")
    for key, value in element.attrib.items():
        value = _COLOUR.sub(_of_the_page, _FONT.sub("", value))
        element.set(key, _REFERENCE.sub(rf"url(#{salt}-\1)", value))
    link = element.attrib.pop(f"{{{_LINK}}}href", None)
    if link is not None:
        # modern browsers read href without the xlink namespace
        element.set("href", f"#{salt}-{link[1:]}")


def _of_the_page(colour: re.Match[str]) -> str:
    name = _OF_THE_PAGE.get(colour[0])
    return colour[0] if name is None else f"var({name}, {colour[0]})"
