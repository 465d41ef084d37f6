"""``phrasescore rerank``: translations chosen from an n-best list by weights or by risk."""

from __future__ import annotations

from typing import Literal

import click
from click.core import ParameterSource

from moses_integration.commands.decode import risk_options
from moses_integration.decoder.settings import RiskSettings
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError
from tuning.commands.options import show_notes


@click.command("rerank")
@click.argument("nbest", type=INPUT, metavar="NBEST")
@click.option(
    "--weights",
    type=INPUT,
    metavar="FILE",
    help='A weights.json of optimize or tune, any JSON such as {"LM0": 0.5}, or a moses.ini.',
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="FILE",
    help="Where to write the translations; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--source",
    type=INPUT,
    metavar="FILE",
    help="The text that the list translates: where its lines are empty, no candidate is expected; "
    "for all others there must be one.",
)
@click.option(
    "--ties",
    type=click.Choice(["error", "first"]),
    default="error",
    show_default=True,
    help="Where different translations are equally good: stop, or take the list's first.",
)
@risk_options
@click.pass_context
def rerank(
    context: click.Context,
    /,
    nbest: str,
    weights: str | None,
    output: str,
    source: str | None,
    ties: Literal["error", "first"],
    minimum_bayes_risk: bool,
    mbr_size: int,
    mbr_scale: float,
) -> None:
    """Write the best candidate of every sentence of NBEST, one a line.

    The best has the highest sum of features times weights; every feature needs a weight. The list
    may come from any decoder that writes Moses's format, with features added by phrasescore nbest.
    With --minimum-bayes-risk the best is that of least expected loss (1 - BLEU) over the --mbr-size
    highest-scoring candidates; it goes by the weighted sums or, without --weights, the list's own
    totals.
    """
    for name in ("mbr_size", "mbr_scale"):
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if given and not minimum_bayes_risk:
            raise SettingsError(
                f"--{name.replace('_', '-')} is about the choice by risk",
                remedy="add --minimum-bayes-risk, or leave it out",
            )
    from tuning.loop.reranking import Reranking
    from tuning.loop.reranking import rerank as choose

    report = choose(
        Reranking(
            nbest=nbest,
            output=output,
            weights=weights,
            risk=RiskSettings(mbr_size, mbr_scale) if minimum_bayes_risk else None,
            source=source,
            ties=ties,
        )
    )
    show_notes(report.notes)
    click.echo(str(report), err=True)
