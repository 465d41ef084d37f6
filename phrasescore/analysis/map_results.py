"""Drawing a map: an HTML page to browse, or a picture for a paper.

The page is a single HTML file that needs no network, with hover, search and zoom to a cluster. It
contains BokehJS, which draws the points. The page's own script calls BokehJS directly, because
Bokeh's textual callbacks need ``eval``, which the page's content security policy forbids. The
picture shows the whole map, and the largest clusters at a larger scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.maps import DrawnMap, cluster_colour
from phrasescore.errors import MissingDependencyError
from phrasescore.pictures.figure_files import cut_label, plain_label, saved_figure
from phrasescore.pictures.html_pages import page_environment, write_page

if TYPE_CHECKING:
    from bokeh.models import Range1d
    from bokeh.plotting import figure as BokehFigure  # noqa: N812 - a class
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox


# a grid of 3 x 3: the map covers four cells, each zoomed cluster one cell (row, column)
_ZOOMS = ((0, 2), (1, 2), (2, 2), (2, 1), (2, 0))
_SIZE = 11.0  # inches of a side
_RASTERISED = 1000  # from this many points on, SVG and PDF hold pixels, which open quickly
_ZOOM_MARGIN = 0.1  # around a cluster, as a share of its extent
_POINTS = {"zoom": 6.5, "map": 7.5}  # font sizes
_LONGEST = 45  # characters of a label
_MAX_TEXTS = 400  # labels to try in a zoomed cluster
_APART = 1.5  # pixels around a label
_TEMPLATES = Path(__file__).parent / "templates"
_EXAMPLES = 3  # of a cluster, in the page's list
_MARGIN = 0.04  # around all points, as a share of their extent
_LETTERS = 12  # pixels of the labels' font; the page's script counts on it
_TOOLTIP = '<div class="tip">@text</div>'


def check_page() -> None:
    """Check before the work begins that a page can be written.

    Raises:
        MissingDependencyError: Bokeh or Jinja2 is not installed.
    """
    page_environment()
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise MissingDependencyError.extra("bokeh", "report") from None


def write_map_page(path: str | Path, drawn: DrawnMap) -> None:
    """Write the page.

    Args:
        path: Output file.
        drawn: The map.

    Raises:
        MissingDependencyError: Bokeh or Jinja2 is not installed.
        SettingsError: The file cannot be written.
    """
    from bokeh.core.types import ID
    from bokeh.embed import json_item
    from bokeh.resources import Resources
    from jinja2.utils import htmlsafe_json_dumps

    program = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    # this string would end the page's script element
    assert "</script" not in program
    values = {
        "drawn": drawn,
        "clusters": [
            {
                "name": cluster.name,
                "size": len(cluster.members),
                "box": cluster.box,
                "colour": cluster_colour(number),
                "examples": [drawn.texts[row] for row in cluster.members[:_EXAMPLES].tolist()],
            }
            for number, cluster in enumerate(drawn.clusters)
        ],
        # not the template's tojson filter: it sorts keys, and Bokeh needs definitions before uses
        "item": htmlsafe_json_dumps(json_item(_figure(drawn), ID("map"))),
        "program": program,
    }
    write_page(path, "map.html", values, _TEMPLATES)


def _figure(drawn: DrawnMap) -> BokehFigure:
    """Return the plot; the page's script looks its parts up by ``name``."""
    from bokeh.models import ColumnDataSource, HoverTool
    from bokeh.plotting import figure

    x, y = drawn.places.T.astype(float).tolist()
    points = ColumnDataSource(
        {
            "x": x,
            "y": y,
            "text": list(drawn.texts),
            "cluster": drawn.cluster_numbers().tolist(),
            "colour": drawn.colours(),
        },
        name="points",
    )
    found = ColumnDataSource({"x": [], "y": []}, name="found")
    written = ColumnDataSource({"x": [], "y": [], "text": []}, name="written")
    centres = [cluster.centre for cluster in drawn.clusters]
    names = ColumnDataSource(
        {
            "x": [x for x, _ in centres],
            "y": [y for _, y in centres],
            "text": [str(number + 1) for number in range(len(centres))],
            "colour": [cluster_colour(number) for number in range(len(centres))],
        },
        name="names",
    )
    plot = figure(
        name="plot",
        sizing_mode="stretch_both",
        x_range=_range(x),
        y_range=_range(y),
        tools="pan,wheel_zoom,box_zoom,save",
        active_scroll="wheel_zoom",
        toolbar_location="above",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=0,
    )
    plot.axis.visible = False
    plot.grid.visible = False
    plot.toolbar.logo = None
    shown = plot.scatter(
        *("x", "y"), source=points, size=6, color="colour", alpha=0.65, line_color=None,
        name="shown",
    )  # fmt: skip
    plot.scatter(
        *("x", "y"), source=found, size=11, fill_color=None, line_color="#d55e00", line_width=2.5
    )
    plot.text(
        *("x", "y", "text"), source=written, name="texts", x_offset=9, text_baseline="middle",
        text_font_size=f"{_LETTERS}px",
    )  # fmt: skip
    plot.scatter(
        *("x", "y"), source=names, name="rings", size=20, line_color="colour", line_width=2
    )
    plot.text(
        *("x", "y", "text"), source=names, name="numbers", text_align="center",
        text_baseline="middle", text_font_size="11px", text_font_style="bold",
    )  # fmt: skip
    plot.add_tools(HoverTool(renderers=[shown], tooltips=_TOOLTIP, limit=6))
    return plot


def _range(values: list[float]) -> Range1d:
    from bokeh.models import Range1d

    margin = _MARGIN * (max(values) - min(values)) or 1.0
    return Range1d(start=min(values) - margin, end=max(values) + margin)


def draw_map(path: str | Path, drawn: DrawnMap) -> None:
    """Write the picture.

    Args:
        path: Output file; the extension chooses the format.
        drawn: The map.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The extension is not a format, or the file cannot be written.
    """
    zooms = drawn.clusters[: len(_ZOOMS)]
    with warnings.catch_warnings(), saved_figure(path, _SIZE, _SIZE) as figure:
        # a character that the font lacks is drawn as an empty box; no warning is needed
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        grid = figure.add_gridspec(3, 3)
        end = 2 if zooms else 3
        whole = figure.add_subplot(grid[:end, :end])
        parts = [figure.add_subplot(grid[place]) for place in _ZOOMS[: len(zooms)]]
        for axes in (whole, *parts):
            _draw_points(axes, drawn)
        whole.set_title(plain_label(f"{drawn.title} ({len(drawn.texts):,})"), fontsize=10)
        whole.set_aspect("equal", adjustable="datalim")
        for number, axes in enumerate(parts):
            _frame(axes, drawn, number)
        # fix the layout before labels are placed: whether a label fits depends on pixels
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        _name_clusters(whole, drawn)
        for axes, cluster in zip(parts, zooms, strict=True):
            _write_texts(axes, drawn, cluster.members)
        if not zooms:
            _write_texts(whole, drawn, np.arange(len(drawn.texts)))


def _draw_points(axes: Axes, drawn: DrawnMap) -> None:
    x, y = drawn.places.T
    axes.scatter(
        x,
        y,
        s=6,
        c=drawn.colours(),
        alpha=0.6,
        linewidths=0,
        rasterized=len(drawn.texts) >= _RASTERISED,
    )
    axes.set(xticks=[], yticks=[])


def _frame(axes: Axes, drawn: DrawnMap, number: int) -> None:
    """Zoom axes to one cluster, in a frame of its colour."""
    cluster = drawn.clusters[number]
    left, right, low, high = cluster.box
    side = max(right - left, high - low) * (0.5 + _ZOOM_MARGIN)
    x, y = (left + right) / 2, (low + high) / 2
    axes.set(xlim=(x - side, x + side), ylim=(y - side, y + side))
    axes.set_title(plain_label(f"{number + 1}: {cluster.name}"), fontsize=9)
    for spine in axes.spines.values():
        spine.set(edgecolor=cluster_colour(number), linewidth=1.5)


def _name_clusters(axes: Axes, drawn: DrawnMap) -> None:
    """Write the names of clusters over the map; zoomed clusters come first and are numbered."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0.8}
    named = [
        axes.text(
            *cluster.centre,
            plain_label(f"{number + 1}: {cluster.name}" if number < len(_ZOOMS) else cluster.name),
            fontsize=_POINTS["map"],
            fontweight="bold" if number < len(_ZOOMS) else "normal",
            ha="center",
            va="center",
            bbox=box | {"edgecolor": cluster_colour(number)},
        )
        for number, cluster in enumerate(drawn.clusters)
    ]
    _keep_apart(axes, named)


def _write_texts(axes: Axes, drawn: DrawnMap, first: NDArray[np.int64]) -> None:
    """Label as many points as there is room for, those of ``first`` before the others."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    x, y = drawn.places.T
    inside = (left < x) & (x < right) & (low < y) & (y < high)
    others = np.setdiff1d(np.flatnonzero(inside), first)
    rows = [*first[inside[first]].tolist(), *others.tolist()][:_MAX_TEXTS]
    written = [
        axes.annotate(
            plain_label(cut_label(drawn.texts[row], _LONGEST)),
            (x[row], y[row]),
            xytext=(2.5, 0),
            textcoords="offset points",
            fontsize=_POINTS["zoom"],
            va="center",
        )
        for row in rows
    ]
    _keep_apart(axes, written)


def _keep_apart(axes: Axes, written: Sequence[Text]) -> None:
    """Remove labels that leave the axes or touch an earlier label."""
    room = axes.get_window_extent()
    taken: list[Bbox] = []
    for text in written:
        box = text.get_window_extent().padded(_APART)
        leaves = box.x0 < room.x0 or box.x1 > room.x1 or box.y0 < room.y0 or box.y1 > room.y1
        if leaves or any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)
