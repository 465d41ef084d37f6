"""Steps of long work and their stamps, which say what is done already.

A step is done if its stamp has the settings and the content of inputs that it has now, and its
outputs are there as the stamp says.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.byte_streams import own_folder, sha256_of
from phrasescore.runs.comparison import differences
from phrasescore.runs.json_files import read_object
from phrasescore.runs.provenance import write_json

Work = TypeVar("Work")
_DIGESTS = "digests.json"
_FIGURES = 3  # of a file there: its size, its time of change, its digest


@dataclass(frozen=True)
class Step(Generic[Work]):
    """One step.

    Args:
        name: Unlike all others; its stamp has it, too.
        work: What does it: a function, or a command.
        settings: All that its outputs depend on, besides its inputs, as JSON values.
        inputs: The files and folders it reads.
        outputs: The files and folders it makes.
        intermediate: Whether its outputs may be deleted once the steps that read them are done.
    """

    name: str
    work: Work
    settings: Mapping[str, Any]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    intermediate: bool = False


@dataclass(frozen=True)
class Stamp:
    """How a step went.

    Args:
        settings: Those of the step.
        inputs: Digests of what it read, in the order of its inputs.
        outputs: Digests of what it made, once it is finished.
        finished: Whether it ended well.
        counts: What it counted, for reports.
        seconds: By the clock, the last time it ran.
        cpu_seconds: Of it and all it started, where that is known.
        attempts: How often it was started.
    """

    settings: dict[str, Any]
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)
    finished: bool = False
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1


class Stamps:
    """The stamps of all steps, JSON files in a folder of their own; threads may share it.

    Args:
        folder: Made if need be.
        steps: Those whose intermediate outputs may be missing.
    """

    def __init__(self, folder: Path, steps: Sequence[Step[Any]] = ()) -> None:
        self.folder = own_folder(folder)
        self._makers = {
            path: (step.name, place) for step in steps for place, path in enumerate(step.outputs)
        }
        self._writing = Lock()
        self._digests: dict[str, list[Any]] = {}
        with contextlib.suppress(OSError, ValueError):  # they can be computed again
            known = read_object(folder / _DIGESTS)
            self._digests = {
                path: entry
                for path, entry in known.items()
                if isinstance(entry, list) and len(entry) == _FIGURES
            }
        self._known = dict(self._digests)

    def read(self, name: str) -> Stamp | None:
        """Return a step's stamp, if it has one.

        Raises:
            ResumeError: It is damaged.
        """
        path = self.folder / f"{name}.json"
        try:
            return from_mapping(Stamp, read_object(path), where=path.name)
        except FileNotFoundError:
            return None
        except (ValueError, SettingsError):
            raise ResumeError(
                "the stamp of an earlier run is damaged",
                path=path,
                remedy="delete the file to do this step again",
            ) from None

    def write(self, name: str, stamp: Stamp) -> None:
        """Replace a step's stamp."""
        write_json(self.folder / f"{name}.json", dataclasses.asdict(stamp))

    def begun(self, step: Step[Any]) -> Stamp:
        """Return the stamp of a step that begins now.

        Raises:
            InputError: An input does not exist.
        """
        before = self.read(step.name)
        attempts = before.attempts + 1 if before is not None else 1
        return Stamp(dict(step.settings), self.digests(step.inputs), attempts=attempts)

    def finish(self, step: Step[Any], begun: Stamp, **figures: Any) -> Stamp:
        """Write the stamp of a step that has ended well, with counts and seconds; return it."""
        outputs = self.digests(step.outputs)
        stamp = dataclasses.replace(begun, finished=True, outputs=outputs, **figures)
        self.write(step.name, stamp)
        return stamp

    def changes(self, step: Step[Any], stamp: Stamp) -> list[str]:
        """Say in what a step differs from the one that was stamped.

        Raises:
            InputError: An input does not exist.
        """
        found = differences(stamp.settings, step.settings)
        if len(step.inputs) != len(stamp.inputs):
            return [*found, f"it reads {len(step.inputs)} files, not {len(stamp.inputs)}"]
        now = self.digests(step.inputs)
        names = zip(step.inputs, stamp.inputs, now, strict=True)
        return found + [f"{path} is another" for path, old, new in names if old != new]

    def is_whole(self, step: Step[Any], stamp: Stamp) -> bool:
        """Tell whether the outputs are there, as they were when the step was finished.

        Raises:
            ResumeError: One was changed since: it may hold somebody's work.
        """
        if not all(path.exists() for path in step.outputs):
            return False
        for path, recorded in zip(step.outputs, stamp.outputs, strict=False):
            if self._content(path) != recorded:
                if step.intermediate:
                    return False
                raise ResumeError(
                    "this was changed since it was made",
                    path=path,
                    remedy="move it away to have it made again, or name another output",
                )
        return True

    def digests(self, paths: Sequence[Path]) -> list[str]:
        """Return the digests of files and folders, read again only where they have changed.

        Raises:
            InputError: One does not exist.
        """
        contents = [self._content(path) for path in paths]
        with self._writing:
            if self._digests != self._known:
                self._known = dict(self._digests)
                write_json(self.folder / _DIGESTS, self._known)
        return contents

    def _content(self, path: Path) -> str:
        """Return the digest of a file, or of the files of a folder."""
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            lines = [f"{file.relative_to(path)} {self._content(file)}" for file in files]
            return hashlib.sha256("\n".join(lines).encode()).hexdigest()
        try:
            state = path.stat()
        except FileNotFoundError:
            return self._recorded(path)
        seen = [state.st_size, state.st_mtime_ns]
        known = self._digests.get(str(path))
        if known is None or known[:2] != seen:
            known = [*seen, sha256_of(path)]
            with self._writing:
                self._digests[str(path)] = known
        return str(known[2])

    def _recorded(self, path: Path) -> str:
        """Return the digest that an output had which is gone by now."""
        name, place = self._makers.get(path, ("", 0))
        stamp = self.read(name) if name else None
        if stamp is None or not stamp.finished or place >= len(stamp.outputs):
            raise InputError("no such file", path=path)
        return stamp.outputs[place]
