"""The ledger of long work: what each work was, whether a command asks for the same, what is done.

An entry states the settings of a work, the digests of its inputs, and the version of the program.
`differences` is the only comparison of two works, and `refuse_another` the only refusal.

``run.json`` in a work folder is the entry of the command that owns the folder. A `Ledger` is a
folder with an entry for each step of the work. A step is done if its entry has the current settings
and inputs, and its outputs exist with the recorded digests. So a second run continues where the
first run stopped, and a run with other settings repeats only the steps that depend on them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from phrasescore import __version__
from phrasescore.closed_settings import from_mapping
from phrasescore.errors import ResumeError, SettingsError, StorageError, refusal, visible
from phrasescore.runs import final_names
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.lock import LOCK, held
from phrasescore.runs.progress import Say

Work = TypeVar("Work", covariant=True)
RECORD = "run.json"
_DIGESTS = "digests.json"
_NEW_FOLDER = "move it away, or name a new folder"
_UP_TO = "up to"  # in the counts of a step that continues: the limits that it shall reach
_MAX_SHOWN = 50  # maximum number of characters of a value in a message; digests are longer


@dataclass(frozen=True)
class Entry:
    """The record of a work.

    Args:
        settings: Everything that the outputs depend on, except the inputs, as JSON values.
        inputs: The digests of the inputs.
        version: The version of the program that began the work.
        outputs: The digests of the outputs, after the work has finished.
        finished: Whether the work has finished.
        counts: The counts of the work, as JSON values.
        seconds: The wall-clock time of the last run, or of all runs if the work was continued.
    """

    settings: dict[str, Any]
    inputs: list[str] = field(default_factory=list)
    version: str = ""
    outputs: list[str] = field(default_factory=list)
    finished: bool = False
    counts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def entry_of(settings: Mapping[str, Any], inputs: Sequence[str | Path]) -> Entry:
    """Return the entry of work that begins now.

    Raises:
        InputError: An input is a pipe, which could not be read again.
        OSError: An input does not exist.
    """
    return Entry(dict(settings), list(map(sha256_of, inputs)), __version__)


def differences(
    before: Entry,
    now: Entry,
    inputs: Sequence[object] = (),
    limits: Collection[str] = (),
    changed: str = "has changed",
) -> list[str]:
    """Describe how two works differ; equal works give equal outputs.

    Unfinished work is not continued by another version of the program. A limit of rounds, epochs or
    time may change until the work is finished; then it may only grow.

    Args:
        before: The recorded work.
        now: The work that a command asks for; a missing setting equals ``None``.
        inputs: The names of the inputs.
        limits: The settings that are limits; ``None`` means no limit.
        changed: The predicate of the message about an input whose digest differs.

    >>> differences(Entry({"seed": 1, "text": "0" * 64}), Entry({"seed": 2}))
    ['seed was 1 and is now 2', 'text has changed']
    """
    old, new = dict(_flat(before.settings)), dict(_flat(now.settings))
    pairs = {name: (old.get(name), new.get(name)) for name in sorted({*old, *new})}
    for name in limits:
        if not before.finished or _has_grown(*pairs.get(name, (None, None))):
            pairs.pop(name, None)
    if not before.finished:
        pairs["the version of phrasescore"] = before.version, now.version
    texts = {name: tuple(map(_text, values)) for name, values in pairs.items()}
    found = [
        f"{name} was {past} and is now {present}"
        if max(len(past), len(present)) <= _MAX_SHOWN
        else f"{name} has changed"
        for name, (past, present) in texts.items()
        if past != present
    ]
    if len(before.inputs) != len(now.inputs):
        return [*found, f"the work reads {len(now.inputs)} files, not {len(before.inputs)}"]
    names = inputs or [f"input {number + 1}" for number in range(len(now.inputs))]
    digests = zip(names, before.inputs, now.inputs, strict=True)
    return found + [f"{name} {changed}" for name, old, new in digests if old != new]


def _flat(settings: Mapping[str, Any], begin: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting; the name of a setting within a setting is such as ``tuning.rounds``."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{begin}{name}.")
        else:
            yield f"{begin}{name}", value


def _has_grown(old: Any, new: Any) -> bool:
    """Return whether a limit is at least as high as before."""
    are_numbers = isinstance(old, float | int) and isinstance(new, float | int)
    return new is None or (are_numbers and old <= new)


def _text(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, sort_keys=True)


def refuse_another(
    before: Entry,
    now: Entry,
    path: str | Path,
    remedy: str,
    inputs: Sequence[object] = (),
    limits: Collection[str] = (),
) -> None:
    """Raise an error unless the work at ``path`` is what a command asks for.

    Raises:
        ResumeError: The works differ; the error names each difference between works of one command.
    """
    shared = before.settings.keys() & now.settings.keys()
    if 2 * len(shared) < min(len(before.settings), len(now.settings)):
        raise ResumeError("this is the work of another command", path=path, remedy=_NEW_FOLDER)
    # the user may have named another file, so "has changed" could be false
    is_another = "is not the file that the work began with"
    if found := differences(before, now, inputs, limits, is_another):
        raise ResumeError(begun_otherwise(found), path=path, remedy=remedy)


def begun_otherwise(found: Sequence[str]) -> str:
    """Return the sentence about work that a command does not continue."""
    return f"the work was begun with other settings: {'; '.join(found)}"


def read_entry(path: Path) -> Entry | None:
    """Return the entry in a file, if there is one.

    Raises:
        ResumeError: The file is damaged, or another program or version wrote it.
    """
    try:
        return from_mapping(Entry, read_object(path), where=path.name, only_known=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, SettingsError) as error:
        reason = error.problem if isinstance(error, SettingsError) else str(error)
        raise ResumeError(
            f"not a record of work that this version can continue ({reason})",
            path=path,
            remedy=_NEW_FOLDER,
        ) from None


def write_entry(path: Path, entry: Entry) -> None:
    """Write an entry, atomically."""
    write_json(path, dataclasses.asdict(entry))


def check_owner(folder: Path, record: str = RECORD) -> None:
    """Raise an error if a folder has files, but not the record of a command that wrote them.

    Args:
        folder: The folder, which need not exist.
        record: The file or folder that the command makes first.

    Raises:
        ResumeError: The folder belongs to somebody else, or is a file.
    """
    if not (folder / record).exists():
        refuse_files(folder, record)


def refuse_files(folder: Path, lacks: str) -> None:
    """Raise an error unless a folder is empty or missing, because it has no record of this command.

    Raises:
        ResumeError: The folder has files, or is a file.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        problem = "a file, where a folder was expected"
    elif others := _other_files(folder):
        problem = f"the folder is not empty ({others[0]}) and has no {lacks}"
    else:
        return
    raise ResumeError(problem, path=folder, remedy=_NEW_FOLDER)


def _other_files(folder: Path) -> list[str]:
    """Return the names in a folder, except what a process leaves that is killed at its start."""
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted(
        visible(os.fsencode(name), 80)
        for name in names
        if not (name.startswith(LOCK) or final_names.whole_name(name) or name == RECORD)
    )


def begin(
    folder: Path, now: Entry, inputs: Sequence[object], remedy: str, limits: Collection[str] = ()
) -> None:
    """Record a command's work in its folder, or find the record of the same work there.

    Args:
        folder: The folder, which is created if it does not exist; the caller holds a lock.
        now: The work.
        inputs: The names of the inputs.
        remedy: What the user can do if the folder has other work.
        limits: As in `differences`.

    Raises:
        ResumeError: The folder belongs to other work, or is a file.
    """
    check_owner(folder)
    before = read_entry(folder / RECORD)
    # if only the record exists, the command failed on its input: a corrected run may begin
    if before is not None and _other_files(folder):
        refuse_another(before, now, folder, remedy, inputs, limits)
    folder.mkdir(exist_ok=True)
    for part in folder.rglob(".*.part"):
        if part.is_file():  # left by a process that was killed
            part.unlink()
    write_entry(folder / RECORD, now)


def remove_work(folder: Path) -> None:
    """Remove a work folder; after a kill it is there as before, or gone.

    Raises:
        ResumeError: The folder is not the work folder of a command.
    """
    check_owner(folder)
    if folder.exists():
        read_entry(folder / RECORD)  # raises an error if another program wrote it
        with final_names.scratch_folder(folder) as scratch:
            folder.rename(scratch / folder.name)


@dataclass(frozen=True)
class Step(Generic[Work]):
    """One step.

    Args:
        name: The unique name of the step and of its entry.
        work: The function or command that does the step.
        settings: Everything that the outputs depend on, except the inputs, as JSON values.
        inputs: The files and folders that the step reads.
        outputs: The files and folders that the step creates.
        state: The folder in which the step keeps unfinished work, if any.
        limits: Settings that may grow, such as rounds or seconds. If the step has finished and only
            limits grew, its work continues from its outputs.
    """

    name: str
    work: Work
    settings: Mapping[str, Any]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    state: Path | None = None
    limits: Mapping[str, float] = field(default_factory=dict)


# a step whose function returns counts, as JSON values, if there are any
FunctionStep = Step[Callable[[], Mapping[str, Any] | None]]


@dataclass(frozen=True)
class Outcome:
    """The result of a step: its counts and seconds, and whether an earlier run had done it."""

    name: str
    counts: Mapping[str, Any]
    seconds: float
    resumed: bool


class Ledger:
    """A folder with an entry, ``NAME.json``, for each step; threads may share an object.

    Args:
        folder: The folder, which is created if it does not exist. Outputs must be in its parent,
            because nothing outside of the parent is created or deleted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = final_names.own_folder(folder)
        self._writing = Lock()
        self._digests: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):  # digests can be computed again
            self._digests = read_object(folder / _DIGESTS)
        self._known = len(self._digests)

    def path(self, name: str) -> Path:
        """Return the file of a step's entry."""
        return self.folder / f"{name}.json"

    def entry(self, name: str) -> Entry | None:
        """Return the entry of a step; ``None`` if it was never begun."""
        return read_entry(self.path(name))

    def finished_entry(self, name: str) -> Entry | None:
        """Return the entry of a step that has finished; ``None`` for any other step."""
        entry = self.entry(name)
        return entry if entry and entry.finished else None

    def do(
        self, step: FunctionStep, say: Say = lambda text: None, *, outputs_are_whole: bool = False
    ) -> Outcome:
        """Do a step unless it is done with the same inputs and settings.

        Args:
            step: The step. Outputs made from other inputs or settings are deleted first.
            say: Prints the reason if the step runs again.
            outputs_are_whole: Whether the step has no counts, and its outputs get their names only
                when they are complete. If so, a step whose outputs exist counts as done, even if it
                was killed before its entry was finished.

        Raises:
            InputError: An input does not exist.
            ResumeError: An entry is damaged, or an output was changed after the step.
            SettingsError: An output, or a folder above it, is a link.
        """
        settings = {**step.settings, **step.limits}
        now = Entry(settings, self.digests(step.inputs), __version__)
        entry = self.entry(step.name)
        # unfinished work may depend on its limits, as the learning rate of a training does
        limits = step.limits if entry and entry.finished else ()
        changes = [] if entry is None else differences(entry, now, step.inputs, limits)
        is_known = entry is not None and not changes and (entry.finished or outputs_are_whole)
        is_whole = entry is not None and is_known and self._is_whole(step, entry)
        if entry and is_whole and entry.settings == {**entry.settings, **step.limits}:
            if not entry.finished:
                self._finish(step, entry)
            return Outcome(step.name, entry.counts, entry.seconds, resumed=True)
        self._make_places(step)
        if changes:
            say(f"{step.name}: {'; '.join(changes)}; therefore the step runs again")
            for path in (*step.outputs, step.state):
                self._remove(path)
            self.path(step.name).unlink()
        begun = now if entry is None or changes else self._continued(step, now, entry, is_whole)
        if outputs_are_whole:
            write_entry(self.path(step.name), begun)
        start = time.monotonic() - begun.seconds
        try:
            counts = dict(step.work() or {})
        except BaseException:
            if outputs_are_whole and step.limits:
                spent = round(time.monotonic() - start, 3)
                with contextlib.suppress(OSError, StorageError):
                    write_entry(self.path(step.name), dataclasses.replace(begun, seconds=spent))
            raise
        seconds = round(time.monotonic() - start, 3)
        self._finish(step, dataclasses.replace(now, counts=counts, seconds=seconds))
        return Outcome(step.name, counts, seconds, resumed=False)

    def _continued(self, step: Step[Any], now: Entry, entry: Entry, is_whole: bool) -> Entry:
        """Return the entry that a step begins with if an earlier call asked for the same work."""
        if not is_whole:  # a step with limits continues after an interruption
            continues = step.limits and not entry.finished
            return dataclasses.replace(now, seconds=entry.seconds) if continues else now
        # until the limit is reached, the lower one counts, without digests
        limits_then, limits_now = entry.counts.get(_UP_TO), dict(step.limits)
        holds_outputs = any(step.state in (path, *path.parents) for path in step.outputs)
        if limits_then not in (None, limits_now) and not holds_outputs:
            self._remove(step.state)  # work up to another limit, which cannot be continued
        return dataclasses.replace(entry, outputs=[], counts={_UP_TO: limits_now})

    def _finish(self, step: Step[Any], begun: Entry) -> None:
        outputs = self.digests(step.outputs)
        entry = dataclasses.replace(begun, finished=True, outputs=outputs)
        write_entry(self.path(step.name), entry)

    def _make_places(self, step: Step[Any]) -> None:
        """Create the folders of a step's outputs."""
        for path in step.outputs:
            for folder in reversed(path.parents):
                if self.folder.parent in folder.parents:
                    final_names.own_folder(folder)
            final_names.refuse_link(path)

    def _remove(self, path: Path | None) -> None:
        if path is not None and path.is_relative_to(self.folder.parent):
            final_names.remove(path)

    def _is_whole(self, step: Step[Any], entry: Entry) -> bool:
        """Return whether the outputs exist and are unchanged since the step was finished.

        Raises:
            ResumeError: An output was changed, so it may contain work that must not be lost.
        """
        if not all(path.exists() for path in step.outputs):
            return False
        for path, recorded in zip(step.outputs, entry.outputs, strict=False):
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
            if len(self._digests) != self._known:
                self._known = len(self._digests)
                write_json(self.folder / _DIGESTS, dict(self._digests))
        return contents

    def _content(self, path: Path) -> str:
        """Return the digest of a file, or of the files of a folder."""
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            lines = [f"{file.relative_to(path)} {self._content(file)}" for file in files]
            return hashlib.sha256("\n".join(lines).encode()).hexdigest()
        try:
            state = path.stat()
        except FileNotFoundError as error:
            raise refusal(error, path) from None
        version = f"{path}, {state.st_size} bytes of {state.st_mtime_ns}"
        if version not in self._digests:
            self._digests[version] = sha256_of(path)
        return str(self._digests[version])


def has_finished(folder: Path) -> bool:
    """Return whether the folder of a ledger has the entry of a finished step."""
    entries = (read_entry(path) for path in folder.glob("*.json") if path.name != _DIGESTS)
    return any(entry is not None and entry.finished for entry in entries)


def run_steps(
    steps: Sequence[FunctionStep], folder: Path, *, update: bool = False
) -> Iterator[Outcome]:
    """Do the steps that are not done yet, in order; yield the result of each step.

    Args:
        steps: All steps. A step comes after the steps whose outputs it reads.
        folder: The folder of the ledger, which is created if it does not exist.
        update: Whether to repeat steps whose settings differ from an earlier run's settings.

    Raises:
        ResumeError: An earlier run had other settings and ``update`` is false, a file has been
            changed since that run, or another process is using the folder.
    """
    with held(folder, inside=True):
        for path in itertools.chain.from_iterable(step.outputs for step in steps):
            final_names.remove_parts(path)  # left by a run that was killed
        ledger = Ledger(folder)
        for step in () if update else steps:
            if (entry := ledger.entry(step.name)) is not None:
                refuse_another(
                    entry,
                    dataclasses.replace(entry, settings=dict(step.settings)),
                    folder,
                    "name another folder, or give --update to repeat the steps with these settings",
                )
        yield from (ledger.do(step) for step in steps)
