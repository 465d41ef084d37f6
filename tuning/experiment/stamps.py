"""What is done already: a stamp for each step, a digest of its command and of what it reads.

A step is done if its stamp has the digest that its command and its inputs have now, and its
outputs are there. Every command gives its outputs their names when they are whole, so outputs of
a step that was begun with the same digest are good even if nobody lived to write that it ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from phrasescore.errors import InputError
from phrasescore.files import sha256_of
from phrasescore.provenance import write_json
from tuning.experiment.step import Step

_DIGESTS = "digests.json"


@dataclass(frozen=True)
class Stamp:
    """How a step went.

    Args:
        digest: Of its command and inputs.
        command: As a user would type it.
        finished: Whether it ended well.
        seconds: By the clock, the last time it ran.
        cpu_seconds: Of it and all it started, the last time it ran.
        attempts: How often it was begun.
    """

    digest: str
    command: str
    finished: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1


class Stamps:
    """The stamps of an experiment, JSON files in a folder of their own.

    Args:
        folder: Made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._digests: dict[str, list[Any]] = dict(_read(folder / _DIGESTS))

    def log(self, step: Step) -> Path:
        """Where the step's output goes."""
        return self._folder / f"{step.name}.log"

    def read(self, name: str) -> Stamp | None:
        """Return a step's stamp, if it has a whole one."""
        values = _read(self._folder / f"{name}.json")
        try:
            return Stamp(**values) if values else None
        except TypeError:
            return None

    def write(self, name: str, stamp: Stamp) -> None:
        """Replace a step's stamp."""
        write_json(self._folder / f"{name}.json", asdict(stamp))

    def digest(self, step: Step) -> str:
        """Return the digest of a step's command and of the content of its inputs.

        Raises:
            InputError: An input does not exist.
        """
        content = {
            "command": [*step.command, str(step.standard_output or "")],
            "inputs": {str(path): self._content(path) for path in step.inputs},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _content(self, path: Path) -> str:
        """Return the digest of a file, or of the files of a folder."""
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.is_file())
            lines = [f"{file.name} {self._content(file)}" for file in files]
            return hashlib.sha256("\n".join(lines).encode()).hexdigest()
        try:
            state = path.stat()
        except FileNotFoundError:
            raise InputError("no such file", path=path) from None
        seen = [state.st_size, state.st_mtime_ns]
        with self._lock:
            known = self._digests.get(str(path))
        if known is not None and known[:2] == seen:
            return str(known[2])
        digest = sha256_of(path)
        with self._lock:
            self._digests[str(path)] = [*seen, digest]
            write_json(self._folder / _DIGESTS, self._digests)
        return digest


def _read(path: Path) -> Mapping[str, Any]:
    """Return the object in a JSON file; nothing if there is none or it is damaged."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
