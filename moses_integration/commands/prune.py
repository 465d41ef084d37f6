"""``phrasescore prune``: keep the best pairs of a phrase table."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from phrasescore.commands.numbers import COLUMN, ITEMS, Real
from phrasescore.commands.options import json_options, print_result, reordering_pair
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from moses_integration.tables.pruning import Ranking
    from moses_integration.tables.significance import SignificanceLevel
    from phrasescore.runs.journal import JournaledOutputs


@click.command("prune")
@click.argument("table", type=INPUT)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="FILE",
    help="Where to write the table; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--top",
    type=ITEMS,
    metavar="K",
    help="Keep the best K targets of each source; of equally good ones those that come first.",
)
@click.option(
    "--threshold",
    type=Real(-1e300, 1e300),
    metavar="P",
    help="Keep pairs of at least this: a score as in the table with --column, a weighted sum of "
    "natural logarithms with --weights.",
)
@click.option(
    "--column",
    type=COLUMN,
    metavar="N",
    help="The score that --top and --threshold go by, counted from 1; 3 is p(target|source) in "
    "a table of Moses.",
)
@click.option(
    "--weights",
    type=INPUT,
    metavar="MOSES_INI",
    help="--top and --threshold go by the weighted sum of all scores, with the weights of this "
    "ini. Language model and word penalty, which Moses's own table-limit (20, unless the ini "
    "says otherwise) counts as well, are left out: keep more than that.",
)
@click.option(
    "--feature", metavar="NAME", help="The phrase table of the ini, where it has several."
)
@click.option(
    "--significance",
    metavar="LEVEL",
    help="Keep pairs with -ln p above this in Fisher's exact test on the table's counts; a+e "
    "drops pairs seen once of phrases seen once, a-e keeps them.",
)
@click.option(
    "--sentences",
    type=ITEMS,
    metavar="N",
    help="How many sentence pairs the table was extracted from, for --significance.",
)
@click.option(
    "--drop",
    type=INPUT,
    metavar="FILE",
    help="Pairs to drop: source, tab, target; further columns are ignored.",
)
@click.option(
    "--reordering",
    type=INPUT,
    metavar="FILE",
    help="The lexicalised reordering table of the same system, to be cut to the same pairs.",
)
@click.option(
    "--reordering-output", type=OUTPUT, metavar="FILE", help="Where to write the reordering table."
)
@json_options
def prune(
    table: str,
    output: str,
    top: int | None,
    threshold: float | None,
    column: int | None,
    weights: str | None,
    feature: str | None,
    significance: str | None,
    sentences: int | None,
    drop: str | None,
    reordering: str | None,
    reordering_output: str | None,
    as_json: bool,
    json_file: str | None,
) -> None:
    """Keep the pairs of TABLE (plain, .gz, or - for standard input) that meet all conditions.

    Conditions are judged in this order, each among what is left: --drop, --significance,
    --threshold, --top. Kept lines stay byte for byte, in order. The table must be sorted as Moses
    sorts it (LC_ALL=C). If it is interrupted, even by kill -9, the same command continues.
    """
    from moses_integration.tables.drop_list import DropList
    from moses_integration.tables.pruning import PruningConditions, prune_table
    from moses_integration.tables.reordering_pruning import (
        CutReordering,
        check_reordering,
        prune_reordering,
    )
    from phrasescore.runs.interruption import interruptible

    both = reordering_pair(reordering, reordering_output, output)
    conditions = PruningConditions(
        drop=DropList.read(drop) if drop is not None else None,
        significance=_significance(significance, sentences),
        ranking=_ranking(table, column, weights, feature),
        threshold=threshold,
        top=top,
    )
    if both is not None:
        check_reordering(both[0])
    cuts: list[CutReordering] = []

    def cut_reordering(pruned: JournaledOutputs) -> None:
        """Cut the other table while the first has no name yet: both are there, or none."""
        if both is not None:
            cuts.append(prune_reordering(*both, pruned.part_path))

    # what comes or goes through a pipe cannot be gone on with
    keeps = "-" not in (table, output)
    with interruptible(output) if keeps else contextlib.nullcontext():
        report = prune_table(table, output, conditions, before_name=cut_reordering)
        click.echo(str(report), err=True)
        result = report.to_json()
        for cut in cuts:
            click.echo(str(cut), err=True)
            result["reordering"] = vars(cut)
    result["provenance"] = provenance(settings=conditions.to_json())
    print_result(result, as_json, json_file)


def _ranking(
    table: str, column: int | None, weights: str | None, feature: str | None
) -> Ranking | None:
    from moses_integration.ini.feature_weights import find_phrase_table, table_weights
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.tables.pruning import ColumnRanking, WeightedRanking

    if column is not None and weights is not None:
        raise SettingsError(
            "--column and --weights are two ways to compare pairs", remedy="give one of them"
        )
    if feature is not None and weights is None:
        raise SettingsError(
            "--feature names a phrase table of an ini, but there is none",
            remedy="give --weights, or leave --feature out",
        )
    if weights is not None:
        ini = MosesIni.read(weights)
        ini.refuse_rewriting()
        line = find_phrase_table(ini, feature, table)
        values = table_weights(ini, line, given=True)
        return WeightedRanking(values, line.name, weights)
    return ColumnRanking(column) if column is not None else None


def _significance(level: str | None, sentences: int | None) -> SignificanceLevel | None:
    from moses_integration.tables.significance import SignificanceLevel

    if (level is None) != (sentences is None):
        raise SettingsError(
            "--significance and --sentences go together",
            remedy="say how many sentence pairs the table was extracted from",
        )
    if level is None or sentences is None:
        return None
    return SignificanceLevel.parse(level, sentences)
