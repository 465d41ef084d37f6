"""What all figures of a report have in common: their looks, and the table beside each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phrasescore.pictures.figure_files import COLOURS, cut_label, plain_label, svg_text
from phrasescore.pictures.svg_elements import INK, LINE, QUIET
from tuning.metrics.score_tables import points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_WIDTH = 8.0  # inches; the page stretches them to its column
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)))
_LETTERS = 110  # that a figure is wide, about


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        text: What is shown.
        value: The number that it rounds, as the files have it.
    """

    text: str
    value: float | None = None


@dataclass(frozen=True)
class DataTable:
    """Numbers; the first column says what they belong to."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A figure of the page.

    Args:
        name: What it shows, for those who cannot see it.
        svg: The picture: ours, and safe as it is.
        table: Its numbers.
        caption: What to know to read it.
        key: Differs from figure to figure.
    """

    name: str
    svg: str
    table: DataTable
    caption: str
    key: str


def named(text: str) -> Cell:
    """Return the cell that says what a row is."""
    return Cell(text)


def score_cell(score: float | None, *, sign: bool = False) -> Cell:
    """Return a fraction times 100; a dash for none."""
    return Cell("–") if score is None else Cell(points(score, sign=sign), score)


def number_cell(value: float | None, digits: int) -> Cell:
    """Return a number as it is; a dash for none."""
    return Cell("–") if value is None else Cell(f"{value:,.{digits}f}", value)


def drawn(
    draw: Callable[[Canvas], None],
    height: float,
    name: str,
    table: DataTable,
    caption: str,
    key: str,
) -> Figure:
    """Return a figure of some height in inches; ``draw`` draws it on an empty canvas."""
    return Figure(name, svg_text(draw, _WIDTH, height, salt=key), table, caption, key)


def plain_axes(canvas: Canvas) -> Axes:
    """Return axes that keep in the background."""
    axes = canvas.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=QUIET, labelcolor=INK, length=3)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    return axes


def whole_numbers(axes: Axes) -> None:
    """Let the horizontal axis have ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def line_style(place: int) -> dict[str, Any]:
    """Return how the line of that place is drawn: colours first, then dashes."""
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place // len(COLOURS) % len(DASHES)],
        "linewidth": 1.6,
    }


def put_legend(canvas: Canvas, axes: Axes) -> None:
    """Put the legend above the axes, where no line runs through it."""
    if old := axes.get_legend():
        old.remove()
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        short = [*map(cut_label, labels)]
        columns = _legend_columns(short)
        canvas.legend(handles, short, loc="outside upper left", ncols=columns, frameon=False)


def legend_height(names: Sequence[str]) -> float:
    """Return the inches that a legend of some names takes."""
    return 0.2 * -(-len(names) // _legend_columns([*map(cut_label, names)]))


def _legend_columns(labels: Sequence[str]) -> int:
    return max(1, min(4, _LETTERS // (max(map(len, labels)) + 6)))


def short_label(name: str) -> str:
    """Return a name as a figure shows it, the end of a long one left out."""
    return plain_label(cut_label(re.sub(r"\s+", " ", name)))
