"""Pictures of alignments: greys, places and words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from matplotlib.image import imread

from phrasescore.pictures.alignment_matrices import draw_alignment


def test_greys_and_places(tmp_path: Path) -> None:
    """0 is black, 1 white; a row for each target word, from the top; a column for each source."""
    alignment = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], np.float32)
    draw_alignment(tmp_path / "a.png", ["a", "b", "</s>"], ["A", "</s>"], alignment)
    picture = imread(tmp_path / "a.png")[:, :, 0]
    # what is black from edge to edge is the matrix
    rows, columns = ((picture < 0.01).sum(axis=1 - axis) for axis in (0, 1))
    inside = np.ix_(np.flatnonzero(rows > 40), np.flatnonzero(columns > 20))
    cells = picture[inside]
    height, width = cells.shape
    centres = cells[height // 4 :: height // 2, width // 6 :: width // 3][:2, :3]
    np.testing.assert_allclose(centres, alignment, rtol=0, atol=0.01)
    draw_alignment(tmp_path / "b.png", ["a"], ["A"], np.ones((1, 1), np.float32))
    assert (imread(tmp_path / "b.png")[:, :, 0] > 0.99).mean() > 0.5


def test_words_are_shown_as_they_are(tmp_path: Path) -> None:
    """Dollars are no formulas, and letters that the font lacks are no reason to stop."""
    source, target = ["$5$", "\u732b", "</s>"], ["_x", "</s>"]
    draw_alignment(tmp_path / "a.svg", source, target, np.zeros((2, 3), np.float32))
    text = (tmp_path / "a.svg").read_text("utf-8")
    words = [word.strip() for word in re.findall(r">([^<>]+)</text>", text)]
    assert words == ["$5$", "\u732b", "&lt;/s&gt;", "_x", "&lt;/s&gt;"]


def test_long_sentences_have_small_pictures(tmp_path: Path) -> None:
    """A matrix of any size fits."""
    words = [str(number) for number in range(400)]
    draw_alignment(tmp_path / "a.png", words, words[:3], np.zeros((3, 400), np.float32))
    height, width = imread(tmp_path / "a.png").shape[:2]
    assert width < 5000
    assert height < 300
