"""``phrasescore rerank``: chooses translations from an n-best list by weights or by risk."""

from __future__ import annotations

import click

from moses_integration.commands.options import RiskOptions
from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.options import output_file
from phrasescore.commands.paths import INPUT
from tuning.commands.options import show_notes


class RerankOptions(RiskOptions):
    """Options of ``rerank``."""

    nbest: str = argument(INPUT, "NBEST")
    weights: str | None = option(
        INPUT, 'A weights.json of optimize or tune, any JSON such as {"LM0": 0.5}, or a moses.ini.'
    )
    output: str = output_file("the translations")
    source: str | None = option(
        INPUT,
        "The source text of the list; only its empty lines may have no candidates.",
    )


@command("rerank", RerankOptions)
def rerank(options: RerankOptions) -> None:
    """Write the best candidate of every sentence of NBEST, one per line.

    The best candidate has the highest sum of features times weights; of several equal candidates,
    the first in the list is the best. Every feature needs a weight.
    The list may come from any decoder that writes Moses's format, with features added by
    phrasescore nbest. With --minimum-bayes-risk the best candidate has the smallest expected loss
    (1 - BLEU) over the --mbr-size candidates with the highest scores. Scores are the weighted sums
    or, without --weights, the totals in the list.
    """
    from tuning.loop.reranking import Reranking
    from tuning.loop.reranking import rerank as choose

    report = choose(options.settings(Reranking, risk=options.risk))
    show_notes(report.notes)
    click.echo(str(report), err=True)
