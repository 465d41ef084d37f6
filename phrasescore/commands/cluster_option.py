"""``--cluster``, which commands have that can give work to other machines."""

from __future__ import annotations

import click


class Scheduler(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """A scheduler's address or the file that it writes; whether it is there shows later."""

    name = "scheduler"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return it."""
        text = str(value)
        if not text or not text.isprintable():
            self.fail("name the scheduler's file, or its address tcp://HOST:PORT", param, ctx)
        return text


cluster_option = click.option(
    "--cluster",
    type=Scheduler(),
    metavar="FILE|ADDRESS",
    help="Let the workers of a Dask scheduler do the work: the file that it writes, or its "
    "address, tcp://HOST:PORT or tls://HOST:PORT.",
)
