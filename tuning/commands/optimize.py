"""``phrasescore optimize``: optimises weights once, over existing n-best lists."""

from __future__ import annotations

import click

from phrasescore.commands.declarations import command, option
from phrasescore.commands.options import Result
from phrasescore.commands.paths import INPUT, OUTPUT
from tuning.commands.options import OptimizationOptions, references, show_notes


class OptimizeOptions(OptimizationOptions, Result):
    """Options of ``optimize``."""

    lists: tuple[str, ...] = option(
        INPUT,
        "An n-best list, plain or gzip; repeat the option for the lists of several rounds.",
        "--nbest",
        many=True,
        required=True,
    )
    references: tuple[str, ...] = references(
        "A reference translation, tokenised as the lists are; may be repeated."
    )
    start: str | None = option(
        INPUT,
        "The weights to start from: a moses.ini, weights.json or run*.dense of mert-moses.pl; "
        "missing features start at 0.  [default: equal influence of every feature]",
    )
    json_file: str | None = option(
        OUTPUT,
        "Write the result as JSON to this file instead of printing it.",
        "-o",
        "--output",
        "--json-file",
    )


@command("optimize", OptimizeOptions)
def optimize(options: OptimizeOptions) -> None:
    """Find the weights that choose the best candidates of n-best lists.

    If several candidates have the same model score, the first in the lists is chosen. The result is
    JSON, with the weights of every feature and the BLEU (a fraction) of the chosen candidates.
    """
    from tuning.loop.lists import ListOptimization, optimize_lists
    from tuning.metrics.metric_settings import points

    task = options.settings(ListOptimization, objective=options.objective)
    report = optimize_lists(task)
    show_notes(report.notes)
    click.echo(
        f"{task.objective} of the chosen candidates: {points(report.start_score)} with the start "
        f"weights, {points(report.score)} with the result "
        f"({report.candidates:,} candidates of {report.sentences:,} sentences, "
        f"{report.seconds:.1f} s)",
        err=True,
    )
    options.as_json = options.as_json or options.json_file is None
    options.show(report.to_json())
