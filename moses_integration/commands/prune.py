"""``phrasescore prune``: keep the best pairs of a phrase table."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from phrasescore.commands.options import json_options, print_result
from phrasescore.errors import SettingsError
from phrasescore.provenance import provenance

if TYPE_CHECKING:
    from moses_integration.tables.ranking import Ranking
    from moses_integration.tables.significance import SignificanceLevel


@click.command("prune")
@click.argument("table")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the table; gzip if the name ends in .gz; - is standard output.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="K",
    help="Keep the best K targets of each source; of equally good ones those that come first.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    help="Keep pairs of at least this: a score as in the table with --column, a weighted sum of "
    "natural logarithms with --weights.",
)
@click.option(
    "--column",
    type=click.IntRange(min=1),
    metavar="N",
    help="The score that --top and --threshold go by, counted from 1; 3 is p(target|source) in "
    "a table of Moses.",
)
@click.option(
    "--weights",
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
    type=click.IntRange(min=1),
    metavar="N",
    help="How many sentence pairs the table was extracted from, for --significance.",
)
@click.option(
    "--drop",
    metavar="FILE",
    help="Pairs to drop: source, tab, target; further columns are ignored.",
)
@click.option(
    "--reordering",
    metavar="FILE",
    help="The lexicalised reordering table of the same system, to be cut to the same pairs.",
)
@click.option("--reordering-output", metavar="FILE", help="Where to write the reordering table.")
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
    from moses_integration.tables.reordering_pruning import check_reordering, prune_reordering
    from phrasescore.resuming.interruption import interruptible

    _refuse_bad_files(table, output, reordering, reordering_output)
    if as_json and "-" in (output, reordering_output):
        raise SettingsError(
            "the table and the JSON would both go to standard output",
            remedy="write the JSON to a file with --json-file",
        )
    conditions = PruningConditions(
        drop=DropList.read(drop) if drop is not None else None,
        significance=_significance(significance, sentences),
        ranking=_ranking(table, column, weights, feature),
        threshold=threshold,
        top=top,
    )
    if reordering is not None:
        check_reordering(reordering)
    # what comes or goes through a pipe cannot be gone on with
    keeps = "-" not in (table, output)
    with interruptible(output) if keeps else contextlib.nullcontext():
        report = prune_table(table, output, conditions)
        click.echo(str(report), err=True)
        result = report.to_json()
        if reordering is not None and reordering_output is not None:
            cut = prune_reordering(reordering, reordering_output, output)
            click.echo(str(cut), err=True)
            result["reordering"] = vars(cut)
    result["provenance"] = provenance(settings=conditions.to_json())
    print_result(result, as_json, json_file)


def _ranking(
    table: str, column: int | None, weights: str | None, feature: str | None
) -> Ranking | None:
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.table_weights import table_weights
    from moses_integration.tables.ranking import ColumnRanking, WeightedRanking

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
        name, values = table_weights(MosesIni.read(weights), table, feature)
        return WeightedRanking(values, name, weights)
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


def _refuse_bad_files(
    table: str, output: str, reordering: str | None, reordering_output: str | None
) -> None:
    """Raise unless every output is a file of its own, and the second has what it needs."""
    from pathlib import Path

    if (reordering is None) != (reordering_output is None):
        raise SettingsError(
            "--reordering and --reordering-output go together",
            remedy="name the reordering table and where to write it",
        )
    if reordering is not None and (output == "-" or not _is_new_or_file(output)):
        raise SettingsError(
            "the reordering table is cut to what is in the output, which must be a file then",
            path=output,
            remedy="name a file with -o",
        )
    inputs = [Path(name).resolve() for name in (table, reordering) if name not in (None, "-")]
    taken = set(inputs)
    for name in (output, reordering_output):
        if name in (None, "-") or not _is_new_or_file(name):
            continue
        if (path := Path(name).resolve()) in taken:
            raise SettingsError(
                "an output is also read, or written twice",
                path=name,
                remedy="name another output",
            )
        taken.add(path)


def _is_new_or_file(name: str) -> bool:
    from pathlib import Path

    return Path(name).is_file() or not Path(name).exists()
