"""``phrasescore warm-up``: compile ahead everything that is compiled once per machine."""

from __future__ import annotations

import time

import click

from phrasescore.commands.declarations import Options, command
from phrasescore.commands.options import CORES
from phrasescore.errors import counted


class WarmUpOptions(Options):
    """Options of ``warm-up``."""

    threads: int | None = CORES


@command("warm-up", WarmUpOptions)
def warm_up(options: WarmUpOptions) -> None:
    """Compile ahead what the commands use.

    Each command compiles what it needs when it first runs on a machine, and keeps it. This runs
    them all on a small text of their own in a temporary folder, so that an image or a cluster has
    everything before the first job. The code is kept in NUMBA_CACHE_DIR, else beside the program,
    else in the user's cache folder; users who cannot write the first of them still read it. It
    holds for one version of phrasescore, Python and numba and one kind of processor: on a cluster
    with several kinds run this on each.
    """
    from phrasescore.compiling.warm_up import warm_up as compile_all

    start = time.monotonic()
    compiled = compile_all(options.threads)
    seconds = time.monotonic() - start
    if compiled:
        click.echo(f"compiled {counted(compiled, 'function')} in {seconds:,.0f} s")
    else:
        click.echo(f"nothing was left to compile ({seconds:,.0f} s)")
