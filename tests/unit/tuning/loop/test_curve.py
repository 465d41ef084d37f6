"""The picture of tuning."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest

from phrasescore.runs.results import Optimized, TunedRound
from tuning.loop.work_folder import curve_picture

SVG = "{http://www.w3.org/2000/svg}"


def lines_of(rounds: int) -> list[TunedRound]:
    """Return the rounds of a curve with two weights."""
    return [
        TunedRound(
            number,
            {"LM0": 0.1 * number, "a<b": -0.2},
            score=0.5 + 0.01 * number,
            bleu=0.5,
            length_ratio=1.0,
            new=1,
            candidates=number,
            optimized=Optimized(0.6) if number < rounds else Optimized(),
        )
        for number in range(1, rounds + 1)
    ]


@pytest.mark.parametrize("rounds", [1, 2, 25])
def test_every_series_has_a_point_for_each_round(rounds: int) -> None:
    """The picture is XML with two score lines and one line for each weight, all inside it."""
    root = ElementTree.fromstring(curve_picture(lines_of(rounds)))
    paths = [
        [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
        for line in root.iter(f"{SVG}polyline")
    ]
    assert [len(path) for path in paths] == [rounds, rounds - 1, rounds, rounds]
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert all(0 <= x <= width and 0 <= y <= height for path in paths for x, y in path)


def test_higher_scores_stand_higher() -> None:
    """A rising score is a line that goes up, and time runs to the right."""
    root = ElementTree.fromstring(curve_picture(lines_of(3)))
    line = next(root.iter(f"{SVG}polyline")).get("points", "").split()
    points = [tuple(map(float, point.split(","))) for point in line]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_names_are_text_and_not_markup() -> None:
    """A feature may be called anything."""
    texts = [node.text for node in ElementTree.fromstring(curve_picture(lines_of(2))).iter()]
    assert "a<b" in texts


def test_many_weights_have_room_in_the_legend() -> None:
    """The picture grows with the number of weights."""
    only = dataclasses.replace(lines_of(1)[0], weights={f"w{n}": 0.1 for n in range(60)})
    root = ElementTree.fromstring(curve_picture([only]))
    height = float(root.get("height", 0))
    assert all(float(node.get("y", 0)) < height for node in root.iter(f"{SVG}text"))


def test_no_rounds_are_an_empty_picture() -> None:
    """Nothing to show is still a picture."""
    assert ElementTree.fromstring(curve_picture([])).tag == f"{SVG}svg"
