"""The map as a picture for a paper: all of it, and its largest clusters at a larger scale."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.analysis.maps.drawn_map import DrawnMap, cluster_colour
from phrasescore.pictures.figure_files import cut_label, plain_label, saved_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# the map has four ninths of the picture, each zoom one: row and column
_ZOOMS = ((0, 2), (1, 2), (2, 2), (2, 1), (2, 0))
_SIZE = 11.0  # inches of a side
_RASTERISED = 1000  # so many points are pixels in SVG and PDF, which open at once then
_MARGIN = 0.1  # around a cluster, as a share of its extent
_POINTS = {"zoom": 6.5, "map": 7.5}  # of letters
_LONGEST = 45  # letters of a text
_MOST = 400  # texts that are tried in a zoom
_APART = 1.5  # pixels around a text


def draw_map(path: str | Path, drawn: DrawnMap) -> None:
    """Write the picture.

    Args:
        path: Where to, in the format of the name.
        drawn: The map.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    zooms = drawn.clusters[: len(_ZOOMS)]
    with warnings.catch_warnings(), saved_figure(path, _SIZE, _SIZE) as figure:
        # a letter that the font lacks is an empty box in the picture, which says enough
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
        _fix(figure)
        _name_clusters(whole, drawn)
        for axes, cluster in zip(parts, zooms, strict=True):
            _write_texts(axes, drawn, cluster.members)
        if not zooms:
            _write_texts(whole, drawn, np.arange(len(drawn.texts)))


def _fix(figure: Figure) -> None:
    """Lay the figure out for good: where texts have room is a matter of pixels."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


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
    """Show one cluster in axes of its own."""
    cluster = drawn.clusters[number]
    left, right, low, high = cluster.box
    side = max(right - left, high - low) * (0.5 + _MARGIN)
    x, y = (left + right) / 2, (low + high) / 2
    axes.set(xlim=(x - side, x + side), ylim=(y - side, y + side))
    axes.set_title(plain_label(f"{number + 1}: {cluster.name}"), fontsize=9)
    for spine in axes.spines.values():
        spine.set(edgecolor=cluster_colour(number), linewidth=1.5)


def _name_clusters(axes: Axes, drawn: DrawnMap) -> None:
    """Write the names of clusters over the map, those that have zooms first and numbered."""
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0.8}
    named = [
        axes.text(
            *cluster.middle,
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
    """Write as many texts as there is room for, those of some points first."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    x, y = drawn.places.T
    inside = (left < x) & (x < right) & (low < y) & (y < high)
    others = np.setdiff1d(np.flatnonzero(inside), first)
    rows = [*first[inside[first]].tolist(), *others.tolist()][:_MOST]
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


def _keep_apart(axes: Axes, written: Sequence[Any]) -> None:
    """Take away texts that would leave the axes, or touch those before them."""
    room = axes.get_window_extent()
    taken: list[Any] = []
    for text in written:
        box = text.get_window_extent().padded(_APART)
        leaves = box.x0 < room.x0 or box.x1 > room.x1 or box.y0 < room.y0 or box.y1 > room.y1
        if leaves or any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)
