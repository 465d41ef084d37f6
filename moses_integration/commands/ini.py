"""``phrasescore ini``: show a moses.ini, or make it use the table with the new column."""

from __future__ import annotations

import math
import sys

import click

from phrasescore.commands.options import json_options, print_result


def _finite(context: click.Context, option: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter("expected a finite number", context, option)
    return value


@click.command("show", short_help="List features, weights, files and problems.")
@click.argument("path", metavar="MOSES_INI")
@json_options
def show(path: str, as_json: bool, json_file: str | None) -> None:
    """List the features, weights and files of MOSES_INI, and what Moses would refuse or ignore."""
    from moses_integration.ini.listing import listing, listing_text
    from moses_integration.ini.moses_ini import MosesIni

    found = listing(MosesIni.read(path))
    if not as_json:
        sys.stdout.buffer.write(f"{listing_text(found)}\n".encode("utf-8", "surrogateescape"))
    print_result(found, as_json, json_file)


@click.command("add-column", short_help="Make it use a table with more scores.")
@click.argument("path", metavar="MOSES_INI")
@click.option(
    "--table",
    required=True,
    metavar="FILE",
    help="The rescored phrase table; its path is written as given here.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to write the new ini; - is standard output.",
)
@click.option(
    "--start-weight",
    type=float,
    callback=_finite,
    default=0.2,
    show_default=True,
    metavar="NUMBER",
    help="The weight of each new score, until it is tuned.",
)
@click.option(
    "--feature",
    metavar="NAME",
    help="Which phrase table to replace, where there are several, e.g. TranslationModel0.",
)
@click.option(
    "--absolute-paths",
    is_flag=True,
    help="Make all paths absolute, so that the ini works from everywhere.",
)
def add_column(
    path: str,
    table: str,
    output: str,
    start_weight: float,
    feature: str | None,
    absolute_paths: bool,
) -> None:
    """Write MOSES_INI with the phrase table replaced, and a weight for each new score.

    The scores of the whole table are checked first. Every other byte of the ini stays as it is.
    """
    from moses_integration.ini.listing import problems
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.table_feature import (
        check_table_path,
        find_table_feature,
        with_absolute_paths,
        with_table,
    )
    from moses_integration.tables.score_survey import survey_scores
    from phrasescore.errors import counted
    from phrasescore.files import write_atomically

    check_table_path(table)
    before = MosesIni.read(path)
    place = find_table_feature(before, feature)
    survey = survey_scores(table)
    change = with_table(before, place, table, survey.scores, start_weight)
    after = with_absolute_paths(change.ini) if absolute_paths else change.ini
    write_atomically(output, after.to_bytes())
    pairs, scores = counted(survey.lines, "phrase pair"), counted(survey.scores, "score")
    click.echo(f"{table}: {pairs} with {scores}", err=True)
    click.echo(str(change), err=True)
    for warning in (*survey.warnings(), *problems(after)):
        click.echo(f"warning: {warning}", err=True)


@click.group("ini")
def ini() -> None:
    """Show a moses.ini, or make it use a rescored phrase table.

    Relative paths in an ini resolve against the current directory, as in Moses.
    """


ini.add_command(show)
ini.add_command(add_column)
