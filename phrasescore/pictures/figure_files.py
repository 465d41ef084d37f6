"""Saves matplotlib figures as files or as images inside a page, reproducibly.

matplotlib is loaded when the first figure is made. It draws without a screen and without pyplot,
which would keep figures alive and choose a window system. It reads no matplotlibrc except for the
empty one beside this file. Equal content gives equal bytes.
"""

from __future__ import annotations

import base64
import contextlib
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phrasescore.errors import MissingDependencyError, visible
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.processes import inside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind people can tell apart
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DOTS_PER_INCH = 150
_POINTS_IN_PAGE = 9.0  # font size for a figure 8 inches wide, which a page magnifies by 50 %
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
# metadata that would differ from run to run
_METADATA: dict[str, dict[str, object]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# reproducible ids, and text as text instead of outlines, so that it can be searched and edited
_SETTINGS = {"svg.hashsalt": "phrasescore", "svg.fonttype": "none", "pdf.fonttype": 42}


def check_drawing() -> None:
    """Check that matplotlib is installed.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        with _beside_our_matplotlibrc():
            import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingDependencyError.extra("matplotlib", "report") from None


@contextlib.contextmanager
def _beside_our_matplotlibrc() -> Iterator[None]:
    """Load matplotlib in this folder, because it reads the matplotlibrc of the current folder.

    The current folder may belong to a stranger, and its matplotlibrc may be unreadable or endless.
    """
    if "matplotlib" in sys.modules:
        yield
        return
    # without a handler Python would print messages about fonts and caches
    logging.getLogger("matplotlib").addHandler(logging.NullHandler())
    if cache := os.environ.get("MPLCONFIGDIR"):
        os.environ["MPLCONFIGDIR"] = os.path.abspath(cache)  # noqa: PTH100 - links stay
    with inside(Path(__file__).parent):
        yield


@contextlib.contextmanager
def saved_figure(path: str | Path, width: float = 6.4, height: float = 4.0) -> Iterator[Figure]:
    """Provide an empty figure to draw on, and save it atomically after the block.

    Args:
        path: Output file; the extension chooses the format: png, svg or pdf.
        width: In inches.
        height: In inches.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The file cannot be written.
    """
    kind = Path(path).suffix[1:].lower()
    data = io.BytesIO()
    with _drawing(width, height) as figure:
        yield figure
        figure.savefig(data, format=kind, metadata=_METADATA[kind])
    write_atomically(path, data.getvalue())


def svg_image(draw: Callable[[Figure], None], width: float, height: float) -> str:
    """Return a figure as a data URL for an image of a page.

    Args:
        draw: Draws on an empty figure.
        width: In inches.
        height: In inches.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    data = io.BytesIO()
    with _drawing(width, height, {"font.size": _POINTS_IN_PAGE}) as figure:
        draw(figure)
        figure.savefig(data, format="svg", metadata=_METADATA["svg"])
    return f"data:image/svg+xml;base64,{base64.b64encode(data.getvalue()).decode()}"


@contextlib.contextmanager
def _drawing(
    width: float, height: float, settings: Mapping[str, object] | None = None
) -> Iterator[Figure]:
    """Provide an empty figure under settings that no matplotlibrc changes."""
    check_drawing()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        # a letter that matplotlib's font lacks appears as an empty box, or in the browser's font
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, **(settings or {})})
        figure = Figure(figsize=(width, height), dpi=_DOTS_PER_INCH, layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def cut_label(text: str, longest: int = 40) -> str:
    """Shorten a text for a picture, because a word of a file may have any length.

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
