"""Two scores of many items against each other: points, or how dense they lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.pictures.figure_files import COLOURS, plain_label, saved_figure

_MOST_POINTS = 2000  # more would hide each other
_INCHES = 5.0
_CELLS = 70  # of the density, across
_OUTSIDE = 5e-3  # the share of points that may lie below an axis, not to press the others together


@dataclass(frozen=True)
class ScatterLabels:
    """What a scatter says.

    Args:
        title: Above it.
        across: What the one value is.
        up: What the other is.
        unit: What is counted where points lie dense, e.g. ``phrase pairs``.
    """

    title: str
    across: str
    up: str
    unit: str


def draw_scatter(
    path: str | Path,
    across: NDArray[np.float64],
    up: NDArray[np.float64],
    labels: ScatterLabels,
) -> int:
    """Draw N points of two values of one unit, each axis with the same scale and bounds.

    Up to 2,000 are points; of more, colours show how many lie in a cell. A line shows where both
    values are equal.

    Args:
        path: Where to, in the format of the name.
        across: (N,) the one value of each.
        up: (N,) the other.
        labels: What stands beside them.

    Returns:
        How many points lie outside, which the title says: at most one in 200 below each axis.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    low, high = _bounds(across, up)
    inside = (across >= low) & (across <= high) & (up >= low) & (up <= high)
    outside = int((~inside).sum())
    with saved_figure(path, _INCHES + (len(up) > _MOST_POINTS), _INCHES) as figure:
        axes = figure.add_subplot()
        if len(up) > _MOST_POINTS:
            # as pixels also in formats for print: thousands of cells would be a large file
            cells = axes.hexbin(
                across[inside],
                up[inside],
                gridsize=_CELLS,
                extent=(low, high, low, high),
                bins="log",
                mincnt=1,
                cmap="viridis_r",
                linewidths=0.1,
                rasterized=True,
            )
            figure.colorbar(cells, ax=axes, label=plain_label(labels.unit), shrink=0.8)
        else:
            axes.plot(*(across[inside], up[inside], "."), color=COLOURS[0], alpha=0.5, markersize=4)
        axes.plot([low, high], [low, high], color=COLOURS[1], linewidth=1.0, linestyle="--")
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        axes.set_title(plain_label(labels.title + _left_out(outside)), fontsize=11)
        axes.set_xlabel(plain_label(labels.across))
        axes.set_ylabel(plain_label(labels.up))
    return outside


def _left_out(outside: int) -> str:
    return f", {outside:,} of them outside" if outside else ""


def _bounds(across: NDArray[np.float64], up: NDArray[np.float64]) -> tuple[float, float]:
    """Return the bounds of both axes: nearly all points and some space around them."""
    low = min(float(np.quantile(values, _OUTSIDE)) for values in (across, up))
    high = max(float(values.max()) for values in (across, up))
    margin = 0.03 * (high - low) or 1.0
    return low - margin, high + margin
