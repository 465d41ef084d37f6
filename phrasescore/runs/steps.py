"""Runs each step of long work once; a stamp records the inputs of a step and whether it is done.

A step is done if its stamp has the current settings and input digests, and its outputs exist with
the recorded digests. Therefore a second run continues where the first run stopped, and a run with
other settings repeats only the steps that depend on the changed settings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, ResumeError, SettingsError
from phrasescore.runs.final_names import own_folder, refuse_link, remove, remove_parts
from phrasescore.runs.identity import differences, refuse_differences, sha256_of
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.lock import held

Work = TypeVar("Work")
DIGESTS = "digests.json"
_FIGURES = 3  # values that are stored for each file: size, time of change, digest


@dataclass(frozen=True)
class Step(Generic[Work]):
    """One step.

    Args:
        name: The unique name of the step and of its stamp.
        work: The function or command that does the step.
        settings: Everything that the outputs depend on, except the inputs, as JSON values.
        inputs: The files and folders that the step reads.
        outputs: The files and folders that the step creates.
        state: The folder in which the step keeps unfinished work, if any.
    """

    name: str
    work: Work
    settings: Mapping[str, Any]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    state: Path | None = None


# a step whose function returns counts for the report, as JSON values
FunctionStep = Step[Callable[[], Mapping[str, Any]]]


@dataclass(frozen=True)
class Stamp:
    """The record of a step that was started.

    Args:
        settings: The settings of the step.
        inputs: Digests of the step's inputs, in the order of ``Step.inputs``.
        outputs: Digests of the step's outputs, after the step has finished.
        finished: Whether the step succeeded.
        counts: The step's counts, for reports.
        seconds: The wall-clock time of the last run.
    """

    settings: dict[str, Any]
    inputs: list[str]
    outputs: list[str] = field(default_factory=list)
    finished: bool = False
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


class Steps:
    """Steps with stamps in one folder, a JSON file per stamp; threads may share an object.

    Args:
        folder: The folder of the stamps, which is created if it does not exist. Outputs must be in
            its parent, because nothing outside of the parent is created or deleted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = own_folder(folder)
        self._writing = Lock()
        self._digests: dict[str, list[Any]] = {}
        with contextlib.suppress(OSError, ValueError):  # digests can be computed again
            known = read_object(folder / DIGESTS)
            self._digests = {
                path: entry
                for path, entry in known.items()
                if isinstance(entry, list) and len(entry) == _FIGURES
            }
        self._known = dict(self._digests)

    def do(
        self,
        step: Step[Any],
        work: Callable[[], Mapping[str, Any]],
        say: Callable[[str], None] = lambda text: None,
        *,
        outputs_are_whole: bool = False,
    ) -> bool:
        """Do a step unless it is done with the same inputs and settings; return whether it ran.

        Args:
            step: The step. Outputs made from other inputs or settings are deleted first.
            work: Does the step; returns fields of the stamp by name, such as ``counts``.
            say: Prints the reason if the step runs again.
            outputs_are_whole: Whether outputs get their names only when they are complete. If so,
                a step whose outputs exist counts as done, even if it was killed before its stamp
                was finished.

        Raises:
            InputError: An input does not exist.
            ResumeError: A stamp is damaged, or an output was changed after the step.
            SettingsError: An output, or a folder above it, is a link.
        """
        stamp = self.read(step.name)
        changes = self.changes(step, stamp) if stamp is not None else []
        known = stamp is not None and not changes and (stamp.finished or outputs_are_whole)
        if known and stamp is not None and self.is_whole(step, stamp):
            if not stamp.finished:
                self._finish(step, stamp, {})
            return False
        self._make_places(step)
        if changes:
            say(f"{step.name}: {'; '.join(changes)}; therefore the step runs again")
            self._delete(step)
        begun = Stamp(dict(step.settings), self.digests(step.inputs))
        if outputs_are_whole:
            self.write(step.name, begun)
        self._finish(step, begun, work())
        return True

    def read(self, name: str) -> Stamp | None:
        """Return a step's stamp, if it has one.

        Raises:
            ResumeError: The stamp is damaged.
        """
        path = self.folder / f"{name}.json"
        try:
            return from_mapping(Stamp, read_object(path), where=path.name, only_known=False)
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

    def _finish(self, step: Step[Any], begun: Stamp, figures: Mapping[str, Any]) -> None:
        outputs = self.digests(step.outputs)
        stamp = dataclasses.replace(begun, finished=True, outputs=outputs, **figures)
        self.write(step.name, stamp)

    def _make_places(self, step: Step[Any]) -> None:
        """Create the folders of a step's outputs."""
        for path in step.outputs:
            for folder in reversed(path.parents):
                if self.folder.parent in folder.parents:
                    own_folder(folder)
            refuse_link(path)

    def _delete(self, step: Step[Any]) -> None:
        """Delete the outputs and the stamp of a step whose inputs or settings have changed."""
        for path in (*step.outputs, *((step.state,) if step.state else ())):
            if path.is_relative_to(self.folder.parent):
                remove(path)
        (self.folder / f"{step.name}.json").unlink()

    def changes(self, step: Step[Any], stamp: Stamp) -> list[str]:
        """Describe how a step differs from its stamp.

        Raises:
            InputError: An input does not exist.
        """
        found = differences(stamp.settings, step.settings)
        if len(step.inputs) != len(stamp.inputs):
            return [*found, f"the step reads {len(step.inputs)} files, not {len(stamp.inputs)}"]
        names = list(map(str, step.inputs))
        before = dict(zip(names, stamp.inputs, strict=True))
        return found + differences(before, dict(zip(names, self.digests(step.inputs), strict=True)))

    def is_whole(self, step: Step[Any], stamp: Stamp) -> bool:
        """Return whether the outputs exist and are unchanged since the step was finished.

        Raises:
            ResumeError: An output was changed, so it may contain work that must not be lost.
        """
        if not all(path.exists() for path in step.outputs):
            return False
        for path, recorded in zip(step.outputs, stamp.outputs, strict=False):
            if self._content(path) != recorded:
                raise ResumeError(
                    "this output was changed after it was created",
                    path=path,
                    remedy="move it away, so that it is created again, or name another output",
                )
        return True

    def digests(self, paths: Sequence[Path]) -> list[str]:
        """Return the digests of files and folders; only changed files are read again.

        Raises:
            InputError: A path does not exist.
        """
        contents = [self._content(path) for path in paths]
        with self._writing:
            if self._digests != self._known:
                self._known = dict(self._digests)
                write_json(self.folder / DIGESTS, self._known)
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
            raise InputError("no such file", path=path) from None
        seen = [state.st_size, state.st_mtime_ns]
        known = self._digests.get(str(path))
        if known is None or known[:2] != seen:
            known = [*seen, sha256_of(path)]
            with self._writing:
                self._digests[str(path)] = known
        return str(known[2])


@dataclass(frozen=True)
class Outcome:
    """The result of a step: its counts and seconds, and whether an earlier run had done it."""

    name: str
    counts: Mapping[str, Any]
    seconds: float
    resumed: bool


def run_steps(
    steps: Sequence[FunctionStep], folder: Path, *, update: bool = False
) -> Iterator[Outcome]:
    """Do the steps that are not done yet, in order; yield the result of each step.

    Args:
        steps: All steps. A step comes after the steps whose outputs it reads.
        folder: The folder of the stamps, which is created if it does not exist.
        update: Whether to repeat steps whose settings differ from an earlier run's settings.

    Raises:
        ResumeError: An earlier run had other settings and ``update`` is false, a file has been
            changed since that run, or another process is using the folder.
    """
    with held(folder, inside=True):
        for path in (path for step in steps for path in step.outputs):
            remove_parts(path)  # left by a run that was killed
        stamps = Steps(folder)
        for step in steps:
            stamp = stamps.read(step.name)
            if stamp is not None and not update:
                refuse_differences(
                    stamp.settings,
                    step.settings,
                    folder,
                    "name another folder, or give --update to repeat the steps with these settings",
                )
        for step in steps:
            ran = stamps.do(step, functools.partial(_timed, step.work))
            if (stamp := stamps.read(step.name)) is not None:
                yield Outcome(step.name, stamp.counts, stamp.seconds, resumed=not ran)


def _timed(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    start = time.monotonic()
    counts = dict(work())
    return {"counts": counts, "seconds": round(time.monotonic() - start, 3)}
