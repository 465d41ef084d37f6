"""The learning curve: a line of JSON for each evaluation, and TensorBoard if asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from phrasescore.errors import MissingDependencyError
from phrasescore.files import read_lines, write_atomically

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
        points: list[dict[str, Any]] = (
            [json.loads(line) for line in read_lines(path)] if path.exists() else []
        )
        kept = [point for point in points if point["updates"] <= updates]
        text = "".join(json.dumps(point) + "\n" for point in kept)
        write_atomically(path, text.encode())
        self._board = _board(tensorboard, updates) if tensorboard else None

    def add(self, point: dict[str, Any]) -> None:
        """Write one point; ``updates`` is its place on the axis."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(point) + "\n")
        if self._board is not None:
            for name, value in point.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, point["updates"])
            self._board.flush()


def _board(folder: Path, updates: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingDependencyError.extra("tensorboard", "tensorboard") from None
    # a resumed run hides what an interrupted one drew after its last checkpoint
    return SummaryWriter(str(folder), purge_step=updates + 1 if updates else None)
