"""``phrasescore rerank``: chooses translations from an n-best list by weights or by risk."""

from __future__ import annotations

from moses_integration.commands.options import WEIGHTS
from phrasescore.commands.declarations import Options, argument, command, flag, option
from phrasescore.commands.options import BoundedFloat, BoundedInt, output_file, say, show_notes
from phrasescore.commands.paths import INPUT
from tuning.loop.tuning_settings import Reranking


class RerankOptions(Options):
    """Options of ``rerank``."""

    nbest: str = argument(INPUT, "NBEST")
    weights: str | None = option(
        WEIGHTS, 'A system, weights.json, run*.dense of mert-moses.pl, or JSON like {"LM0": 0.5}.'
    )
    output: str = output_file("the translations")
    source: str | None = option(
        INPUT, "The source text of the list; only its empty lines may have no candidates."
    )
    minimum_bayes_risk: bool = flag(
        "Choose by minimum Bayes risk, that is, by expected BLEU.", "--minimum-bayes-risk", "--mbr"
    )
    mbr_size: int = option(
        BoundedInt(1, 10_000),
        "The maximum number of distinct candidates to compare.",
        default=Reranking.mbr_size,
        needs=("minimum_bayes_risk",),
    )
    mbr_scale: float = option(
        BoundedFloat(0, 1e6),
        "The factor by which to multiply model scores.",
        default=Reranking.mbr_scale,
        needs=("minimum_bayes_risk",),
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
    from tuning.loop.reranking import rerank as choose

    report = choose(options.settings(Reranking))
    show_notes(report.notes)
    say(str(report))
