"""What a folder holds: results of which commands, there or one or two levels down."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phrasescore.errors import InputError
from phrasescore.runs.lock import LOCK, is_held
from tuning.report.readers.reading import ResultFiles

Kind = Literal["experiment", "tuning", "model", "training", "system", "comparison", "scoring"]
_LEVELS = 2
# a result of ours is far smaller, and other JSON may be anything
_LARGEST_JSON = 1 << 24
_ROUND = re.compile(r"round[0-9]{2,}")
_SEED = re.compile(r"seed[0-9]+")


@dataclass(frozen=True)
class FoundResults:
    """Results of one command.

    Args:
        kind: Which command left them.
        path: A folder, or a file of JSON.
        name: What they are called: the path within the folder that was asked for.
    """

    kind: Kind
    path: Path
    name: str


def find_results(folder: str | Path, files: ResultFiles) -> tuple[FoundResults, ...]:
    """Return what a folder holds; those within results belong to them and are not named again.

    Raises:
        InputError: Nothing is there that could be shown.
    """
    root = Path(folder)
    found = tuple(_within(root, root, _LEVELS, files))
    if not found:
        some = any(root.iterdir())
        raise InputError(
            "no results of phrasescore are here" if some else "the folder is empty",
            path=folder,
            remedy="name a folder that experiment, tune, train or the demo wrote, or one that has "
            "such folders or the JSON of compare --json-file or score --report in it",
        )
    return found


def is_at_work(folder: str | Path) -> bool:
    """Tell whether a process is at work in a folder, or up to three levels below it."""
    return any(is_held(lock) for lock in _locks(Path(folder), _LEVELS + 1))


def _locks(folder: Path, levels: int) -> Iterator[Path]:
    for entry in _entries(folder):
        if entry.name.endswith(LOCK) and entry.name.startswith("."):
            yield Path(entry)
        elif levels and entry.is_dir(follow_symlinks=False):
            yield from _locks(Path(entry), levels - 1)


def _within(folder: Path, root: Path, levels: int, files: ResultFiles) -> Iterator[FoundResults]:
    if not files.may_read(folder):
        return
    kind = _kind(folder)
    name = folder.absolute().name if folder == root else str(folder.relative_to(root))
    if kind is not None:
        yield FoundResults(kind, folder, name)
        return
    below = []
    for entry in _entries(folder):
        path = Path(entry)
        if entry.is_dir():
            if not entry.name.startswith("."):
                below.append(path)
        elif entry.name.endswith(".json") and (of_file := _kind_of_json(path, files)):
            yield FoundResults(of_file, path, str(path.relative_to(root)))
    for path in below if levels else ():
        yield from _within(path, root, levels - 1, files)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing in one that cannot be read or is gone by now."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []


def _kind(folder: Path) -> Kind | None:
    names = {entry.name for entry in _entries(folder)}
    if "results.json" in names or {"commands.sh", "steps"} <= names:
        return "experiment"
    if "run.json" in names and (
        "filtered" in names or any(_ROUND.fullmatch(name) for name in names)
    ):
        return "tuning"
    if {"config.json", "model.safetensors"} <= names:
        return "model"
    if folder.name.endswith(".training") and "settings.json" in names:
        return "training"
    if {"report.json", "provenance.json", "moses.ini"} <= names:
        return "system"
    return None


def _kind_of_json(path: Path, files: ResultFiles) -> Kind | None:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            return None
        content = files.content(path)
    except (OSError, InputError):
        return None
    if {"metrics", "files", "references", "trials"} <= content.keys():
        return "comparison"
    if {"pairs", "work", "savings", "columns"} <= content.keys():
        return "scoring"
    return None


def score_reports(folder: Path, files: ResultFiles) -> tuple[Path, ...]:
    """Return the reports of ``score`` in a folder, by name."""
    paths = [Path(entry) for entry in _entries(folder) if entry.name.endswith(".json")]
    return tuple(path for path in paths if _kind_of_json(path, files) == "scoring")


def folders_in(folder: Path, files: ResultFiles) -> tuple[Path, ...]:
    """Return the folders in a folder that may be read, by name."""
    paths = (Path(entry) for entry in _entries(folder) if entry.is_dir())
    return tuple(path for path in paths if files.may_read(path))


def find_models(folder: Path, files: ResultFiles) -> tuple[tuple[Path, str], ...]:
    """Return the models in a folder, one or two levels down, and what they are called there."""
    found = _within(folder, folder, _LEVELS, files)
    return tuple((each.path, each.name) for each in found if each.kind in ("model", "training"))


def seed_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders ``seedN`` in a folder, in the order of their numbers."""
    found = [Path(entry) for entry in _entries(folder) if _SEED.fullmatch(entry.name)]
    return tuple(
        sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name[4:]))
    )


def round_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders of the rounds of a tuning, in order."""
    found = [Path(entry) for entry in _entries(folder) if _ROUND.fullmatch(entry.name)]
    return tuple(
        sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name[5:]))
    )
