"""JSON files that others may have damaged: any text gives a value or one kind of error."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from phrasescore.errors import InputError
from phrasescore.runs.file_kinds import read_regular
from phrasescore.runs.final_names import write_atomically

# honest files have a few levels; deeper nesting could exhaust the stack of their readers
MAX_LEVELS = 100
_MAX_DIGITS = 300  # such a number still fits into a float
_CONTROLS = re.compile(r"[\x7f-\x9f]")


class JsonError(ValueError):
    """The reason why a text is not JSON that this program wrote."""


def parse_json(text: bytes | str) -> Any:
    """Return the value of a text; every number in it is finite as a float.

    Args:
        text: In UTF-8, if bytes.

    Raises:
        JsonError: It is not JSON, has more than 100 levels, has a key twice, or has a number that
            is infinite, NaN or longer than 300 digits.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except UnicodeDecodeError:
        raise JsonError("it is not in UTF-8") from None
    except RecursionError:
        raise JsonError(_TOO_DEEP) from None
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
        raise JsonError("it is no object of values by name")
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


def is_too_deep(value: Any) -> bool:
    """Tell whether lists and tables are nested more than ``MAX_LEVELS`` deep."""
    level = _nested([value])
    for _ in range(MAX_LEVELS):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for children in inner for child in _nested(children)]
    return bool(level)


def _nested(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list)]


_TOO_DEEP = f"it is nested more than {MAX_LEVELS} levels deep"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = max(counts, key=lambda key: counts[key])
        raise JsonError(f"it has the key {twice[:50]!r} twice")
    return values


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise JsonError(f"it has a number of {len(digits):,} digits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError(f"the number {digits[:50]} is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise JsonError(f"it has {name} where a number was expected")


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
