"""Pictures of alignments: colours, places and words."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread
from numpy.typing import NDArray

from phrasescore.generation.soft_alignments import draw_alignment


def drawn_cells(path: Path, alignment: NDArray[np.float32]) -> NDArray[np.float32]:
    """Draw a matrix of two rows and three columns; return the colour of each cell's centre."""
    draw_alignment(path, ["a", "b", "</s>"], ["A", "</s>"], alignment)
    picture = imread(path)[:, :, :3]
    # the matrix is the coloured area to the left of the white gap before the scale
    coloured = np.ptp(picture, axis=2) > 0.1
    rows = np.flatnonzero(coloured.sum(axis=1) > 40)
    columns = np.flatnonzero(coloured.sum(axis=0) > 20)
    columns = columns[: np.flatnonzero(np.diff([*columns, 10**6]) > 1)[0] + 1]
    rows = rows[coloured[np.ix_(rows, columns)].any(axis=1)]
    cells = picture[np.ix_(rows, columns)]
    height, width = cells.shape[:2]
    centres: NDArray[np.float32] = cells[height // 4 :: height // 2, width // 6 :: width // 3]
    return centres[:2, :3]


@pytest.mark.parametrize("share", [1.0, 0.5, 0.01])
def test_colours_and_places(tmp_path: Path, share: float) -> None:
    """Target words are rows from the top; the colour scale ends at the largest share."""
    alignment = share * np.array([[0.0, 1.0, 0.2], [0.6, 0.0, 0.4]], np.float32)
    cells = drawn_cells(tmp_path / "a.png", alignment)
    wanted = matplotlib.colormaps["viridis"](alignment / share)[:, :, :3]
    np.testing.assert_allclose(cells, wanted, rtol=0, atol=0.02)


def test_words_are_shown_as_they_are(tmp_path: Path) -> None:
    """Dollar signs make no formulas, and letters missing in the font cause no error."""
    source, target = ["$5$", "\u732b", "</s>"], ["_x", "</s>"]
    draw_alignment(tmp_path / "a.svg", source, target, np.zeros((2, 3), np.float32))
    text = (tmp_path / "a.svg").read_text("utf-8")
    words = [word.strip() for word in re.findall(r">([^<>]+)</text>", text)]
    assert words[:5] == ["$5$", "\u732b", "&lt;/s&gt;", "_x", "&lt;/s&gt;"]
