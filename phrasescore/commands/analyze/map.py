"""``phrasescore analyze map``: phrases or words as a model sees them, in two dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from phrasescore.commands.analyze.options import Words
from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.numbers import SEED, WORDS, Whole
from phrasescore.commands.options import MODEL, Computing
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.system_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from phrasescore.analysis.maps import DrawnMap, MapPoints

_PAGES = (".html", ".htm")


class MapOptions(Words, Computing):
    """Options of ``analyze map``."""

    table: str | None = argument(INPUT, "[PHRASE-TABLE]", required=False)
    model: str = MODEL
    output: str = option(
        OUTPUT,
        "A page to browse (.html), or a picture (.svg, .pdf or .png).",
        "-o",
        required=True,
    )
    phrases: int = option(
        Whole(10, 1_000_000),
        "How many phrases to draw at random; with --words: how many words, the most frequent.",
        default=5000,
    )
    min_words: int = option(WORDS, "Of a phrase, at least.", default=4)
    seed: int = option(SEED, "For all that is random.", default=1)


@command("map", MapOptions, short_help="Lay out phrases or words in a map, to browse or to print.")
def map_command(options: MapOptions) -> None:
    """Lay out what a model knows so that things alike stand together (figures 4 and 5).

    Shown are phrases of PHRASE-TABLE whose words the model knows, each by the summary c that the
    encoder makes of it. With --words it is word vectors, and PHRASE-TABLE, which can be left out
    then, says of which words. The layout is Barnes-Hut t-SNE: what is near is alike, but far
    distances mean nothing. Clusters are places where points are dense.

    The page shows a phrase when the pointer is on it, finds phrases, and goes to clusters; it is
    one file and needs no network. A picture has the whole map and some clusters at a larger scale.

    Needs the extra report: pip install 'phrasescore[report]'
    """
    options.refuse_side_without_words()
    if options.table is None and not options.words:
        raise SettingsError(
            "a map of phrases needs a phrase table",
            remedy="name one, or add --words for a map of words",
        )
    output = options.output
    is_page = Path(output).suffix.lower() in _PAGES
    _check_output(output, is_page)
    points = _words(options) if options.words else _phrases(options)
    drawn = _laid_out(points, options)
    from phrasescore.analysis.map_results import draw_map, write_map_page

    (write_map_page if is_page else draw_map)(output, drawn)
    many, clusters = counted(len(points), points.noun), counted(len(drawn.clusters), "cluster")
    click.echo(f"{output}: {many} of {points.of:,}, {clusters}", err=True)


def _check_output(output: str, is_page: bool) -> None:
    """Find out before the work begins whether its result can be written."""
    from phrasescore.analysis.map_results import check_page
    from phrasescore.analysis.maps import check_layout
    from phrasescore.pictures.figure_files import FORMATS, check_figure

    if is_page:
        check_page()
    elif Path(output).suffix[1:].lower() in FORMATS:
        check_figure(output)
    else:
        raise SettingsError(
            "a map's format goes by its name, and this names none",
            path=STANDARD_OUTPUT if output == STANDARD_STREAM else output,
            remedy="end the name in .html for a page, or in .svg, .pdf or .png for a picture",
        )
    check_layout()


def _words(options: MapOptions) -> MapPoints:
    from phrasescore.analysis.maps import frequent_words
    from phrasescore.analysis.vectors import word_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(options.model)
    known = word_vectors(stored, options.side)
    return frequent_words(known, options.phrases, options.table, stored.settings.factor)


def _phrases(options: MapOptions) -> MapPoints:
    from phrasescore.analysis.maps import random_phrases
    from phrasescore.analysis.phrases import PhraseSummaries, TablePhrases
    from phrasescore.model.folder import load_model

    assert options.table is not None
    options.use_threads()
    loaded = load_model(options.model)
    summaries = PhraseSummaries(loaded, options.device)
    phrases = TablePhrases(options.table, loaded, options.min_words)
    vocabulary = loaded.source_vocabulary
    return random_phrases(phrases, vocabulary, summaries, options.phrases, options.seed)


def _laid_out(points: MapPoints, options: MapOptions) -> DrawnMap:
    from phrasescore.analysis.maps import DrawnMap, find_clusters, lay_out
    from phrasescore.runs.processes import usable_cores

    click.echo(f"laying out {counted(len(points), points.noun)}", err=True)
    places = lay_out(points.vectors, options.seed, options.threads or usable_cores())
    clusters = tuple(find_clusters(places, points.texts))
    if options.words:
        chosen = f"{len(points):,} most frequent of {points.of:,} words"
        subtitle = f"The {chosen}, by the model {options.model}."
    else:
        subtitle = (
            f"{len(points):,} of the {points.of:,} phrases of at least {options.min_words} words "
            f"in {options.table}, drawn at random, by the summaries that the model "
            f"{options.model} makes of them."
        )
    subtitle += " Barnes-Hut t-SNE: what is near is alike, far distances mean nothing."
    title = f"Map of {points.noun}s"
    return DrawnMap(title, subtitle, points.noun, points.texts, places, clusters)
