"""Reads JSON files that may be damaged: any text results in a value or in a `JsonError`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, TypeAlias

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically

# files of this program have a few levels; deep nesting could exhaust a reader's stack
MAX_LEVELS = 100
_CONTROLS = re.compile(r"[\x7f-\x9f]")


class JsonError(ValueError):
    """The reason why a text cannot be JSON that this program wrote."""


JsonObject: TypeAlias = dict[str, Any]  # the values of a JSON object, not checked yet


def parse_json(text: bytes | str) -> Any:
    """Return the value of a JSON text, in which every number is finite as a float.

    Args:
        text: The text; bytes are UTF-8.

    Raises:
        JsonError: The text is not JSON, or has more than 100 levels, a number that is not finite,
            or an object with a name twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, **_NUMBERS)
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    if is_too_deep(value):
        raise JsonError(_TOO_DEEP)
    return value


def parse_object(text: bytes | str) -> JsonObject:
    """Return the values, by key, of a JSON text that is an object, ``{...}``.

    Raises:
        JsonError: As in ``parse_json``, or the value is not an object.
    """
    value = parse_json(text)
    if not isinstance(value, dict):
        raise JsonError("it is not a JSON object")
    return value


def read_object(path: Path) -> JsonObject:
    """Return the object in a regular file of bounded size.

    Raises:
        JsonError: As in ``parse_object``, or the path names a pipe or a device, or the file is
            larger than any file that this program writes.
        OSError: The path is missing, not readable, or names a folder or a socket.
    """
    try:
        content = read_regular(path)
    except InputError as error:
        raise JsonError(f"it is {error.problem}") from None
    return parse_object(content)


def is_too_deep(value: object, levels: int = MAX_LEVELS) -> bool:
    """Tell whether arrays and objects are nested more than ``levels`` deep."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_too_deep(each, levels - 1) for each in inner)


_TOO_DEEP = f"it is nested more than {MAX_LEVELS} levels deep"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise JsonError("an object has a name twice")
    return value


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError(f"it has {digits[:50]} where a finite number was expected")
    return int(digits) if digits.lstrip("-").isdigit() else value


_NUMBERS: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)


def json_bytes(value: object, *, sort_keys: bool = False) -> bytes:
    """Return ``value`` as indented JSON in UTF-8, with a final line feed."""
    text = json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False)
    # escape characters that control terminals, which json.dumps leaves as they are
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    # paths that are not UTF-8 contain surrogates; backslashreplace turns them into JSON escapes
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_json(path: str | Path, value: object) -> None:
    """Write ``value`` as indented JSON with sorted keys and a final line feed, atomically."""
    write_atomically(path, json_bytes(value, sort_keys=True))
