"""JSON files that others may have damaged: any text gives a value or one kind of error."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically

# honest files have a few levels; deeper nesting could exhaust the stack of their readers
MAX_LEVELS = 100
_CONTROLS = re.compile(r"[\x7f-\x9f]")


class JsonError(ValueError):
    """The reason why a text is not JSON that this program wrote."""


def parse_json(text: bytes | str) -> Any:
    """Return the value of a text; every number in it is finite as a float.

    Args:
        text: In UTF-8, if bytes.

    Raises:
        JsonError: The file is not JSON, has more than 100 levels, or a number that is not finite.
    """
    try:
        value = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    if is_too_deep(value):
        raise JsonError(_TOO_DEEP)
    return value


def parse_object(text: bytes | str) -> dict[str, Any]:
    """Return the values of a text that is one object, ``{...}``, by key.

    Raises:
        JsonError: As ``parse_json``, or the value is not an object.
    """
    value = parse_json(text)
    if not isinstance(value, dict):
        raise JsonError("it is not a JSON object")
    return value


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a regular file of bounded size.

    Raises:
        JsonError: As ``parse_object``, or the path names a pipe or a device, or the file is larger
            than any that this program writes.
        OSError: The file is missing, a folder or a socket, or not readable.
    """
    try:
        content = read_regular(path)
    except InputError as error:
        raise JsonError(f"it is {error.problem}") from None
    return parse_object(content)


def is_too_deep(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Tell whether lists and tables are nested more than ``levels`` deep."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_too_deep(each, levels - 1) for each in inner)


_TOO_DEEP = f"it is nested more than {MAX_LEVELS} levels deep"


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError(f"it has {digits[:50]} where a finite number was expected")
    return int(digits) if digits.lstrip("-").isdigit() else value


def json_bytes(value: Any, *, sort_keys: bool = False) -> bytes:
    """Return ``value`` as indented JSON in UTF-8, with a final line feed."""
    text = json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False)
    # they control terminals, and json.dumps does not escape them
    text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    # paths that are not UTF-8 have surrogates, whose escapes are JSON
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented JSON with sorted keys and a final line feed, atomically."""
    write_atomically(path, json_bytes(value, sort_keys=True))
