"""Soft alignments as pictures, after figure 3 of Bahdanau et al. (2014)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from phrasescore.pictures.figure_files import cut_label, plain_label, saved_figure

_CELL = 0.28  # inches, while the matrix is smaller than
_LARGEST = 30.0  # inches
_SCALE = 1.1  # inches that the scale of colours takes beside the matrix, and its least height
_LETTERS = 0.09  # inches of a letter at the largest size of type
_POINTS, _POINTS_PER_INCH = 9.0, 72


def draw_alignment(
    path: str | Path,
    source: Sequence[str],
    target: Sequence[str],
    alignment: NDArray[np.float32],
) -> None:
    """Write one picture: source words from left to right, target words from top to bottom.

    Args:
        path: Where to, in the format of the name.
        source: J words, </s> the last of them.
        target: I words, likewise.
        alignment: (I, J) the share of the attention that each target word gives each source word;
            the darkest colour is 0, the lightest the largest share there is, and a scale says
            which share that is.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        SettingsError: The name has no format, or the file cannot be written.
    """
    source, target = [*map(cut_label, source)], [*map(cut_label, target)]
    most = max(len(source), len(target))
    cell = min(_CELL, _LARGEST / most)
    points = min(_POINTS, cell * _POINTS_PER_INCH * 0.8)
    letter = _LETTERS * points / _POINTS
    width, height = (
        max(cell * len(along), least) + letter * max(map(len, across)) + margin
        for along, across, least, margin in (
            (source, target, 0.0, 0.4 + _SCALE),
            (target, source, _SCALE, 0.4),
        )
    )
    with warnings.catch_warnings(), saved_figure(path, width, height) as figure:
        # a letter that the font lacks is an empty box in the picture, which says enough
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        axes = figure.add_subplot()
        # up to the largest share: a weak alignment would be one dark square up to 1
        largest = max(float(alignment.max()), np.finfo(np.float32).tiny)
        # pixels of one colour, in formats for print too
        cells = axes.imshow(
            alignment, cmap="viridis", vmin=0.0, vmax=largest, interpolation="nearest"
        )
        scale = figure.colorbar(cells, ax=axes, label="share of the attention")
        scale.ax.tick_params(labelsize=_POINTS)
        axes.set_xticks(
            range(len(source)), list(map(plain_label, source)), rotation=90, fontsize=points
        )
        axes.set_yticks(range(len(target)), list(map(plain_label, target)), fontsize=points)
        axes.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
