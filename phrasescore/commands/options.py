"""Option types that several commands share."""

from __future__ import annotations

import re

import click

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
