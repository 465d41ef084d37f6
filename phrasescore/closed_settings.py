"""Closed, typed settings: dataclasses made from JSON values, in which unknown keys are errors."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from phrasescore.errors import InputError, SettingsError, did_you_mean, quoted

T = TypeVar("T")
_TOO_LARGE = 10**300
# no file name has these: a zero byte, and surrogates that do not stand for a byte
_IMPOSSIBLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_SHOWN = 80  # maximum number of characters of a name or a value in an error


@dataclasses.dataclass(frozen=True)
class Between:
    """The bounds of a number, as in ``Annotated[int, Between(1, 10)]``.

    Args:
        low: The lower bound.
        high: The upper bound.
        below: Whether the upper bound itself is excluded.
    """

    low: float
    high: float
    below: bool = False

    def __contains__(self, number: float) -> bool:
        return self.low <= number and (number < self.high if self.below else number <= self.high)

    def __str__(self) -> str:
        return f"{self.low:,.15g} to {'below ' if self.below else ''}{self.high:,.15g}"


def check_bounds(settings: object, what: str = "") -> None:
    """Raise an error if a number is outside the bounds in the annotation of its field.

    Args:
        settings: The dataclass.
        what: A prefix of the field's name in the error.

    Raises:
        SettingsError: A number is outside its bounds.
    """
    for name, hint in typing.get_type_hints(type(settings), include_extras=True).items():
        value, bounds = getattr(settings, name), bounds_of(hint)
        if bounds is not None and value is not None and value not in bounds:
            raise SettingsError(f"{what}{name} is {_shown(value)}, expected {bounds}")


def bounds_of(hint: Any) -> Between | None:
    """Return the bounds of an annotated number, which may be optional; ``None`` without bounds."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(filter(None, map(bounds_of, typing.get_args(hint))), None)
    if typing.get_origin(hint) is typing.Annotated:
        return next((each for each in hint.__metadata__ if isinstance(each, Between)), None)
    return None


def from_mapping(
    kind: type[T], values: Mapping[str, object], *, where: str, only_known: bool = True
) -> T:
    """Build the settings dataclass ``kind`` from JSON values; check their names and types.

    Args:
        kind: A dataclass. A field may be bool, int, float, str or a ``Literal`` of these; a number
            ``Between`` bounds; ``X | None``; for a list, a tuple of one type; for a table, a
            dataclass like ``kind``; a dict of one type; or a list or dict with unchecked content.
        values: The fields by name; fields with defaults may be missing.
        where: The origin of the values, for an error, e.g. ``config.json``.
        only_known: Whether an unknown key is an error; otherwise it is ignored.

    Raises:
        SettingsError: A key is unknown or missing, or a value has another type.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values if only_known else ():
        if key not in fields:
            hint = did_you_mean(key[:_SHOWN], fields)
            raise SettingsError(f"{where}: unknown setting {quoted(key)}{hint}")
    for name, field in fields.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in values:
            raise SettingsError(f"{where}: the setting {name} is missing")
    checked = {
        key: _checked(key, value, hints[key], where, only_known)
        for key, value in values.items()
        if key in fields
    }
    return kind(**checked)


def _checked(key: str, value: object, hint: Any, where: str, only_known: bool) -> Any:
    """Return a value converted to its type: lists become tuples, and tables become dataclasses."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (kind for kind in arguments if kind is not types.NoneType)
        return None if value is None else _checked(key, value, inner, where, only_known)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise _wrong(key, value, where, "expected a table of settings")
        return from_mapping(hint, value, where=f"{where}: [{key}]", only_known=only_known)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(key, value, where, "expected a list")
        return tuple(_checked(f"[{key}]", item, arguments[0], where, only_known) for item in value)
    if origin is dict and isinstance(value, dict):
        rest = arguments[1], f"{where}: [{key}]", only_known
        return {name: _checked(quoted(name), item, *rest) for name, item in value.items()}
    return _plain(key, value, hint, where)


def _plain(key: str, value: object, hint: Any, where: str) -> Any:
    """Check a value that does not contain other values, or whose content is not checked."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object):
        return value
    if origin is typing.Annotated:
        number = _plain(key, value, arguments[0], where)
        if number not in arguments[1]:
            raise _wrong(key, value, where, f"expected {arguments[1]}")
        return number
    if origin is typing.Literal:
        # compare types, too: in Python, True equals 1
        if not any(type(value) is type(choice) and value == choice for choice in arguments):
            raise _wrong(key, value, where, f"which is none of: {', '.join(map(str, arguments))}")
        return value
    kind = origin or hint
    # hundreds of digits do not fit into a float
    if kind is float and type(value) is int and abs(value) < _TOO_LARGE:
        return float(value)
    if type(value) is not kind:
        raise _wrong(key, value, where, f"expected {kind.__name__}")
    return value


def check_whole_number(name: str, number: object, minimum: int, maximum: int) -> None:
    """Check a number that is an argument of a Python function.

    Raises:
        TypeError: The number is not a whole number.
        SettingsError: The number is out of bounds.
    """
    check_number(name, number, minimum, maximum, int)


def check_number(name: str, number: Any, low: float, high: float, kind: type = Real) -> None:
    """Check a number like `check_whole_number`; by default it may be any real number."""
    expected = "a number" if kind is Real else "a whole number"
    check_type(name, None if isinstance(number, bool) else number, kind, expected)
    if not low <= number <= high:
        raise SettingsError(f"{name} is {_shown(number)}, but must be {low:,} to {high:,}")


def check_type(name: str, value: object, kind: type | types.UnionType, expected: str) -> None:
    """Check the type of an argument of a Python function.

    Raises:
        TypeError: The value has another type; the error says what was ``expected``.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def check_path(name: str, path: object) -> None:
    """Check a path that is an argument of a Python function.

    Raises:
        TypeError: The path is neither a string nor a ``Path``.
        InputError: No file can have this name.
    """
    check_type(name, path, str | Path, "a path")
    if _IMPOSSIBLE.search(str(path)):
        raise InputError(f"{name}: a path with a zero byte or a surrogate code point")


def _wrong(key: str, value: object, where: str, expected: str) -> SettingsError:
    return SettingsError(f"{where}: {key} is {_shown(value)}, {expected}")


def _shown(value: object) -> str:
    # Python refuses to write integers of over 4,300 digits
    text = "a huge number" if isinstance(value, int) and abs(value) >> 10_000 else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
