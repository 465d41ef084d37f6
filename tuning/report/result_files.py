"""Reads records and texts from a results folder, which may come from an untrusted person."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.json_files import JsonError, parse_object
from phrasescore.runs.results import RESULT, Record, parse_record
from tuning.loop.work_folder import WEIGHTS

T = TypeVar("T")
_LONGEST_NAME = 4096
_LEVELS = 5
# results of phrasescore are far smaller; larger JSON comes from another program
_LARGEST_JSON = 1 << 24


class ResultFiles:
    """The files that a report may read: in the results folder, or named by the user.

    Links are resolved first, so an untrusted folder cannot make a report show other files.

    Args:
        folder: The results folder of the report.
        named: Further folders and files that the user named.
    """

    def __init__(self, folder: Path, named: Sequence[Path] = ()) -> None:
        self._near = [path for path in (folder, *named) if path.is_dir()]
        self._named = [path for path in named if not path.is_dir()]
        self._allowed = [Path(os.path.realpath(path)) for path in (folder, *named)]

    def may_read(self, path: Path) -> bool:
        """Return whether a path, with links resolved, leads to a file that may be read."""
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(allowed) for allowed in self._allowed)

    def lines(self, kind: type[T], path: Path) -> tuple[T, ...]:
        """Return the objects in a file, one per line; an incomplete last line is ignored.

        Raises:
            InputError: The file cannot be read, is not allowed, or has a malformed line.
        """
        lines = self.bytes(path).split(b"\n")[:-1] if path.exists() else []
        where = "not a record of phrasescore"
        try:
            objects = [_object(line, path) for line in lines]
            return tuple(
                from_mapping(kind, each, where=where, only_known=False) for each in objects
            )
        except SettingsError as error:
            raise InputError(error.problem, path=path) from None

    def bytes(self, path: Path) -> bytes:
        """Return the content of a file.

        Raises:
            InputError: The file cannot be read, is too large, or is not allowed.
        """
        if not self.may_read(path):
            raise InputError(
                "this link leads out of the results, so it is not followed",
                path=path,
                remedy="with --data, name the folder that it leads to",
            )
        try:
            return read_regular(path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", path=path) from None

    def located(self, name: str, near: Path) -> Path:
        """Find a file that a record names, even if the record's command ran in another folder.

        A results folder may have been moved together with its texts, so nearby files come first.

        Args:
            name: The name that the command used.
            near: The folder of the record.

        Raises:
            InputError: No allowed file has this name.
        """
        for path in self._places(Path(name), near) if 0 < len(name) <= _LONGEST_NAME else ():
            if os.path.isfile(path) and self.may_read(path):  # noqa: PTH113 - any length
                return path
        raise InputError(
            "there is no such file in the results, and a report reads no files outside them",
            path=name,
            remedy="with --data, name the folder that contains it",
        )

    def _places(self, path: Path, near: Path) -> Iterable[Path]:
        parts = path.parts[1:] if path.is_absolute() else path.parts
        for folder in (near.absolute(), *self._near):
            for begin in range(len(parts)):
                yield folder.joinpath(*parts[begin:])
        yield path
        for folder in near.absolute().parents if not path.is_absolute() else ():
            yield folder / path
        yield from (named for named in self._named if named.name == path.name)


def left_out(error: Exception) -> str:
    """Return the sentence that tells the reader why a file is missing from the report."""
    return f"{error} The report omits this file."


def _object(text: bytes, path: Path) -> dict[str, Any]:
    try:
        return parse_object(text)
    except JsonError as error:
        raise InputError(f"not a record of phrasescore: {error}", path=path) from None


@dataclass(frozen=True)
class FoundResult:
    """A record, or a damaged file that should hold one.

    Args:
        path: The file of the record.
        name: The path of the file, or of the folder of a ``result.json``, relative to the searched
            folder.
        record: The record; ``None`` if the file is damaged.
        note: The sentence about the damage.
    """

    path: Path
    name: str
    record: Record | None
    note: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self.path.parent


def find_results(root: Path, files: ResultFiles) -> Iterator[FoundResult]:
    """Yield the records in a folder and up to ``_LEVELS`` levels below it."""
    seen: set[str] = set()
    for folder, subfolders, names in os.walk(root, followlinks=True):
        here, place = Path(folder), os.path.realpath(folder)
        if place in seen:  # a link led here before, perhaps in a circle
            subfolders.clear()
            continue
        seen.add(place)
        is_deepest = len(here.relative_to(root).parts) == _LEVELS
        shown = [
            name
            for name in subfolders
            if not (is_deepest or name.startswith(".")) and files.may_read(here / name)
        ]
        # links come last, so that a folder is found under its own name
        subfolders[:] = sorted(shown, key=lambda name: (here / name).is_symlink())
        for name in names:
            # a result.json has the weights and the rounds, so skip the weights.json beside it
            if name.endswith(".json") and not (name == WEIGHTS and RESULT in names):
                yield from _found(here / name, root, files)


def _found(path: Path, root: Path, files: ResultFiles) -> Iterator[FoundResult]:
    """Yield the record of a result file, or the note about its damage; else nothing."""
    is_result = path.name == RESULT
    named = path.parent if is_result else path
    name = root.absolute().name if named == root else str(named.relative_to(root))
    try:
        if path.stat().st_size > _LARGEST_JSON:
            return
        record = parse_record(_object(files.bytes(path), path))
        if record is not None:
            yield FoundResult(path, name, record)
        elif is_result:
            raise SettingsError("not a record of phrasescore: its kind of result is unknown")
    except (InputError, OSError) as error:
        # JSON under any other name may come from another program
        if is_result:
            yield FoundResult(path, name, None, left_out(error))
    except SettingsError as error:
        damage = InputError(error.problem, path=path, remedy=error.remedy)
        yield FoundResult(path, name, None, left_out(damage))
