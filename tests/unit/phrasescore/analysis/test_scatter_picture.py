"""Pictures of two scores: points or densities, and one scale for both axes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from phrasescore.analysis.scatter_results import draw_scatter

TEXTS = "$pairs$ <script>", ("across", "up")


def test_few_points_are_points(tmp_path: Path, rng: np.random.Generator) -> None:
    """Each of them but one that lies too far out; texts are texts."""
    across = np.append(-rng.uniform(0, 5, 400), -1000.0)
    assert draw_scatter(tmp_path / "a.svg", across, across - 1, *TEXTS) == 1
    text = (tmp_path / "a.svg").read_text("utf-8")
    marks = max(re.findall(r"<g clip-path.*?</g>", text, re.DOTALL), key=len)
    assert marks.count("<use ") == 400
    assert "$pairs$ &lt;script&gt;, 1 of them outside" in text


def test_many_are_cells(tmp_path: Path, rng: np.random.Generator) -> None:
    """One image and a scale, a small file; nearly all points lie inside."""
    across, up = -rng.exponential(2, 50_000), -rng.exponential(8, 50_000)
    outside = draw_scatter(tmp_path / "a.svg", across, up, *TEXTS)
    text = (tmp_path / "a.svg").read_text("utf-8")
    assert text.count("<image ") == 2
    assert len(text) < 200_000
    assert 0 < outside <= 0.01 * 50_000
    assert f"{outside:,} of them outside" in text


def test_equal_values_lie_on_the_line(tmp_path: Path) -> None:
    """Both axes have one scale: a point lies as far right as it lies up."""
    values = np.array([-10.0, -5.0, 0.0, 0.0])
    draw_scatter(tmp_path / "a.png", values, values, *TEXTS)
    picture = imread(tmp_path / "a.png")[:, :, :3]
    red, green, blue = np.moveaxis(picture, 2, 0)
    rows, columns = np.nonzero((blue > red + 0.2) & (blue > green + 0.1))
    slope = np.polyfit(columns, rows, 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.02)


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_one_point(tmp_path: Path, value: float) -> None:
    """Or many in one place: there is some space around it."""
    for count in (1, 5000):
        draw_scatter(tmp_path / "a.png", np.full(count, value), np.full(count, value), *TEXTS)
