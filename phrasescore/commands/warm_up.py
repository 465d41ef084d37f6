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
    """Compile the numerical code of all commands ahead of time.

    A command compiles its numerical code when it first runs on a machine, and keeps the result.
    warm-up runs all commands on a small text in a temporary folder, so that a container image or a
    cluster is compiled before the first job. The compiled code goes to NUMBA_CACHE_DIR, or else
    beside the program, or else to the user's cache folder; users who cannot write there can still
    read it. It is valid for one version of phrasescore, Python and numba, and for one kind of
    processor: on a cluster with several kinds, run warm-up on each.
    """
    from phrasescore.compiling.warm_up import warm_up as compile_all

    start = time.monotonic()
    compiled = compile_all(options.threads)
    seconds = time.monotonic() - start
    if compiled:
        click.echo(f"compiled {counted(compiled, 'function')} in {seconds:,.0f} s")
    else:
        click.echo(f"nothing was left to compile ({seconds:,.0f} s)")
