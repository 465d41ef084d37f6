"""A picture of tuning: the score and the weights by round, as SVG that any browser shows."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from phrasescore.pictures.figure_files import COLOURS

_WIDTH, _HEIGHT, _MARGIN, _LEGEND = 720, 240, 60, 190
# lines beyond the colours are dashed
_DASHES = ("", "6 3", "2 3")
_FONT = 'font-family="sans-serif" font-size="12"'


def curve_picture(lines: Sequence[dict[str, Any]]) -> str:
    """Return an SVG with scores above and weights below.

    Args:
        lines: One for each round: ``number``, ``score``, ``weights`` by name, and
            ``optimized.score`` where that is known.
    """
    rounds = [line["number"] for line in lines]
    pooled = [
        (line["number"], 100 * line["optimized"]["score"]) for line in lines if "optimized" in line
    ]
    scores = {
        "decoded": [(line["number"], 100 * line["score"]) for line in lines],
        "best over all candidates": pooled,
    }
    names = list(lines[0]["weights"]) if lines else []
    weights = {name: [(line["number"], line["weights"][name]) for line in lines] for name in names}
    height = 2 * (_HEIGHT + _MARGIN) + max(0, 16 * len(names) - _HEIGHT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEGEND}" height="{height}">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_panel("score by round", scores, rounds, 0),
        *_panel("weights by round", weights, rounds, _HEIGHT + _MARGIN),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _panel(
    title: str, series: dict[str, list[tuple[int, float]]], rounds: Sequence[int], top: int
) -> list[str]:
    values = [value for points in series.values() for _, value in points]
    if not values:
        return []
    low, high = min(values), max(values)
    room = (high - low or abs(high) or 1.0) * 0.05
    low, high = low - room, high + room
    left, right = _MARGIN, _WIDTH - 20
    upper, lower = top + 30, top + _HEIGHT

    def place(number: int, value: float) -> tuple[float, float]:
        x = left + (right - left) * (number - rounds[0]) / max(rounds[-1] - rounds[0], 1)
        return x, lower - (lower - upper) * (value - low) / (high - low)

    parts = [f'<text x="{left}" y="{top + 20}" {_FONT}>{title}</text>']
    parts += _axes(rounds, (low + room, high - room), place, (left, right, upper, lower))
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        dash = _DASHES[index // len(COLOURS) % len(_DASHES)]
        stroke = f'stroke="{colour}" stroke-dasharray="{dash}" stroke-width="1.8"'
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        y = upper + 16 * index
        parts.append(f'<line x1="{_WIDTH}" x2="{_WIDTH + 24}" y1="{y}" y2="{y}" {stroke}/>')
        parts.append(f'<text x="{_WIDTH + 30}" y="{y + 4}" {_FONT}>{html.escape(name)}</text>')
    return parts


def _axes(
    rounds: Sequence[int], ends: tuple[float, float], place: Any, box: tuple[int, int, int, int]
) -> list[str]:
    left, right, upper, lower = box
    parts = [
        f'<rect x="{left}" y="{upper}" width="{right - left}" height="{lower - upper}" '
        'fill="none" stroke="#888"/>'
    ]
    for value in ends:
        y = place(rounds[0], value)[1]
        parts.append(
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" {_FONT}>{value:.4g}</text>'
        )
    for number in rounds:
        x = place(number, ends[0])[0]
        parts.append(
            f'<text x="{x:.1f}" y="{lower + 16}" text-anchor="middle" {_FONT}>{number}</text>'
        )
    return parts
