"""``phrasescore analyze map``: phrases or words as a model sees them, in two dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.analyze.model_options import (
    model_option,
    refuse_side_without_words,
    threads_option,
    words_options,
)
from phrasescore.commands.numbers import SEED, WORDS, Whole
from phrasescore.commands.options import device_option
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.system_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from phrasescore.analysis.maps.drawn_map import DrawnMap
    from phrasescore.analysis.maps.points import MapPoints

_PAGES = (".html", ".htm")


@click.command("map", short_help="Lay out phrases or words in a map, to browse or to print.")
@model_option
@click.argument("table", type=INPUT, required=False, metavar="[PHRASE-TABLE]")
@words_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="FILE",
    help="A page to browse (.html), or a picture (.svg, .pdf or .png).",
)
@click.option(
    "--phrases",
    "count",
    type=Whole(10, 1_000_000),
    default=5000,
    show_default=True,
    metavar="N",
    help="How many phrases to draw at random; with --words: how many words, the most frequent.",
)
@click.option(
    "--min-words",
    "least",
    type=WORDS,
    default=4,
    show_default=True,
    metavar="N",
    help="Of a phrase, at least.",
)
@click.option(
    "--seed", type=SEED, default=1, show_default=True, metavar="N", help="For all that is random."
)
@device_option
@threads_option
def map_command(
    folder: str,
    table: str | None,
    words: bool,
    side: Any,
    output: str,
    count: int,
    least: int,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Lay out what a model knows so that things alike stand together (figures 4 and 5).

    Shown are phrases of PHRASE-TABLE whose words the model knows, each by the summary c that the
    encoder makes of it. With --words it is word vectors, and PHRASE-TABLE, which can be left out
    then, says of which words. The layout is Barnes-Hut t-SNE: what is near is alike, but far
    distances mean nothing. Clusters are places where points are dense.

    The page shows a phrase when the pointer is on it, finds phrases, and goes to clusters; it is
    one file and needs no network. A picture has the whole map and some clusters at a larger scale.

    Needs the extra report: pip install 'phrasescore[report]'
    """
    from phrasescore.analysis.maps.layout import check_layout

    refuse_side_without_words(words, side)
    if table is None and not words:
        raise SettingsError(
            "a map of phrases needs a phrase table",
            remedy="name one, or add --words for a map of words",
        )
    is_page = Path(output).suffix.lower() in _PAGES
    _check_output(output, is_page)
    check_layout()
    if words:
        points = _words(folder, table, side, count)
        subtitle = _words_told(points, folder)
    else:
        assert table is not None
        points = _phrases(folder, table, count, least, seed, device, threads)
        subtitle = _phrases_told(points, folder, table, least)
    drawn = _laid_out(points, subtitle, seed, threads)
    if is_page:
        from phrasescore.analysis.maps.page import write_map_page

        write_map_page(output, drawn)
    else:
        from phrasescore.analysis.maps.picture import draw_map

        draw_map(output, drawn)
    many, clusters = counted(len(points), points.noun), counted(len(drawn.clusters), "cluster")
    click.echo(f"{output}: {many} of {points.of:,}, {clusters}", err=True)


def _check_output(output: str, is_page: bool) -> None:
    if is_page:
        from phrasescore.analysis.maps.page import check_page

        check_page()
        return
    from phrasescore.pictures.figure_files import FORMATS, check_figure

    if Path(output).suffix[1:].lower() not in FORMATS:
        raise SettingsError(
            "a map's format goes by its name, and this names none",
            path=STANDARD_OUTPUT if output == STANDARD_STREAM else output,
            remedy="end the name in .html for a page, or in .svg, .pdf or .png for a picture",
        )
    check_figure(output)


def _words(folder: str, table: str | None, side: Any, count: int) -> MapPoints:
    from phrasescore.analysis.maps.points import frequent_words
    from phrasescore.analysis.word_vectors import word_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(folder)
    return frequent_words(word_vectors(stored, side), count, table, stored.settings.factor)


def _phrases(
    folder: str,
    table: str,
    count: int,
    least: int,
    seed: int,
    device: str,
    threads: int | None,
) -> MapPoints:
    import torch

    from phrasescore.analysis.maps.points import random_phrases
    from phrasescore.analysis.phrases import TablePhrases
    from phrasescore.analysis.summaries import SummaryVectors
    from phrasescore.model.folder import load_model

    if threads is not None:
        torch.set_num_threads(threads)
    loaded = load_model(folder)
    summaries = SummaryVectors(loaded, folder, device)
    phrases = TablePhrases(table, loaded, least)
    return random_phrases(phrases, loaded, summaries, count, seed)


def _words_told(points: MapPoints, folder: str) -> str:
    return f"The {len(points):,} most frequent of {points.of:,} words, by the model {folder}."


def _phrases_told(points: MapPoints, folder: str, table: str, least: int) -> str:
    return (
        f"{len(points):,} of the {points.of:,} phrases of at least {least} words in {table}, drawn "
        f"at random, by the summaries that the model {folder} makes of them."
    )


def _laid_out(points: MapPoints, subtitle: str, seed: int, threads: int | None) -> DrawnMap:
    from phrasescore.analysis.maps.clusters import find_clusters
    from phrasescore.analysis.maps.drawn_map import DrawnMap
    from phrasescore.analysis.maps.layout import lay_out
    from phrasescore.runs.processes import usable_cores

    places = lay_out(points.vectors, seed, threads or usable_cores())
    clusters = tuple(find_clusters(places, points.texts))
    title = f"Map of {points.noun}s"
    told = f"{subtitle} Barnes-Hut t-SNE: what is near is alike, far distances mean nothing."
    return DrawnMap(title, told, points.noun, points.texts, places, clusters)
