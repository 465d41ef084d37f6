"""The map as one HTML file that needs no network: hover, search, zoom to a cluster.

Bokeh draws; its program is in the file. The page's own script talks to it in plain calls: Bokeh's
callbacks in text would need ``eval``, which the page forbids itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phrasescore.analysis.maps.drawn_map import DrawnMap, cluster_colour
from phrasescore.errors import MissingDependencyError
from phrasescore.pictures.html_pages import page_environment, write_page

if TYPE_CHECKING:
    from bokeh.models import Range1d
    from bokeh.plotting import figure as Figure  # noqa: N812 - a class

_TEMPLATES = Path(__file__).parent / "templates"
_EXAMPLES = 3  # of a cluster, in the list
_MARGIN = 0.04  # around all points, as a share of their extent
_LETTERS = 12  # pixels of the texts beside points, as the page's script counts them
_TOOLTIP = '<div class="tip">@text</div>'


def check_page() -> None:
    """Find out before the work begins whether a page could be written at its end.

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
        path: Where to.
        drawn: The map.

    Raises:
        MissingDependencyError: Bokeh or Jinja2 is not installed.
        SettingsError: The file cannot be written.
    """
    check_page()
    from bokeh.core.types import ID
    from bokeh.embed import json_item
    from bokeh.resources import Resources
    from jinja2.utils import htmlsafe_json_dumps

    program = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    # text in a script ends at this, wherever it stands
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
        # the template's own filter sorts keys, and Bokeh reads what it names before it is named
        "item": htmlsafe_json_dumps(json_item(_figure(drawn), ID("map"))),
        "program": program,
    }
    write_page(path, "map.html", values, _TEMPLATES)


def _figure(drawn: DrawnMap) -> Figure:
    """Return the plot; the page's script finds its parts by their names."""
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
    middles = [cluster.middle for cluster in drawn.clusters]
    names = ColumnDataSource(
        {
            "x": [x for x, _ in middles],
            "y": [y for _, y in middles],
            "text": [str(number + 1) for number in range(len(middles))],
            "colour": [cluster_colour(number) for number in range(len(middles))],
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
