"""Options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from phrasescore.commands.numbers import Real
from phrasescore.commands.paths import OUTPUT, takes_standard_output

_Command = TypeVar("_Command", bound=Callable[..., Any])
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 3660 * _UNITS["d"]


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
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            text += "s"
        if not re.fullmatch(r"([0-9]+(\.[0-9]+)?[smhd])+", text):
            self.fail(f"{text[:30]!r} is not a time; write 90s, 45m, 2h or 1h30m", param, ctx)
        parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([smhd])", text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if seconds > _LONGEST:
            self.fail(f"{text[:30]!r} is longer than ten years", param, ctx)
        return seconds


class OptionalNumber(Real):
    """A number above 0 after an option that may also stand alone."""

    def __init__(self) -> None:
        super().__init__(0, 1e6, above=True)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; what is none is taken for a word that belongs elsewhere."""
        try:
            float(str(value))
        except ValueError:
            self.fail(
                f"{str(value)[:30]!r} is not a number; write the option after the names, or with a "
                "number",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def json_file_option(*old_names: str) -> Callable[[_Command], _Command]:
    """Return what adds ``--json-file FILE``; the command gets ``json_file``.

    Args:
        old_names: What this command called the option before; they are still accepted.
    """
    return click.option(
        "--json-file",
        *old_names,
        "json_file",
        type=OUTPUT,
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
    show = click.option(
        "--json",
        "as_json",
        is_flag=True,
        callback=takes_standard_output,
        help="Print JSON instead of text.",
    )
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
    from phrasescore.runs.json_files import json_bytes, write_json

    if as_json:
        sys.stdout.buffer.write(json_bytes(result))
    # a file that says all went well is not written if nobody can be told
    sys.stdout.flush()
    if json_file is not None:
        write_json(json_file, result)


def reordering_pair(old: str | None, new: str | None, output: str) -> tuple[str, str] | None:
    """Return what ``--reordering`` and ``--reordering-output`` name, or ``None`` for neither.

    Args:
        old: The reordering table to read.
        new: Where to write one for the pairs of the output.
        output: The phrase table that is written.

    Raises:
        SettingsError: There is one without the other, or the output is no file.
        ResumeError: Another process writes the new reordering table.
    """
    from phrasescore.errors import SettingsError
    from phrasescore.runs.file_kinds import is_stream
    from phrasescore.runs.journal import keeps_work
    from phrasescore.runs.lock import held

    if (old is None) != (new is None):
        raise SettingsError(
            "--reordering and --reordering-output go together",
            remedy="name the reordering table and where to write it",
        )
    if old is None or new is None:
        return None
    if output == "-" or is_stream(output):
        raise SettingsError(
            "the reordering table is made for the pairs of the output, which must be a file then",
            path=output,
            remedy="name a file with -o",
        )
    if keeps_work(new):
        # it is written last: another process that writes it is found before the work, not after
        with held(new):
            pass
    return old, new
