"""Steps that make files in a folder, and a journal of what is made already.

Each step has a key: a digest of its settings and of the keys of the steps before it. A step whose
key and outputs are as the journal says is not done again; so a second run continues where the
first one stopped, and a run with other settings does again only what they change.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phrasescore.errors import ResumeError
from phrasescore.files import sha256_of
from phrasescore.provenance import write_json

JOURNAL = "journal.json"
_LOCK = "lock"
# to be raised when the meaning of a step's outputs changes
_FORMAT = 1


@dataclass(frozen=True)
class Step:
    """One step.

    Args:
        name: A short name, unique among the steps.
        work: Does it; returns counts for the report, as JSON values.
        settings: All that its outputs depend on, beside the steps before, as JSON values.
        after: The names of the steps whose outputs it reads.
        outputs: The files it makes, or folders that hold what only later steps read.
        intermediate: Whether its outputs may be gone once the steps that read them are done.
    """

    name: str
    work: Callable[[], Mapping[str, Any]]
    settings: Mapping[str, Any]
    after: tuple[str, ...]
    outputs: tuple[Path, ...]
    intermediate: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a step went: its counts and seconds, and whether an earlier run had done it."""

    name: str
    counts: Mapping[str, Any]
    seconds: float
    resumed: bool


class Journal:
    """The record of finished steps, a JSON file that is rewritten after each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._steps: dict[str, dict[str, Any]] = {}
        if path.is_file():
            try:
                content = json.loads(path.read_text("utf-8"))
                if content["format"] == _FORMAT:
                    self._steps = dict(content["steps"])
            except (ValueError, KeyError, TypeError):
                raise ResumeError(
                    "the journal of an earlier run is damaged",
                    path=path,
                    remedy="remove the folder to build anew",
                ) from None

    def __contains__(self, name: str) -> bool:
        return name in self._steps

    def key(self, name: str) -> str | None:
        """Return the key under which a step was finished."""
        return self._steps.get(name, {}).get("key")

    def settings(self, name: str) -> Mapping[str, Any]:
        """Return the settings with which a step was finished."""
        return dict(self._steps[name]["settings"])

    def is_whole(self, step: Step) -> bool:
        """Tell whether the outputs are there, as they were when the step was finished.

        Raises:
            ResumeError: A file was changed since: it may hold somebody's work.
        """
        recorded = self._steps[step.name]["outputs"]
        for path in step.outputs:
            found = _fingerprint(path)
            if found != recorded.get(path.name):
                if found is None or path.is_dir():
                    return False
                raise ResumeError(
                    "this file was changed since it was built",
                    path=path,
                    remedy="move it away to have it built again, or name another folder",
                )
        return True

    def outcome(self, name: str) -> Outcome:
        """Return how a finished step went."""
        entry = self._steps[name]
        return Outcome(name, entry["counts"], entry["seconds"], resumed=True)

    def record(self, step: Step, key: str, outcome: Outcome) -> None:
        """Note that a step is finished."""
        self._steps[step.name] = {
            "key": key,
            "settings": dict(step.settings),
            "counts": dict(outcome.counts),
            "seconds": outcome.seconds,
            "outputs": {path.name: _fingerprint(path) for path in step.outputs},
        }
        write_json(self.path, {"format": _FORMAT, "steps": self._steps})


def _fingerprint(path: Path) -> Any:
    """Return what tells whole from damaged: a digest of a file, the sizes in a folder."""
    if path.is_dir():
        return {
            str(file.relative_to(path)): file.stat().st_size
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    return sha256_of(path) if path.is_file() else None


def run_steps(steps: Sequence[Step], folder: Path, *, update: bool = False) -> Iterator[Outcome]:
    """Do what is not done yet, in order; yield how each step went.

    Args:
        steps: All steps, each behind those it reads from.
        folder: Where the journal lies; it is made.
        update: Whether to do steps again whose settings differ from those of an earlier run.

    Raises:
        ResumeError: An earlier run had other settings and ``update`` is not given, or a file was
            changed since, or another process is at work here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResumeError(
                "another process is at work here",
                path=folder,
                remedy="wait for it, or name another folder",
            ) from None
        for path in (path for step in steps for path in step.outputs):
            for broken_off in path.parent.glob(f".{path.name}.*.part"):
                broken_off.unlink()  # left by a run that was killed
        yield from _run_steps(steps, folder, update)


def _run_steps(steps: Sequence[Step], folder: Path, update: bool) -> Iterator[Outcome]:
    journal = Journal(folder / JOURNAL)
    keys = _keys(steps)
    if not update:
        _check_same_settings(steps, keys, journal)
    to_do = _to_do(steps, keys, journal)
    for step in steps:
        if step.name in to_do:
            start = time.monotonic()
            counts = step.work()
            outcome = Outcome(step.name, counts, round(time.monotonic() - start, 3), resumed=False)
            journal.record(step, keys[step.name], outcome)
            yield outcome
        elif step.name in journal:
            yield journal.outcome(step.name)
    for step in steps:
        if step.intermediate:
            for path in step.outputs:
                shutil.rmtree(path, ignore_errors=True)


def _keys(steps: Sequence[Step]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for step in steps:
        parts = [_FORMAT, step.name, dict(step.settings), [keys[name] for name in step.after]]
        text = json.dumps(parts, sort_keys=True)
        keys[step.name] = hashlib.sha256(text.encode()).hexdigest()
    return keys


def _to_do(steps: Sequence[Step], keys: Mapping[str, str], journal: Journal) -> set[str]:
    """Return the steps to do: not done yet, and those whose vanished outputs one of them reads."""
    to_do: set[str] = set()
    for step in reversed(steps):
        is_read = any(step.name in later.after and later.name in to_do for later in steps)
        done = journal.key(step.name) == keys[step.name]
        if (is_read or not step.intermediate) and not (done and journal.is_whole(step)):
            to_do.add(step.name)
    return to_do


def _check_same_settings(steps: Sequence[Step], keys: Mapping[str, str], journal: Journal) -> None:
    for step in steps:
        if journal.key(step.name) not in (None, keys[step.name]):
            before = journal.settings(step.name)
            changed = [
                f"{name} was {before.get(name)!r}, is {value!r}"
                for name, value in step.settings.items()
                if before.get(name) != value
            ]
            raise ResumeError(
                f"an earlier run built here with other settings: {'; '.join(changed)}",
                path=journal.path,
                remedy="name another folder, or give --update to build anew what they change",
            )
