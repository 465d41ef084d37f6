"""``phrasescore ini``: show a moses.ini, or make it use new columns and language models."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from phrasescore.commands.numbers import WEIGHT
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, PathName, Use, refuse_replaced_inputs
from phrasescore.runs.byte_streams import STANDARD_STREAM

if TYPE_CHECKING:
    from moses_integration.ini.moses_ini import MosesIni

_Command = TypeVar("_Command", bound=Callable[..., Any])


_output = click.option(
    "-o",
    "--output",
    required=True,
    type=PathName(Use.WRITE, may_replace="MOSES_INI"),
    metavar="FILE",
    help="Where to write the new ini; - is standard output.",
)
_absolute_paths = click.option(
    "--absolute-paths",
    is_flag=True,
    help="Make all paths absolute, so that the ini works from everywhere.",
)


def _start_weight(meaning: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--start-weight",
        type=WEIGHT,
        metavar="NUMBER",
        help=f"{meaning}  [default: 0.2; beside tuned weights 0, which leaves translations as they "
        "are]",
    )


@click.command("show", short_help="List features, weights, files and problems.")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@json_options
def show(path: str, as_json: bool, json_file: str | None) -> None:
    """List the features, weights and files of MOSES_INI, and what Moses would refuse or ignore."""
    from moses_integration.ini.listing import listing, listing_text
    from moses_integration.ini.moses_ini import MosesIni

    found = listing(MosesIni.read(path))
    if not as_json:
        click.echo(listing_text(found))
    print_result(found, as_json, json_file)


@click.command("add-column", short_help="Make it use a table with more scores.")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@click.option(
    "--table",
    required=True,
    type=INPUT,
    metavar="FILE",
    help="The rescored phrase table; its path is written as given here.",
)
@click.option(
    "--reordering",
    type=INPUT,
    metavar="FILE",
    help="Also replace the reordering table, e.g. by that of generate --reordering-output.",
)
@_output
@_start_weight("The weight of each new score, until it is tuned.")
@click.option(
    "--feature",
    metavar="NAME",
    help="Which phrase table to replace, where there are several, e.g. TranslationModel0.",
)
@_absolute_paths
def add_column(
    path: str,
    table: str,
    reordering: str | None,
    output: str,
    start_weight: float | None,
    feature: str | None,
    absolute_paths: bool,
) -> None:
    """Write MOSES_INI with the phrase table replaced, and a weight for each new score.

    With --reordering, the reordering table is replaced, too, which must have the same pairs.

    The scores of the whole table are checked first. Every other byte of the ini stays as it is.
    """
    from moses_integration.ini.listing import problems
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.table_feature import (
        check_table_path,
        find_table_feature,
        start_weight_for,
        with_absolute_paths,
        with_reordering,
        with_table,
    )
    from moses_integration.tables.score_survey import survey_scores
    from phrasescore.errors import counted
    from phrasescore.runs.byte_streams import write_atomically

    check_table_path(table)
    before = MosesIni.read(path)
    place = find_table_feature(before, feature)
    survey = survey_scores(table)
    if start_weight is None:
        start_weight = start_weight_for(before)
    change = with_table(before, place, table, survey.scores, start_weight)
    after = change.ini if reordering is None else with_reordering(change.ini, reordering)
    after = with_absolute_paths(after) if absolute_paths else after
    write_atomically(output, after.to_bytes())
    pairs, scores = counted(survey.lines, "phrase pair"), counted(survey.scores, "score")
    click.echo(f"{table}: {pairs} with {scores}", err=True)
    click.echo(str(change), err=True)
    if reordering is not None:
        click.echo(f"reordering table: {reordering}", err=True)
    if change.scores != change.before.scores:
        _advise_tuning(start_weight, output)
    for warning in (*survey.warnings(), *problems(after)):
        click.echo(f"warning: {warning}", err=True)


@click.command("add-language-model", short_help="Make it ask a neural language model.")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@click.option(
    "--model",
    required=True,
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="A model of kind feed-forward-lm; its path is written as given here.",
)
@_output
@click.option(
    "--name",
    metavar="NAME",
    help="What weights and n-best lists call it.  [default: NeuralLM0, or the next that is free]",
)
@_start_weight("The weight of the model, until it is tuned.")
@click.option(
    "--normalised/--unnormalised",
    default=None,
    help="Whether its scores are ln p, or leave ln Z out, which is several times faster.  "
    "[default: unnormalised if the model was trained with --self-normalise]",
)
@click.option(
    "--unknown",
    type=click.Choice(["whole", "share"]),
    help="What a word outside its shortlist is given: the whole p(<unk>), which is the sum over "
    "all such words, or its share of it, by how often training saw it.  [default: share, where "
    "training saw such words]",
)
@_absolute_paths
def add_language_model(
    path: str,
    model: str,
    output: str,
    name: str | None,
    start_weight: float | None,
    normalised: bool | None,
    unknown: str | None,
    absolute_paths: bool,
) -> None:
    """Write MOSES_INI with one more feature: a neural language model that is asked while decoding.

    decode, tune and force-score of phrasescore read it, real Moses does not: remove-feature takes
    it out again. The model is checked first. Every other byte of the ini stays as it is.
    """
    from moses_integration.ini.language_model_feature import with_language_model
    from moses_integration.ini.listing import problems
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.table_feature import start_weight_for, with_absolute_paths
    from moses_integration.language_model.fitness import (
        checked_words,
        is_self_normalised,
        read_for_ini,
    )
    from phrasescore.errors import counted
    from phrasescore.model.folder import load_outside
    from phrasescore.runs.byte_streams import write_atomically

    before = MosesIni.read(path)
    stored = read_for_ini(model, normalised=normalised is not False)
    if start_weight is None:
        start_weight = start_weight_for(before)
    whole = not is_self_normalised(stored) if normalised is None else normalised
    outside = load_outside(model)
    change = with_language_model(
        before, model, name, start_weight, normalised=whole,
        shares_unknown=unknown == "share" or (unknown is None and bool(outside)),
    )  # fmt: skip
    warnings = checked_words(before, stored)
    after = with_absolute_paths(change.ini) if absolute_paths else change.ini
    write_atomically(output, after.to_bytes())
    words = counted(len(stored.target_vocabulary) - 2, "word")
    click.echo(f"{model}: a model that knows {words}", err=True)
    click.echo(str(change), err=True)
    if normalised is None and not whole:
        click.echo(
            f"{model} was trained with --self-normalise, so its scores leave ln Z out, which is "
            "several times faster; --normalised takes ln p",
            err=True,
        )
    _advise_tuning(start_weight, output)
    for warning in (*warnings, *problems(_called(after, output))):
        click.echo(f"warning: {warning}", err=True)


def _advise_tuning(weight: float, output: str) -> None:
    """Say what comes next: a weight that nobody tuned makes no translation better."""
    effect = "until then it changes nothing" if not weight else "its weight is a first guess"
    name = "this ini" if output == STANDARD_STREAM else output
    click.echo(f"now tune all weights of {name} together (phrasescore tune): {effect}", err=True)


def _called(after: MosesIni, output: str) -> MosesIni:
    """Return what was written under the name of its file, which warnings are to name."""
    return after if output == STANDARD_STREAM else dataclasses.replace(after, path=output)


@click.command("remove-feature", short_help="Take a feature and its weights out.")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@click.argument("name", metavar="NAME")
@_output
def remove_feature(path: str, name: str, output: str) -> None:
    """Write MOSES_INI without the feature NAME and its weights.

    Every other byte of the ini stays as it is. Without the language models of add-language-model,
    real Moses reads it again.
    """
    from moses_integration.ini.feature_removal import without_feature
    from moses_integration.ini.listing import problems
    from moses_integration.ini.moses_ini import MosesIni
    from phrasescore.runs.byte_streams import write_atomically

    before = MosesIni.read(path)
    after = without_feature(before, name)
    write_atomically(output, after.to_bytes())
    click.echo(f"{name}: a {before.feature(name).kind} is gone, and its weights", err=True)
    for warning in problems(_called(after, output)):
        click.echo(f"warning: {warning}", err=True)


@click.command("absolute-paths", short_help="Make it work from every folder.")
@click.argument("path", type=INPUT, metavar="MOSES_INI")
@_output
def absolute_paths(path: str, output: str) -> None:
    """Write MOSES_INI with all paths absolute, so that it works from everywhere.

    Relative ones are taken to be relative to the current directory, as Moses takes them, and must
    be there. Every other byte of the ini stays as it is.
    """
    from moses_integration.ini.listing import files_read, problems
    from moses_integration.ini.model_files import find_binary_file, find_model_file
    from moses_integration.ini.moses_ini import MosesIni
    from moses_integration.ini.table_feature import relative_paths, with_absolute_paths
    from phrasescore.errors import counted
    from phrasescore.runs.byte_streams import write_atomically

    before = MosesIni.read(path)
    before.refuse_old_style()
    refuse_replaced_inputs(files_read(before))
    relative = relative_paths(before)
    for line, named in relative:
        if find_binary_file(named, line.kind) is None:
            find_model_file(named, ini=path)
    after = with_absolute_paths(before)
    write_atomically(output, after.to_bytes())
    click.echo(f"{counted(len(relative), 'path')} made absolute", err=True)
    for warning in problems(_called(after, output)):
        click.echo(f"warning: {warning}", err=True)


@click.group("ini")
def ini() -> None:
    """Show a moses.ini, or make it use a rescored phrase table or a neural language model.

    Relative paths in an ini resolve against the current directory, as in Moses.
    """


ini.add_command(show)
ini.add_command(add_column)
ini.add_command(add_language_model)
ini.add_command(absolute_paths)
ini.add_command(remove_feature)
