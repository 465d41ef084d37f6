"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A time like 90s, 45m, 2h or 1h30m; a plain number is seconds."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, float | int):
            return float(value)
        text = str(value).strip().lower()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        if not re.fullmatch(r"(\d+(\.\d+)?[smhd])+", text):
            self.fail(f"{value!r} is not a time; write 90s, 45m, 2h or 1h30m", param, ctx)
        return sum(float(n) * _UNITS[u] for n, u in re.findall(r"(\d+(?:\.\d+)?)([smhd])", text))


def json_file_option(*old_names: str) -> Callable[[_Command], _Command]:
    """Return what adds ``--json-file FILE``; the command gets ``json_file``.

    Args:
        old_names: What this command called the option before; they are still accepted.
    """
    return click.option(
        "--json-file",
        *old_names,
        "json_file",
        metavar="FILE",
        help="Write the result as JSON to this file, too.",
    )


def json_options(command: _Command, old_names: Sequence[str] = ()) -> _Command:
    """Add ``--json`` and ``--json-file FILE``; the command gets ``as_json`` and ``json_file``.

    See `print_result` for what to do with them.

    Args:
        command: A command that has a result.
        old_names: What this command called ``--json-file`` before.
    """
    show = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
    return show(json_file_option(*old_names)(command))


def print_result(result: Mapping[str, Any], as_json: bool, json_file: str | None) -> None:
    """Print a result as JSON, write it to a file, or both, as `json_options` says.

    Text is the caller's to print where ``as_json`` is false.

    Args:
        result: JSON values by name; printed in this order, and sorted in the file.
        as_json: Whether to print it on standard output.
        json_file: Where to write it, if anywhere.

    Raises:
        SettingsError: The file cannot be written.
    """
    from phrasescore.provenance import json_bytes, write_json

    if json_file is not None:
        write_json(json_file, result)
    if as_json:
        sys.stdout.buffer.write(json_bytes(result))
        sys.stdout.flush()
