"""``phrasescore prune``: keep the best pairs of a phrase table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moses_integration.commands.options import SYSTEM, read_ini
from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.options import (
    COLUMN,
    ITEMS,
    BoundedFloat,
    Reordering,
    Result,
    output_file,
    resumable,
)
from phrasescore.commands.paths import INPUT
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from moses_integration.tables.pruning import Ranking


class PruneOptions(Reordering, Result):
    """Options of ``prune``."""

    table: str = argument(INPUT)
    output: str = output_file("the table")
    top: int | None = option(
        ITEMS,
        "Keep the best K targets of each source; among equally good targets, those that come "
        "first in the table.",
        metavar="K",
    )
    threshold: float | None = option(
        BoundedFloat(-1e300, 1e300),
        "Keep pairs with at least this value: the score in the table with --column, the weighted "
        "sum of natural logarithms with --weights.",
        metavar="P",
    )
    column: int | None = option(
        COLUMN,
        "The score that --top and --threshold compare, counted from 1; 3 is p(target|source) in a "
        "table of Moses.",
        excludes=("weights",),
    )
    weights: str | None = option(
        SYSTEM,
        "--top and --threshold compare the weighted sum of all scores, with the weights of this "
        "system. Moses's own table-limit (20 by default) also considers the language model and the "
        "word penalty, so keep more pairs than that limit.",
        metavar="SYSTEM",
    )
    feature: str | None = option(
        "NAME", "The phrase table of the ini, if it has several.", needs=("weights",)
    )
    significance: str | None = option(
        "LEVEL",
        "Keep pairs with -ln p above this number in Fisher's exact test on the table's counts. "
        "a+e drops the pairs that, like both of their phrases, were seen once; a-e keeps them.",
        needs=("sentences",),
    )
    sentences: int | None = option(
        ITEMS,
        "With --significance: the number of sentence pairs that the table was extracted from.",
        needs=("significance",),
    )
    drop: str | None = option(
        INPUT, "A file of pairs to drop: source, tab, target; further columns are ignored."
    )
    reordering: str | None = option(
        INPUT, "The lexicalised reordering table of the same system; keep the same pairs in it."
    )


@command("prune", PruneOptions)
def prune(options: PruneOptions) -> None:
    """Keep the pairs of TABLE (plain, .gz, or - for standard input) that meet all conditions.

    Conditions apply in this order, each to the pairs that are left: --drop, --significance,
    --threshold, --top. Kept lines stay as they are, in their order. The table must be sorted as
    Moses sorts it (LC_ALL=C). If the command is interrupted, even by kill -9, the same command
    continues.
    """
    from moses_integration.tables.pair_significance import SignificanceLevel
    from moses_integration.tables.pruning import DropList, PruningConditions, prune_table
    from phrasescore.table.input_files import read_lines

    reordering = options.reordering_pair(options.output)
    significance = None
    if options.significance is not None and options.sentences is not None:
        significance = SignificanceLevel.parse(options.significance, options.sentences)
    conditions = PruningConditions(
        drop=DropList(read_lines(options.drop), options.drop) if options.drop is not None else None,
        significance=significance,
        ranking=_ranking(options),
        threshold=options.threshold,
        top=options.top,
    )
    with resumable([options.table], [options.output]):
        report = prune_table(options.table, options.output, conditions, reordering=reordering)
        click.echo(str(report), err=True)
    made = provenance(settings=conditions.to_json())
    options.show({**report.to_json(), "provenance": made})


def _ranking(options: PruneOptions) -> Ranking | None:
    from moses_integration.ini.feature_weights import find_phrase_table, table_weights
    from moses_integration.tables.pruning import ColumnRanking, WeightedRanking

    if options.weights is not None:
        ini = read_ini(options.weights)
        ini.refuse_rewriting()
        line = find_phrase_table(ini, options.feature)
        values = table_weights(ini, line, given=True)
        return WeightedRanking(values, line.name, options.weights)
    return ColumnRanking(options.column) if options.column is not None else None
