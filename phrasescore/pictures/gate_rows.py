"""What gates do over a phrase: for each word the mean and spread of its units, and each unit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.pictures.figure_files import COLOURS, cut_label, plain_label, saved_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.26  # inches of a word
_MOST_ROWS = 100.0  # more than that become lower rows
_HEADS = 0.75  # inches of a block's title and axis
_WIDTH, _LETTER = 9.0, 0.075
_POINTS = 9.0  # of words


def draw_gates(
    path: str | Path,
    blocks: Sequence[tuple[str, Sequence[str], NDArray[np.float32]]],
    spreads: Sequence[NDArray[np.float64]],
) -> None:
    """Write a picture with a block for each gate.

    Args:
        path: Where to, in the format of the name.
        blocks: A title, L words, and ``(L, H)`` how far each unit's gate is open, 0 to 1.
        spreads: For each block ``(L, 3)``: a low quantile, the mean, a high quantile.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    blocks = [(title, [*map(cut_label, words)], values) for title, words, values in blocks]
    rows = sum(len(words) for _, words, _ in blocks)
    row = _ROW * min(1.0, _MOST_ROWS / rows)
    heights = [_HEADS + row * len(words) for _, words, _ in blocks]
    letters = max(len(word) for _, words, _ in blocks for word in words)
    width = _WIDTH + _LETTER * letters
    with warnings.catch_warnings(), saved_figure(path, width, sum(heights) + 0.6) as figure:
        # a letter that the font lacks is an empty box in the picture, which says enough
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        grid = figure.subplots(
            *(len(blocks), 2),
            squeeze=False,
            gridspec_kw={"height_ratios": heights, "width_ratios": [1, 2]},
        )
        for (left, right), block, spread in zip(grid, blocks, spreads, strict=True):
            image = _draw_block(left, right, *block, spread, _POINTS * row / _ROW)
        grid[-1, 0].set_xlabel("mean of all units (dot), 10 % to 90 % of them (bar)", fontsize=9)
        grid[-1, 1].set_xlabel("unit", fontsize=9)
        figure.colorbar(image, ax=grid[:, 1].tolist(), label="0 shut, 1 open", shrink=0.9)


def _draw_block(
    left: Axes,
    right: Axes,
    title: str,
    words: Sequence[str],
    values: NDArray[np.float32],
    spread: NDArray[np.float64],
    points: float,
) -> Any:
    """Draw one gate; return what a bar of colours is made of."""
    at = np.arange(len(words))
    left.hlines(at, spread[:, 0], spread[:, 2], color=COLOURS[5], linewidth=4)
    left.plot(spread[:, 1], at, "o", color=COLOURS[0], markersize=5)
    left.set(xlim=(0, 1), ylim=(len(words) - 0.5, -0.5))
    left.set_title(plain_label(title), fontsize=10)
    left.set_yticks(at, list(map(plain_label, words)), fontsize=points)
    left.tick_params(axis="y", length=0)
    left.grid(axis="x", color="#dddddd", linewidth=0.6)
    left.set_axisbelow(True)
    left.spines[["top", "right", "left"]].set_visible(False)
    # units in the order of their means, so that the share of open ones is seen at once
    ordered = values[:, np.argsort(-values.mean(axis=0), kind="stable")]
    image = right.imshow(
        ordered, cmap="cividis", vmin=0, vmax=1, aspect="auto", interpolation="nearest"
    )
    right.tick_params(left=False, labelleft=False)
    right.set_title("each unit, the most open on average first", fontsize=9)
    return image
