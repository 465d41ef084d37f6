"""``phrasescore optimize``: one optimisation of weights over given n-best lists."""

from __future__ import annotations

from typing import Any

import click

from tuning.commands.options import optimizer_options, parse_shares
from tuning.optimizers.optimizer_settings import OptimizerName


@click.command("optimize")
@click.option(
    "--nbest",
    "lists",
    multiple=True,
    required=True,
    metavar="FILE",
    help="An n-best list, plain or gzip; may be repeated, one for each round.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A reference translation, tokenised as the lists are; may be repeated.",
)
@click.option(
    "--start",
    metavar="FILE",
    help="Where to begin: a moses.ini, or the weights.json of another run.  "
    "[default: equal influence of every feature]",
)
@optimizer_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the weights as JSON; - is standard output.",
)
def optimize(
    lists: tuple[str, ...],
    references: tuple[str, ...],
    start: str | None,
    output: str,
    **options: Any,
) -> None:
    """Find the weights under which the best candidates of n-best lists score highest.

    Of candidates with the same model score the one that comes first counts, in the order of the
    lists as given. The result names every feature and its weights, and the BLEU (0 to 1) of what
    they choose.
    """
    from tuning.loop.list_optimization import ListOptimization, optimize_lists
    from tuning.metrics.metric_settings import Objective

    task = ListOptimization(
        lists=lists,
        references=references,
        start=start,
        objective=Objective.of(parse_shares(options["objective"])),
        reference_length=options["reference_length"],
        freeze=options["freeze"],
        bounds=options["bounds"],
        seed=options["seed"],
    )
    report = optimize_lists(task, _settings(options), output)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(
        f"{task.objective}: {report.start_score:.6f} -> {report.score:.6f} "
        f"({report.candidates:,} candidates of {report.sentences:,} sentences, "
        f"{report.seconds:.1f} s)",
        err=True,
    )


def _settings(options: dict[str, Any]) -> Any:
    from tuning.optimizers.optimizer_settings import OptimizerSettings

    name: OptimizerName = options["optimizer"]
    return OptimizerSettings(name, options["restarts"], options["threads"])
