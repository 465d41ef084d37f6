"""Results of commands: typed records, which are written as JSON and read back.

A command whose output is a folder writes ``result.json`` into it. ``--json-file`` writes the same
record to a file of any name. Every record has ``kind``, the command that wrote it, and ``version``.
A command whose record other commands read has a class of its record beside its code.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import SettingsError
from phrasescore.runs.json_files import JsonError, read_object, write_json

RESULT = "result.json"
VERSION = 1  # raise this number if older programs cannot read new records
# every real result is within these bounds; larger numbers would not fit into pictures
Number = Annotated[float, Between(-1e9, 1e9)]
Seconds = Annotated[float, Between(0, 1e12)]
Probability = Annotated[float, Between(0, 1)]
Count = Annotated[int, Between(0, 10**15)]
Positive = Annotated[int, Between(1, 10**15)]


@dataclass(frozen=True)
class Record:
    """A record of one kind. A field that has its default value is not written."""

    kind: ClassVar[str] = ""

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON values."""
        return {"kind": self.kind, "version": VERSION, **_values(self)}

    def write(self, path: str | Path) -> None:
        """Write the record, atomically."""
        write_json(path, self.to_json())


Known = TypeVar("Known", bound=Record)


def _values(value: object) -> Any:
    """Convert nested dataclasses to mappings, and paths to text."""
    if dataclasses.is_dataclass(value):
        return {
            each.name: _values(getattr(value, each.name))
            for each in dataclasses.fields(value)
            if getattr(value, each.name) != each.default
        }
    if isinstance(value, Mapping):
        return {key: _values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_values(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def parse_record(content: Mapping[str, object], *classes: type[Known]) -> Known | None:
    """Return the record in a JSON object; ``None`` if none of the classes has its kind.

    Raises:
        SettingsError: The record has another version, or a value is missing or of another type.
    """
    known = {each.kind: each for each in classes}
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in known or "version" not in content:
        return None
    if content["version"] != VERSION or isinstance(content["version"], bool):
        raise SettingsError(
            f"a result of version {str(content['version'])[:20]}, expected version {VERSION}",
            remedy="run the command again with this version of phrasescore",
        )
    return from_mapping(known[kind], content, where="not a record of phrasescore", only_known=False)


def has_record(folder: Path, kind: type[Record]) -> bool:
    """Return whether the ``result.json`` of a folder says that a command of this kind made it.

    A command that writes into an existing folder asks first, and writes this record before any
    other file, so that it replaces only its own files and still continues after a kill.
    """
    with contextlib.suppress(OSError, JsonError):
        return bool(read_object(folder / RESULT).get("kind") == kind.kind)
    return False
