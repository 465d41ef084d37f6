"""``--device``, which all commands have that compute with a model."""

from __future__ import annotations

import re

import click


class DeviceName(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """``auto``, ``cpu``, ``cuda`` or ``cuda:N``; whether it is there is for `choose_device`."""

    name = "device"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name."""
        text = str(value)
        if not re.fullmatch(r"auto|cpu|cuda(:(0|[1-9][0-9]{0,3}))?", text):
            self.fail(f"{text!r} is not a device; write auto, cpu, cuda or cuda:1", param, ctx)
        return text


device_option = click.option(
    "--device",
    type=DeviceName(),
    default="auto",
    metavar="auto|cpu|cuda|cuda:N",
    help="Where to compute; auto: on the first GPU, if there is one.",
)
