"""``phrasescore analyze scatter``: a model's ln p against the table's, and where they disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.numbers import COLUMN, ITEMS, SEED, THREADS, Whole
from phrasescore.commands.options import device_option, json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT_FOLDER
from phrasescore.errors import SettingsError

if TYPE_CHECKING:
    from phrasescore.analysis.scatter.pairs import Scores


@click.command("scatter")
@click.argument("table", type=INPUT)
@click.option("--model", "folder", type=INPUT_FOLDER, metavar="FOLDER", help="A model folder.")
@click.option(
    "--model-column",
    type=COLUMN,
    metavar="N",
    help="In place of --model: the score of TABLE that a model has written, counted from 1.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Where the results go; made if need be.",
)
@click.option(
    "--column",
    type=COLUMN,
    metavar="N",
    help="The score of TABLE to compare with, counted from 1.  [default: 3, p(target|source) of "
    "Moses; 1, p(source|target), for a model of that direction]",
)
@click.option(
    "--pairs",
    type=Whole(1, 10_000_000),
    metavar="N",
    default=100_000,
    show_default=True,
    help="Pairs to draw at random, for the picture and the figures.",
)
@click.option("--seed", type=SEED, metavar="N", default=1, show_default=True, help="For the draw.")
@click.option(
    "--disagreements",
    type=ITEMS,
    metavar="N",
    default=100,
    show_default=True,
    help="Pairs to list each way.",
)
@click.option(
    "--whole-table",
    is_flag=True,
    help="Search all of TABLE for disagreements, not only the pairs that were drawn. That takes as "
    "long as score does.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["svg", "pdf", "png"]),
    default="svg",
    show_default=True,
    help="Of the picture.",
)
@device_option
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@json_options
def scatter(
    table: str,
    folder: str | None,
    model_column: int | None,
    output: str,
    column: int | None,
    form: str,
    device: str,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
    **asked: Any,
) -> None:
    """Draw ln p of phrase pairs by a model against that by TABLE, and list where the two disagree.

    As in figure 3 of Cho et al. (2014). FOLDER gets the picture, scatter.svg; pairs.tsv.gz with the
    drawn pairs and both ln p; summary.json with correlations and shares; and two lists of the
    strongest disagreements, model-higher.tsv and model-lower.tsv: source, target, ln p by the table
    and by the model, their difference per word, how many standard deviations the model is off what
    it gives pairs of as many words and as much p in the table, counts, and reasons that can be seen
    (singleton, unknown words, length, digits, copied words, unaligned words, punctuation). prune
    --drop takes such a list.

    TABLE is plain, .gz, or - for standard input, in any order; memory does not depend on its
    length.

    Needs the extra report: pip install 'phrasescore[report]'
    """
    import dataclasses
    from pathlib import Path

    from phrasescore.analysis.scatter.comparison import ScatterSettings, compare
    from phrasescore.analysis.scatter.results import (
        PICTURE,
        described_lists,
        write_comparison,
        write_summary,
    )
    from phrasescore.pictures.figure_files import check_figure
    from phrasescore.runs.identity import provenance

    check_figure(f"{PICTURE}.{form}")
    settings = ScatterSettings(**asked)
    scores = _scores(folder, model_column, column, device, threads)
    comparison = compare(table, scores, settings)
    place = Path(output)
    figures = write_comparison(comparison, place, form)
    click.echo(str(comparison), err=True)
    for line in described_lists(figures["disagreements"], figures["reasons_of_drawn_pairs"]):
        click.echo(line, err=True)
    by = model_column if isinstance(scores.model, int) else scores.model.digest
    used = {"column": scores.column, "model": by, **dataclasses.asdict(settings)}
    result = {**figures, "provenance": provenance(inputs=[table], settings=used)}
    write_summary(place, result)
    print_result(result, as_json, json_file)


def _scores(
    folder: str | None,
    model_column: int | None,
    column: int | None,
    device: str,
    threads: int | None,
) -> Scores:
    """Return what is compared with what."""
    if (folder is None) == (model_column is None):
        raise SettingsError(
            "one thing is compared with the table: a model, or a score that one has written",
            remedy="give one of --model FOLDER and --model-column N",
        )
    from phrasescore.analysis.scatter.pairs import Scores

    if model_column is not None:
        scores = Scores(column or 3, model_column)
        if scores.column == model_column:
            raise SettingsError(
                f"score {model_column} would be compared with itself",
                remedy="name another --column or --model-column",
            )
        return scores
    import torch  # not for scores that stand in the table: it takes longer than they do

    from phrasescore.scoring.model_loading import ComputeSettings, load_models

    if threads is not None:
        torch.set_num_threads(threads)
    ready = load_models([str(folder)], ComputeSettings(device, "fp32"), None, None)
    (model,) = ready.models
    usual = 3 if model.direction == "source-target" else 1
    return Scores(column or usual, model, ready.factor)
