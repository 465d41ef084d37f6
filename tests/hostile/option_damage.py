"""Makes wrong values for every option of a command, as declared with click."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click

from tests.hostile.calls import Call, commands

_10_30 = "1" + "0" * 30
NUMBERS: Mapping[str, str] = {
    "10^12": "1" + "0" * 12,
    "10^30": _10_30,
    "-10^30": f"-{_10_30}",
    "5,000 digits": "9" * 5000,
    "-1": "-1",
    "0": "0",
    "NaN": "nan",
    "infinity": "inf",
    "1e999": "1e999",
    "²": "²",
    "٣": "٣",
    "1_0": "1_0",
    "empty": "",
    "not UTF-8": "\udcff",
}
TEXTS: Mapping[str, str] = {
    "empty": "",
    "one =": "=",
    "../../elsewhere/x": "../../elsewhere/x",
    "a line feed": "a\nb",
    "not UTF-8": "\udcff=\udcff",
    "100,000 letters": "x" * 100_000,
    "NaN": "LM0=nan",
    "10^30": f"LM0={_10_30}..{_10_30}",
    "²": "²",
    "a bar": "a|b ||| c",
}


@dataclass(frozen=True)
class SpoiltOption:
    """An option with a wrong value.

    Args:
        option: The option as written on the command line.
        value: The value.
        damage: The fault of the value.
        is_number: Whether the option takes a number.
        named: Names for the option in an error message.
    """

    option: str
    value: str
    damage: str
    is_number: bool
    named: tuple[str, ...]


def option_damage(call: Call) -> Iterator[SpoiltOption]:
    """Yield each option of the call's command with each wrong value."""
    command = dict(commands())[call.command]
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag or option.nargs != 1:
            continue
        name = option.opts[-1] if len(option.opts) == 1 else max(option.opts, key=len)
        kind = _kind(option)
        if kind == "path":
            continue
        for damage, value in (NUMBERS if kind == "number" else TEXTS).items():
            words = (*option.opts, name.lstrip("-"), name.lstrip("-").replace("-", "_"))
            # a message may also quote the value, as written or as click reads it
            quoted = {value[:20]} - {""}
            if len(value) < 100 and value.replace("_", "").isdecimal():
                quoted.add(str(int(value))[:20])
            if value.startswith("-"):  # after an option whose value may be left out
                quoted.add(value[:2])
            named = (*words, *quoted)
            yield SpoiltOption(name, value, damage, kind == "number", named)


def _kind(option: click.Option) -> str:
    if isinstance(option.type, click.Path) or _says_file(option.metavar):
        return "path"
    if isinstance(option.type, click.types.StringParamType | click.Choice):
        return "text"
    return "number"


def _says_file(metavar: str | None) -> bool:
    return metavar is not None and any(word in metavar for word in ("FILE", "FOLDER", "MOSES"))
