"""``phrasescore optimize``: one optimisation of weights over given n-best lists."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT
from tuning.commands.options import optimization_options, parse_optimization, show_notes


@click.command("optimize", context_settings={"show_default": True})
@click.option(
    "--nbest",
    "lists",
    multiple=True,
    required=True,
    type=INPUT,
    metavar="FILE",
    help="An n-best list, plain or gzip; may be repeated, one for each round.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    required=True,
    type=INPUT,
    metavar="FILE",
    help="A reference translation, tokenised as the lists are; may be repeated.",
)
@click.option(
    "--start",
    type=INPUT,
    metavar="FILE",
    help="Where to begin: a moses.ini, or the weights.json of another run; features that it lacks "
    "begin with 0.  [default: equal influence of every feature]",
)
@optimization_options
@partial(json_options, old_names=("-o", "--output"))
def optimize(
    lists: tuple[str, ...], start: str | None, as_json: bool, json_file: str | None, **options: Any
) -> None:
    """Find the weights under which the best candidates of n-best lists score highest.

    Of candidates with the same model score the one that comes first counts, in the order of the
    lists as given. The result names every feature and its weights, and the BLEU (a fraction) of
    what they choose. It is JSON, and printed unless a file is named.
    """
    from tuning.loop.lists import ListOptimization, optimize_lists
    from tuning.metrics.score_tables import points

    task = ListOptimization(lists=lists, start=start, **parse_optimization(options))
    report = optimize_lists(task)
    show_notes(report.notes)
    click.echo(
        f"{task.objective}: {points(report.start_score)} -> {points(report.score)} "
        f"({report.candidates:,} candidates of {report.sentences:,} sentences, "
        f"{report.seconds:.1f} s)",
        err=True,
    )
    print_result(report.to_json(), as_json or json_file is None, json_file)
