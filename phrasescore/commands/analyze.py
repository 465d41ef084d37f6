"""``phrasescore analyze``: look at what a model learned."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import Options, argument, command, flag, option
from phrasescore.commands.numbers import BEAM, COLUMN, ITEMS, SEED, WORDS, Whole
from phrasescore.commands.options import MODEL, Computing, Result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT, OUTPUT_FOLDER
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import provenance
from phrasescore.runs.system_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from phrasescore.analysis.maps import DrawnMap, MapPoints
    from phrasescore.analysis.scatter import Scores
    from phrasescore.analysis.top import TopSettings

_PAGES = (".html", ".htm")
# options of the draw, which contradict --sources
_DRAWING = ("phrases", "min_words", "min_targets", "frequent", "rare")


@click.group("analyze")
def analyze() -> None:
    """Look at what a model learned, as section 4 of Cho et al. (2014) does."""


class TopOptions(Computing, Result):
    """Options of ``analyze top``."""

    table: str = argument(INPUT)
    model: str = MODEL
    output: str = option(
        OUTPUT,
        "Where to write; Markdown if the name ends in .md, otherwise TSV.  "
        "[default: standard output]",
        "-o",
        default="-",
    )
    sources: str | None = option(
        INPUT, "Source phrases to look at instead of drawn ones, one a line."
    )
    phrases: int | None = option(Whole(1, 100_000), "Sources to draw of each group.  [default: 10]")
    min_words: int | None = option(
        WORDS, "Minimum number of words of a drawn source.  [default: 4]"
    )
    min_targets: int | None = option(
        ITEMS, "Minimum number of targets of a drawn source in the table.  [default: 2]"
    )
    frequent: int | None = option(
        ITEMS, "Minimum extraction count of a frequent source.  [default: 10]"
    )
    rare: int | None = option(ITEMS, "Maximum extraction count of a rare source.  [default: 3]")
    column: int = option(COLUMN, "The score that is p(target|source), counted from 1.", default=3)
    best: int = option(BEAM, "Targets of each list.", default=3)
    samples: int = option(
        Whole(1, 100_000),
        "Targets to sample from the model for each source; the five best distinct ones are shown.",
        default=50,
    )
    seed: int = option(SEED, "Seed for drawing sources and samples.", default=1)
    no_unknown: bool = flag("No <unk> in samples.")


@command("top", TopOptions)
def top(options: TopOptions) -> None:
    """Compare the targets that TABLE prefers with those that the model prefers and samples.

    As in tables 2 and 3 of Cho et al. (2014): for long source phrases with several targets,
    frequent and rare ones drawn at random, the best targets by p(target|source) of TABLE, the best
    of the same candidates by the model, and the best of 50 samples from the model, with how often
    each was drawn.

    Extraction counts are read from the fifth column of TABLE. Without counts there is a single
    group of long sources. TABLE is plain, .gz, or - for standard input, and sorted as Moses sorts
    it (LC_ALL=C). It is read once, in constant memory.
    """
    from phrasescore.analysis.top import (
        TopSettings,
        draw_sources,
        find_preferences,
        find_sources,
        read_sources,
    )
    from phrasescore.analysis.top_results import json_values, summarised, written
    from phrasescore.model.folder import load_model
    from phrasescore.model.kinds import must_write_targets
    from phrasescore.runs.final_names import write_atomically

    options.use_threads()
    given = {name: value for name in _DRAWING if (value := vars(options)[name]) is not None}
    settings = TopSettings(
        **given,
        seed=options.seed,
        best=options.best,
        samples=options.samples,
        unknown=not options.no_unknown,
    )
    _check_drawing(settings, options.sources, given)
    loaded = load_model(options.model)
    must_write_targets(loaded.model.settings, options.model)
    table, column, factor = options.table, options.column, loaded.model.settings.factor
    if options.sources is None:
        sources, among = draw_sources(table, column, factor, settings)
    else:
        sources, among = find_sources(table, column, factor, read_sources(options.sources))
    preferences = find_preferences(loaded, sources, settings, options.device)
    write_atomically(options.output, written(preferences, options.output))
    lines, figures = summarised(among, preferences, settings)
    for line in lines:
        click.echo(line, err=True)
    used = {"column": column, **dataclasses.asdict(settings), "model": loaded.digest}
    result = {
        "drawn_from": among,
        "figures": figures,
        "sources": json_values(preferences),
        "provenance": provenance(inputs=[table], settings=used),
    }
    options.show(result)


def _check_drawing(settings: TopSettings, sources: str | None, given: dict[str, int]) -> None:
    """Refuse options that contradict each other."""
    if sources is not None and given:
        option = f"--{next(iter(given)).replace('_', '-')}"
        raise SettingsError(
            f"{option} is about drawing sources, and --sources gives them",
            remedy=f"leave out {option} or --sources",
        )
    if settings.rare >= settings.frequent:
        raise SettingsError(
            f"a source that was extracted {settings.rare:,} times would be both rare and frequent",
            remedy="give a --frequent above --rare",
        )


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
    drawn pairs and both ln p; result.json with correlations and shares; and two lists of the
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
    from phrasescore.analysis.scatter_results import PICTURE, described_lists, write_comparison
    from phrasescore.pictures.figure_files import check_figure

    check_figure(f"{PICTURE}.{options.format}")
    settings = options.settings(ScatterSettings)
    scores = _scores(options)
    comparison = compare(options.table, scores, settings)
    by = scores.model if isinstance(scores.model, int) else scores.model.digest
    used = {"column": scores.column, "model": by, **dataclasses.asdict(settings)}
    origin = provenance(inputs=[options.table], settings=used)
    record = write_comparison(comparison, Path(options.output), options.format, origin)
    click.echo(str(comparison), err=True)
    for line in described_lists(record):
        click.echo(line, err=True)
    options.show(record.to_json())


def _scores(options: ScatterOptions) -> Scores:
    """Return the two scores that the options ask to compare."""
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


class Words(Options):
    """Options that choose word vectors instead of summaries."""

    words: bool = flag("Word vectors, which every kind of model has.")
    side: Literal["source", "target"] | None = option(
        ["source", "target"],
        "With --words: of which side.  [default: the side that the model reads]",
    )

    def refuse_side_without_words(self) -> None:
        """Refuse ``--side`` without ``--words``: summaries exist only for the side the model reads.

        Raises:
            SettingsError: ``--side`` was given without ``--words``.
        """
        if self.side is not None and not self.words:
            raise SettingsError(
                "--side chooses among word vectors; summaries are of the side that the model reads",
                remedy="add --words or leave out --side",
            )


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
        "Number of phrases to draw at random; with --words: number of words, the most frequent.",
        default=5000,
    )
    min_words: int = option(WORDS, "Minimum number of words of a phrase.", default=4)
    seed: int = option(SEED, "Seed for the draw and the layout.", default=1)


@command("map", MapOptions, short_help="Lay out phrases or words in a map, to browse or to print.")
def map_command(options: MapOptions) -> None:
    """Draw a map on which similar phrases or words stand together (figures 4 and 5 of the paper).

    The map shows phrases of PHRASE-TABLE whose words the model knows, by the summary c that the
    encoder computes for each. With --words it shows word vectors; PHRASE-TABLE, if given, then
    restricts the map to words of the table. The layout is Barnes-Hut t-SNE: neighbours are
    similar, but long distances mean nothing. Clusters are regions where points are dense.

    The page shows a phrase under the pointer, searches phrases, and zooms to clusters; it is a
    single file and needs no network. A picture shows the whole map and some clusters at a larger
    scale.

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
    _check_map_output(output, is_page)
    points = _map_words(options) if options.words else _map_phrases(options)
    drawn = _laid_out(points, options)
    from phrasescore.analysis.map_results import draw_map, write_map_page

    (write_map_page if is_page else draw_map)(output, drawn)
    many, clusters = counted(len(points), points.noun), counted(len(drawn.clusters), "cluster")
    click.echo(f"{output}: {many} of {points.among:,}, {clusters}", err=True)


def _check_map_output(output: str, is_page: bool) -> None:
    """Check before the work begins that its result can be written."""
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


def _map_words(options: MapOptions) -> MapPoints:
    from phrasescore.analysis.maps import frequent_words
    from phrasescore.analysis.vectors import word_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(options.model)
    known = word_vectors(stored, options.side)
    return frequent_words(known, options.phrases, options.table, stored.settings.factor)


def _map_phrases(options: MapOptions) -> MapPoints:
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
        chosen = f"{len(points):,} most frequent of {points.among:,} words"
        subtitle = f"The {chosen}, by the model {options.model}."
    else:
        subtitle = (
            f"{len(points):,} of the {points.among:,} phrases of at least {options.min_words} "
            f"words in {options.table}, drawn at random, by the summaries that the model "
            f"{options.model} makes of them."
        )
    subtitle += " Barnes-Hut t-SNE: what is near is alike, far distances mean nothing."
    title = f"Map of {points.noun}s"
    return DrawnMap(title, subtitle, points.noun, points.texts, places, clusters)


class VectorsOptions(Words, Computing):
    """Options of ``analyze vectors``."""

    phrases: str | None = argument(INPUT, "[PHRASES]", required=False)
    model: str = MODEL
    table: str | None = option(
        INPUT,
        "A phrase table instead of PHRASES: each phrase of the side that the model reads once, if "
        "the model knows all its words.",
    )
    output: str = option(OUTPUT, "The .npz to write.", "-o", required=True)


@command(
    "vectors",
    VectorsOptions,
    short_help="Write summaries of phrases, or word vectors, for numpy.",
)
def vectors(options: VectorsOptions) -> None:
    """Write the vectors of phrases to a file that numpy opens without pickle.

    PHRASES has one phrase a line, plain, gzip or -. The vector of a phrase is the summary c that
    the encoder makes of it. With --words it is that of a word: of one word a line, or without
    PHRASES of all words that the model knows, the most frequent first.

    The file has the arrays vectors (N, D) in float32; text and offsets, in which the text of
    row i is text[offsets[i]:offsets[i + 1]]; what, phrases or words; and model, a digest.
    """
    options.refuse_side_without_words()
    phrases, table = options.phrases, options.table
    if phrases is not None and table is not None:
        raise SettingsError("PHRASES and --table are both given", remedy="leave out one of them")
    if options.words and table is not None:
        raise SettingsError(
            "--table is about phrases", remedy="leave out --table or leave out --words"
        )
    if not options.words and phrases is None and table is None:
        raise SettingsError(
            "there is nothing to read",
            remedy="name a file of phrases, or --table FILE, or add --words for all words",
        )
    rows, size = _write_words(options) if options.words else _write_phrases(options)
    what = counted(rows, "word" if options.words else "phrase")
    click.echo(f"{options.output}: {what}, vectors of {counted(size, 'number')}", err=True)


def _write_words(options: VectorsOptions) -> tuple[int, int]:
    import numpy as np

    from phrasescore.analysis.vectors import word_vectors, write_vectors
    from phrasescore.model.folder import load_weights

    stored = load_weights(options.model)
    found = word_vectors(stored, options.side)
    words, values = found.words, found.vectors
    if options.phrases is not None:
        rows = found.rows_in(options.phrases)
        words, values = tuple(words[row] for row in rows), values[rows]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    texts = b"".join(words), offsets
    write_vectors(options.output, "words", stored.digest, texts, [values], values.shape[1])
    return values.shape[0], values.shape[1]


def _write_phrases(options: VectorsOptions) -> tuple[int, int]:
    from phrasescore.analysis.phrases import PhraseSummaries, TablePhrases, read_phrases, texts_of
    from phrasescore.analysis.vectors import write_vectors
    from phrasescore.model.folder import load_model

    options.use_threads()
    loaded = load_model(options.model)
    summaries = PhraseSummaries(loaded, options.device)
    if options.table is not None:
        ids = TablePhrases(options.table, loaded).all()
        texts = texts_of(ids, loaded.source_vocabulary)
    else:
        assert options.phrases is not None
        ids, texts = read_phrases(options.phrases, loaded)
    blocks = summaries.blocks(ids)
    write_vectors(options.output, "phrases", loaded.digest, texts, blocks, summaries.size)
    return len(ids), summaries.size


for subcommand in (top, scatter, map_command, vectors):
    analyze.add_command(subcommand)
