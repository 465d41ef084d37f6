"""Closed, typed settings: a dataclass to and from JSON, where an unknown key is an error."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from phrasescore.errors import SettingsError, did_you_mean, visible

T = TypeVar("T")
_LONGEST = 80  # characters of a name or a value in an error


def from_mapping(kind: type[T], values: Mapping[str, Any], *, where: str) -> T:
    """Build the settings dataclass ``kind`` from ``values``; nothing unknown, nothing mistyped.

    Args:
        kind: A dataclass whose fields are bool, int, float, str or ``Literal`` of these, tuples of
            one of them for lists, such dataclasses for tables, or lists and dicts whose content
            nobody checks.
        values: Its fields by name; fields with defaults may be missing.
        where: What to call the place in an error, e.g. ``config.json``.

    Raises:
        SettingsError: A key is unknown (with the closest known one), missing, or of another type.
    """
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise SettingsError(
                f"{where}: unknown setting {_named(key)}{did_you_mean(key[:_LONGEST], fields)}"
            )
    for name, field in fields.items():
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if required and name not in values:
            raise SettingsError(f"{where}: the setting {name} is missing")
    return kind(**{key: _checked(key, value, hints[key], where) for key, value in values.items()})


def _listed(key: str, value: Any, kind: Any, where: str) -> tuple[Any, ...]:
    closed = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    wanted = dict if closed else kind
    if not isinstance(value, list) or any(type(item) is not wanted for item in value):
        name = "tables" if closed else kind.__name__
        raise SettingsError(f"{where}: {key} is {_shown(value)}, expected a list of {name}")
    if closed:
        return tuple(from_mapping(kind, item, where=f"{where}: [[{key}]]") for item in value)
    return tuple(value)


def _checked(key: str, value: Any, hint: Any, where: str) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise SettingsError(f"{where}: {key} is {_shown(value)}, expected a table of settings")
        return from_mapping(hint, value, where=f"{where}: [{key}]")
    if typing.get_origin(hint) is tuple:
        return _listed(key, value, typing.get_args(hint)[0], where)
    if typing.get_origin(hint) is typing.Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            known = ", ".join(map(str, choices))
            raise SettingsError(f"{where}: {key} is {_shown(value)}, which is none of: {known}")
        return value
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    accepted = typing.get_args(hint) if union else (typing.get_origin(hint) or hint,)
    if float in accepted and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:  # hundreds of digits
            raise SettingsError(f"{where}: {key} is {_shown(value)}, expected float") from None
    exact = any(type(value) is kind for kind in accepted if isinstance(kind, type))
    if not exact:
        names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in accepted)
        raise SettingsError(f"{where}: {key} is {_shown(value)}, expected {names}")
    return value


def _named(key: str) -> str:
    return visible(key.encode("utf-8", "backslashreplace"), _LONGEST)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
