"""The learning curve: a line of JSON for each evaluation, and TensorBoard if asked for."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from phrasescore.errors import MissingDependencyError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import own_file, write_atomically
from phrasescore.runs.json_files import parse_object

CURVES = "curves.jsonl"


class Curves:
    """Append points to ``curves.jsonl``; a resumed run forgets the points after its checkpoint.

    Args:
        path: The file.
        updates: Updates of the run so far: later points are dropped.
        tensorboard: A folder for TensorBoard events, or ``None``.
    """

    def __init__(self, path: Path, updates: int, tensorboard: Path | None = None) -> None:
        self._path = path
        kept = [point for point in _points(path) if point["updates"] <= updates]
        text = "".join(json.dumps(point) + "\n" for point in kept)
        write_atomically(path, text.encode())
        self._board = _board(tensorboard, updates) if tensorboard else None

    def add(self, point: dict[str, Any]) -> None:
        """Write one point; ``updates`` is its place, and what is not finite becomes ``None``."""
        point = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in point.items()
        }
        with own_file(self._path, os.O_APPEND) as stream:
            stream.write(json.dumps(point).encode() + b"\n")
        if self._board is not None:
            for name, value in point.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, point["updates"])
            self._board.flush()


def _points(path: Path) -> list[dict[str, Any]]:
    """Return the points of a file up to the first line that is not whole: a kill may cut one."""
    points: list[dict[str, Any]] = []
    lines = read_regular(path).split(b"\n") if path.exists() else []
    for line in lines[:-1]:
        try:
            point = parse_object(line)
        except ValueError:
            break
        if type(point.get("updates")) is not int:
            break
        points.append(point)
    return points


def _board(folder: Path, updates: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingDependencyError.extra("tensorboard", "tensorboard") from None
    # a resumed run hides what an interrupted one drew after its last checkpoint
    return SummaryWriter(str(folder), purge_step=updates + 1 if updates else None)


def described(point: dict[str, Any], of_text: bool) -> str:
    """Write a point of the curve as a line for the user.

    Args:
        point: As :meth:`Curves.add` takes it.
        of_text: Whether what is held out are sentences of a text.
    """
    text = f"epoch {point['epoch']:.2f}, {point['seconds']:,.0f} s: nll {point['training_nll']:.3f}"
    for name, what in (
        ("sources", f"unseen {'sentences' if of_text else 'sources'}"),
        ("pairs", "unseen pairs"),
    ):
        nll = point[f"held_out_{name}_nll"]
        if nll is not None:
            text += f", {what} {nll:.3f}"
    return f"{text} ({point['words_per_second']:,} words/s)"
