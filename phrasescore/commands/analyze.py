"""``phrasescore analyze``: show what a model learned."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Literal

import click

from phrasescore.commands.declarations import Options, argument, command, flag, option, output_to
from phrasescore.commands.options import (
    COLUMN,
    ITEMS,
    MODEL,
    SEED,
    WORDS,
    BoundedInt,
    Computing,
    Result,
    output_folder,
)
from phrasescore.commands.paths import INPUT, OUTPUT, add_outputs
from phrasescore.errors import STANDARD_OUTPUT, SettingsError, counted
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.identity import provenance


@click.group("analyze")
def analyze() -> None:
    """Show what a model learned, as section 4 of Cho et al. (2014) does."""


class TopOptions(Computing, Result):
    """Options of ``analyze top``."""

    table: str = argument(INPUT)
    model: str = MODEL
    output: str = output_to("Where to write the lists, in Markdown.")
    phrases: int = option(
        BoundedInt(1, 100_000), "The number of frequent and of rare sources to draw.", default=10
    )
    min_words: int = option(WORDS, "Minimum number of words of a drawn source.", default=4)
    min_targets: int = option(
        ITEMS, "Minimum number of targets that TABLE has for a drawn source.", default=2
    )
    frequent: int = option(ITEMS, "Minimum extraction count of a frequent source.", default=10)
    rare: int = option(ITEMS, "Maximum extraction count of a rare source.", default=3)
    column: int = option(COLUMN, "Which score of TABLE is p(target|source), from 1.", default=3)
    samples: int = option(
        BoundedInt(1, 100_000),
        "The number of samples for each source; the five best distinct samples are shown.",
        default=50,
    )
    seed: int = option(SEED, "Seed for drawing sources and samples.", default=1)


@command("top", TopOptions, short_help="Show the best targets by a table and by a model.")
def top(options: TopOptions) -> None:
    """Show the targets that TABLE prefers, the targets that a model prefers, and samples.

    As in tables 2 and 3 of Cho et al. (2014), the command draws long source phrases, some frequent
    and some rare, that have several targets in TABLE. For each source phrase it shows the best
    targets by p(target|source) of TABLE, the best of the same targets by the model, and the best
    samples of the model with the number of times each was drawn. The JSON result also has p and ln
    p.

    Extraction counts are read from the fifth column of TABLE. Without counts there is a single
    group of long sources. TABLE is plain, .gz, or - for standard input, and must be sorted as Moses
    sorts it (LC_ALL=C). It is read once, in constant memory.
    """
    from phrasescore.analysis import top as lists
    from phrasescore.model.folder import load_model
    from phrasescore.runs.final_names import write_atomically

    options.use_threads()
    settings = options.settings(lists.TopSettings)
    loaded = load_model(options.model)
    loaded.must_write_targets()
    table, factor = options.table, loaded.model.settings.factor
    sources, among = lists.draw_sources(table, factor, settings)
    preferences = lists.find_preferences(loaded, sources, settings, options.device)
    write_atomically(options.output, lists.markdown(preferences))
    for group, total in among.items():
        click.echo(f"{group}: drawn from {counted(total, 'source')}", err=True)
    used = {**dataclasses.asdict(settings), "model": loaded.digest}
    options.show(
        {
            "drawn_from": among,
            "sources": lists.json_values(preferences),
            "provenance": provenance(inputs=[table], settings=used),
        }
    )


class ScatterOptions(Computing, Result):
    """Options of ``analyze scatter``."""

    table: str = argument(INPUT)
    model: str = MODEL
    output: str = output_folder("The folder for the results, created if missing.")
    column: int | None = option(
        COLUMN,
        "Which score of TABLE to compare with, counted from 1.  [default: 3, p(target|source) of "
        "Moses; for a model trained with --direction target-source: 1, p(source|target)]",
    )
    pairs: int = option(
        BoundedInt(1, 10_000_000), "The number of pairs to draw at random.", default=100_000
    )
    seed: int = option(SEED, "The seed for drawing pairs.", default=1)
    format: Literal["svg", "pdf", "png"] = option(
        ["svg", "pdf", "png"], "The format of the picture.", default="svg"
    )


@command("scatter", ScatterOptions, short_help="Plot ln p of phrase pairs by a table and a model.")
def scatter(options: ScatterOptions) -> None:
    """Draw a scatter plot of phrase pairs: ln p by TABLE and ln p by a model.

    The plot is like figure 3 of Cho et al. (2014). The command writes three files to FOLDER: the
    picture, scatter.svg; result.json with correlations and shares; and pairs.tsv.gz, whose columns
    are source, target, ln p by the table and ln p by the model. The pairs are sorted by the
    difference: the pairs that the model finds much more probable than the table does come first,
    and the pairs that the model finds much less probable come last. The command prune --drop can
    read these lines.

    TABLE is plain, .gz, or - for standard input, in any order; memory does not depend on its
    length.

    Needs optional packages: pip install 'phrasescore[report]'
    """
    from phrasescore.analysis import scatter as plot
    from phrasescore.pictures.figure_files import check_drawing
    from phrasescore.runs.results import RESULT, has_record
    from phrasescore.scoring.block_scoring import ComputeSettings, load_models

    check_drawing()
    folder = Path(options.output)
    pairs, result = folder / "pairs.tsv.gz", folder / RESULT
    picture = folder / f"scatter.{options.format}"
    add_outputs("--output", (pairs, picture, result))
    for path in (result, pairs, picture):
        if os.path.lexists(path) and not has_record(folder, plot.ScatterRecord):
            raise SettingsError(
                "the command would replace this file, which it did not write",
                path=path,
                remedy="name another folder",
            )
    options.use_threads()
    (model,), _ = load_models([options.model], ComputeSettings(options.device, "fp32"))
    column = options.column or (3 if model.loaded.direction == "source-target" else 1)
    drawn = plot.draw_pairs(options.table, options.pairs, options.seed)
    ln_p = plot.score_drawn(drawn, column, model)
    used = {
        "column": column,
        "model": model.loaded.digest,
        "pairs": options.pairs,
        "seed": options.seed,
    }
    record = plot.scatter_record(drawn, ln_p, provenance(inputs=[options.table], settings=used))
    folder.mkdir(parents=True, exist_ok=True)
    record.write(result)  # first, because it tells whose files the others are
    plot.write_pairs(pairs, drawn, ln_p)
    plot.draw_scatter(picture, drawn, ln_p, column, model.loaded.predicted)
    click.echo(plot.described(record), err=True)
    options.show(record.to_json())


class Words(Options):
    """Options that choose word vectors instead of summaries of phrases."""

    words: bool = flag("Use word vectors instead of phrases; every kind of model has them.")
    side: Literal["source", "target"] | None = option(
        ["source", "target"],
        "With --words: the language of the words.  [default: the side that the model reads]",
        needs=("words",),
    )


class MapOptions(Words, Computing):
    """Options of ``analyze map``."""

    one_of = ("table", "words")
    table: str | None = argument(INPUT, "[PHRASE-TABLE]", required=False)
    model: str = MODEL
    output: str = option(OUTPUT, "The page to write.", "-o", required=True)
    phrases: int = option(
        BoundedInt(10, 1_000_000),
        "Number of phrases to draw at random; with --words, number of the most frequent words.",
        default=5000,
    )
    min_words: int = option(WORDS, "Minimum number of words of a phrase.", default=4)
    seed: int = option(SEED, "Seed for the draw and the layout.", default=1)


@command("map", MapOptions, short_help="Lay out phrases or words in a map to browse.")
def map_command(options: MapOptions) -> None:
    """Draw a map on which similar phrases or words are neighbours.

    The map, like figures 4 and 5 of Cho et al. (2014), shows phrases of PHRASE-TABLE whose words
    the model knows. A phrase's place depends on the summary c that the encoder computes. With
    --words the map shows the most frequent words, placed by their vectors. The layout is Barnes-Hut
    t-SNE: neighbours are similar, but long distances mean nothing. A cluster is a dense region,
    named after its most typical words.

    The map is an HTML page. It shows the phrase under the pointer, can search and zoom, and saves
    the current view as a picture. The page is a single file and needs no network.

    Needs optional packages: pip install 'phrasescore[report]'
    """
    from phrasescore.analysis.maps import check_map_libraries, lay_out, shown, write_map_page
    from phrasescore.runs.processes import usable_cores

    check_map_libraries()
    if not options.output.lower().endswith((".html", ".htm")):
        name = STANDARD_OUTPUT if options.output == STANDARD_STREAM else options.output
        raise SettingsError("a map is an HTML page", path=name, remedy="end its name in .html")
    if options.table is None:
        from phrasescore.analysis.vectors import word_vectors
        from phrasescore.model.folder import load_weights

        words, vectors = word_vectors(load_weights(options.model), options.side)
        texts, vectors = words[: options.phrases], vectors[: options.phrases]
        title = f"The {len(texts):,} most frequent of {counted(len(words), 'word')}"
    else:
        from phrasescore.analysis.phrases import phrase_summaries, sample_phrases
        from phrasescore.generation.phrase_output import phrase_texts
        from phrasescore.model.folder import load_model

        options.use_threads()
        loaded = load_model(options.model)
        loaded.must_summarise()
        asked = options.min_words, options.phrases, options.seed
        ids, among = sample_phrases(options.table, loaded, *asked)
        texts = tuple(phrase_texts(ids, loaded.source_vocabulary))
        vectors = phrase_summaries(loaded, ids, options.device)
        title = f"{len(texts):,} of {counted(among, 'phrase')}"
    click.echo(f"laying out {counted(len(texts), 'point')}", err=True)
    places = lay_out(vectors, options.seed, options.threads or usable_cores())
    made = write_map_page(options.output, title, list(map(shown, texts)), places)
    clusters = counted(len(made), "cluster")
    click.echo(f"{options.output}: {title}, {clusters}", err=True)


class VectorsOptions(Words, Computing):
    """Options of ``analyze vectors``."""

    one_of = ("phrases", "words")
    phrases: str | None = argument(INPUT, "[PHRASES]", required=False)
    model: str = MODEL
    output: str = option(OUTPUT, "The .npz to write.", "-o", required=True)


@command(
    "vectors", VectorsOptions, short_help="Write summaries of phrases, or word vectors, for numpy."
)
def vectors(options: VectorsOptions) -> None:
    """Write the vectors of phrases to a file that numpy opens without pickle.

    PHRASES has one phrase per line; it is plain, .gz, or - for standard input. The vector of a
    phrase is the summary c that the encoder computes. With --words the output has a vector for each
    word that the model knows, the most frequent first.

    The output has these arrays: 'vectors', float32 of shape (N, D); 'text' and 'offsets', where
    text[offsets[i]:offsets[i + 1]] holds the bytes of the phrase in row i; 'what', the string
    'phrases' or 'words'; and 'model', the digest of the model.
    """
    from phrasescore.analysis.vectors import word_vectors, write_vectors

    output = options.output
    if options.phrases is None:
        from phrasescore.model.folder import load_weights

        stored = load_weights(options.model)
        words, found = word_vectors(stored, options.side)
        write_vectors(output, "words", stored.digest, words, found)
    else:
        from phrasescore.analysis.phrases import phrase_summaries, read_phrases
        from phrasescore.model.folder import load_model
        from phrasescore.words.known_words import unknown_warning
        from phrasescore.words.vocabulary import unknown_counts

        options.use_threads()
        loaded = load_model(options.model)
        loaded.must_summarise()
        ids, texts = read_phrases(options.phrases, loaded)
        if warning := unknown_warning(unknown_counts(ids).sum() / ids.lengths.sum()):
            click.echo(warning, err=True)
        found = phrase_summaries(loaded, ids, options.device)
        write_vectors(output, "phrases", loaded.digest, texts, found)
    rows, size = found.shape
    what = counted(rows, "word" if options.words else "phrase")
    click.echo(f"{output}: {what}, vectors of {counted(size, 'number')}", err=True)


for subcommand in (top, scatter, map_command, vectors):
    analyze.add_command(subcommand)
