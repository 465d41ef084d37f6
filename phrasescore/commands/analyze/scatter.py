"""``phrasescore analyze scatter``: a model's ln p against the table's, and where they disagree."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.numbers import COLUMN, ITEMS, SEED, Whole
from phrasescore.commands.options import Computing, Result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT_FOLDER
from phrasescore.errors import SettingsError
from phrasescore.runs.identity import provenance
from phrasescore.runs.json_files import write_json

if TYPE_CHECKING:
    from phrasescore.analysis.scatter import Scores


class ScatterOptions(Computing, Result):
    """Options of ``analyze scatter``."""

    table: str = argument(INPUT)
    model: str | None = option(INPUT_FOLDER, "A model folder.")
    model_column: int | None = option(
        COLUMN,
        "In place of --model: the score of TABLE that a model has written, counted from 1.",
    )
    output: str = option(
        OUTPUT_FOLDER, "Where the results go; made if need be.", "-o", required=True
    )
    column: int | None = option(
        COLUMN,
        "The score of TABLE to compare with, counted from 1.  [default: 3, p(target|source) of "
        "Moses; 1, p(source|target), for a model of that direction]",
    )
    pairs: int = option(
        Whole(1, 10_000_000),
        "Pairs to draw at random, for the picture and the figures.",
        default=100_000,
    )
    seed: int = option(SEED, "For the draw.", default=1)
    disagreements: int = option(ITEMS, "Pairs to list each way.", default=100)
    whole_table: bool = flag(
        "Search all of TABLE for disagreements, not only the pairs that were drawn. That takes as "
        "long as score does."
    )
    format: Literal["svg", "pdf", "png"] = option(
        ["svg", "pdf", "png"], "Of the picture.", default="svg"
    )


@command("scatter", ScatterOptions)
def scatter(options: ScatterOptions) -> None:
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
    from phrasescore.analysis.scatter import ScatterSettings, compare
    from phrasescore.analysis.scatter_results import (
        PICTURE,
        SUMMARY,
        described_lists,
        write_comparison,
    )
    from phrasescore.pictures.figure_files import check_figure

    check_figure(f"{PICTURE}.{options.format}")
    settings = options.settings(ScatterSettings)
    scores = _scores(options)
    comparison = compare(options.table, scores, settings)
    place = Path(options.output)
    figures = write_comparison(comparison, place, options.format)
    click.echo(str(comparison), err=True)
    for line in described_lists(figures["disagreements"], figures["reasons_of_drawn_pairs"]):
        click.echo(line, err=True)
    by = scores.model if isinstance(scores.model, int) else scores.model.digest
    used = {"column": scores.column, "model": by, **dataclasses.asdict(settings)}
    result = {**figures, "provenance": provenance(inputs=[options.table], settings=used)}
    write_json(place / SUMMARY, result)
    options.show(result)


def _scores(options: ScatterOptions) -> Scores:
    """Return the two scores to compare."""
    folder, model_column = options.model, options.model_column
    if (folder is None) == (model_column is None):
        raise SettingsError(
            "one thing is compared with the table: a model, or a score that one has written",
            remedy="give one of --model FOLDER and --model-column N",
        )
    from phrasescore.analysis.scatter import Scores

    if model_column is not None:
        scores = Scores(options.column or 3, model_column)
        if scores.column == model_column:
            raise SettingsError(
                f"score {model_column} would be compared with itself",
                remedy="name another --column or --model-column",
            )
        return scores
    from phrasescore.scoring.model_loading import ComputeSettings, load_models

    options.use_threads()
    (model,), ready = load_models([str(folder)], ComputeSettings(options.device, "fp32"))
    usual = 3 if model.direction == "source-target" else 1
    return Scores(options.column or usual, model, ready.factor)
