"""The folder of a tuning run: readable by people, whole after any kill, refused to another run.

Every file gets its name only when it is whole, and every step of a round leaves one file, so that
a run that was stopped continues after the last file it finished:

* ``run.json``: what the run is; the folder belongs to it alone;
* ``round01/weights.json``, ``moses.ini``: the weights of the round, alone and in the system;
* ``round01/nbest.gz``, ``decoder.log``: what the decoder found and what it said;
* ``round01/scores.json``: the score of the decoder's choices;
* ``round01/optimized.json``: the weights that all rounds so far lead to;
* ``curve.jsonl``, ``curve.svg``: scores and weights by round;
* ``result.json``: the record of the rounds so far, and of the result at the end;
* ``weights.json``, ``moses.ini``: the result.
"""

from __future__ import annotations

import contextlib
import dataclasses
import html
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError
from phrasescore.pictures.figure_files import COLOURS
from phrasescore.runs.final_names import open_output, own_folder, whole_names, write_atomically
from phrasescore.runs.identity import refuse_differences
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.lock import LOCK, held
from phrasescore.runs.results import TunedRound

WEIGHTS = "weights.json"
_RUN = "run.json"


class RoundFolder:
    """The files of one round.

    Attributes:
        number: From 1.
        weights: The weights it is decoded with.
        ini: The system with these weights.
        nbest: What the decoder found.
        log: What the decoder said.
        scores: The score of what the decoder chose.
        optimized: The weights for the next round.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.number = number
        self.weights = path / "weights.json"
        self.ini = path / "moses.ini"
        self.nbest = path / "nbest.gz"
        self.log = path / "decoder.log"
        self.scores = path / "scores.json"
        self.optimized = path / "optimized.json"

    def adopt(self, other: RoundFolder) -> None:
        """Take over what another run decoded with the same weights, unless that is done here."""
        if self.nbest.exists():
            return
        for mine, theirs in (
            (self.weights, other.weights),
            (self.ini, other.ini),
            (self.log, other.log),
            (self.nbest, other.nbest),
        ):
            with theirs.open("rb") as whole, open_output(mine, packed=True) as copy:
                shutil.copyfileobj(whole, copy)


@dataclass(frozen=True)
class WorkFolder:
    """The folder of one run."""

    path: Path

    @contextlib.contextmanager
    def opened(self, identity: Mapping[str, Any]) -> Iterator[WorkFolder]:
        """Take possession of the folder for the time of the block; make it if need be.

        Args:
            identity: What the run is, as JSON values: input digests and settings.

        Raises:
            ResumeError: It belongs to another run, or another process is at work in it.
            SettingsError: It cannot be made.
        """
        with held(self.path, inside=True):
            self._check(identity)
            self._sweep()
            yield self

    def _check(self, identity: Mapping[str, Any]) -> None:
        path = self.path / _RUN
        # a process that was killed at its beginning has left a lock or a part of the record
        names = whole_names(self.path).values()
        others = [name for name in names if name != _RUN and not name.startswith(LOCK)]
        if not path.exists():
            if others:
                raise ResumeError(
                    f"the folder is not empty ({sorted(others)[0]}), and not one of a tuning run",
                    path=self.path,
                    remedy="name a new folder",
                )
            write_json(path, dict(identity))
            return
        known = read_json(path)
        if not others and known.keys() == identity.keys():
            # a run that came no further had wrong input: corrected, it begins here
            write_json(path, dict(identity))
            return
        remedy = "name a new folder, or give what the run began with"
        refuse_differences(known, identity, self.path, remedy)

    def _sweep(self) -> None:
        """Remove what a killed process left half done."""
        for part in self.path.rglob(".*.part"):
            if part.is_file():
                part.unlink()

    def round(self, number: int) -> RoundFolder:
        """Return a round's folder, which is made if need be."""
        return RoundFolder(own_folder(self.path / f"round{number:02d}"), number)

    def write_curve(self, rounds: Sequence[TunedRound]) -> None:
        """Write scores and weights by round, as JSONL and as a picture."""
        text = "".join(json.dumps(curve_line(each), sort_keys=True) + "\n" for each in rounds)
        write_atomically(self.path / "curve.jsonl", text.encode())
        write_atomically(self.path / "curve.svg", curve_picture(rounds).encode())


def curve_line(decoded: TunedRound) -> dict[str, Any]:
    """Return a round as JSON values, without the optimisation that is still to come."""
    line = dataclasses.asdict(decoded)
    if decoded.optimized.score is None:
        del line["optimized"]
    return line


def read_json(path: Path, *, numbers: Sequence[str] = ()) -> dict[str, Any]:
    """Read a file of the run.

    Args:
        path: The file.
        numbers: What must be in it, and be a number.

    Raises:
        ResumeError: It is not such a file: something else wrote it.
    """
    try:
        content = read_object(path)
        for name in numbers:
            float(content[name])
        return content
    except (ValueError, LookupError, TypeError):
        raise ResumeError(
            "not what a tuning run writes",
            path=path,
            remedy="delete the file to do this step again",
        ) from None


_WIDTH, _HEIGHT, _MARGIN, _LEGEND = 720, 240, 60, 190
# lines beyond the colours are dashed
_DASHES = ("", "6 3", "2 3")
_FONT = 'font-family="sans-serif" font-size="12"'


def curve_picture(rounds: Sequence[TunedRound]) -> str:
    """Return tuning as SVG that any browser shows: scores by round above, weights below."""
    numbers = [each.number for each in rounds]
    scores = {
        "decoded": [(each.number, 100 * each.score) for each in rounds],
        "best over all candidates": [
            (each.number, 100 * each.optimized.score)
            for each in rounds
            if each.optimized.score is not None
        ],
    }
    names = list(rounds[0].weights) if rounds else []
    weights = {name: [(each.number, each.weights[name]) for each in rounds] for name in names}
    height = 2 * (_HEIGHT + _MARGIN) + max(0, 16 * len(names) - _HEIGHT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEGEND}" height="{height}">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_panel("score by round", scores, numbers, 0),
        *_panel("weights by round", weights, numbers, _HEIGHT + _MARGIN),
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
