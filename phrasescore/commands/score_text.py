"""``phrasescore score-text``: ln p of any pairs of texts, word by word if wanted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.numbers import BATCH
from phrasescore.commands.options import MODEL, Computing, Result, factor, resumable
from phrasescore.commands.paths import INPUT, OUTPUT
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.model.folder import LoadedModel
    from phrasescore.table.text_blocks import Texts

_SKIP = ", or give --on-error skip to leave its score empty"


class ScoreTextOptions(Computing, Result):
    """Options of ``score-text``."""

    texts: tuple[str, ...] = argument(
        INPUT, "PAIRS | SOURCE TARGET | TEXT", nargs=-1, required=True
    )
    model: str = MODEL
    output: str | None = option(
        OUTPUT,
        "Where to write the lines; gzip if the name ends in .gz; - is standard output.  "
        "[default: standard output; with --perplexity nowhere]",
        "-o",
    )
    words: bool = flag("Append a column with ln p of each word and of </s>.")
    perplexity: bool = flag(
        "Print lines, tokens (</s> counted), unknown words, ln p and perplexity of all together; "
        "lines are written only if -o says where."
    )
    on_error: Literal["stop", "skip"] = option(
        ["stop", "skip"],
        "What to do at a line that cannot be scored; skip leaves its score empty.",
        default="stop",
    )
    factor: int | None = factor("the model's")
    batch_size: int | None = option(BATCH, "Pairs scored at a time.", metavar="PAIRS")


@command("score-text", ScoreTextOptions)
def score_text(options: ScoreTextOptions) -> None:
    r"""Append ln p(target | source), or of a language model ln p(text), to each line of texts.

    PAIRS has source and target in the first two columns of each line, separated by a tab; or give
    two files, SOURCE and TARGET, line by line. For a language model, TEXT has in its first column
    what is scored. All may be plain or .gz, and one may be - (standard input). Texts can be of any
    length; they must be prepared like the text that the model was trained on.

    Each output line is the input line, a tab, and ln p of the target and its end </s>, computed in
    fp32. With --words a further column has ln p of each word, </s> last. A model trained with
    --direction target-source reads the targets and predicts the sources.

    If it is interrupted, even by kill -9, the same command continues where it stopped.
    """
    from phrasescore.model.folder import load_model
    from phrasescore.scoring.shared_scorer import SharedScorer
    from phrasescore.scoring.text_scoring import score_texts

    output = _destination(options)
    options.use_threads()
    loaded = load_model(options.model)
    texts = _texts(options, loaded)
    size = options.batch_size
    scorer = SharedScorer(loaded.model, options.device, "fp32", size)
    numerics = {"batch_size": size, "device": str(scorer.device), "precision": "fp32"}
    words = options.words
    with resumable(options.texts, [output]):
        report = score_texts(texts, output, loaded, scorer, words=words, numerics=numerics)
    click.echo(str(report), err=True)
    used = {"words": words, "factor": texts.factor, "on_error": options.on_error}
    settings = {"model": options.model, **used, "numerics": numerics}
    options.show({**report.to_json(), "provenance": provenance(settings=settings)})
    if options.perplexity and not options.as_json:
        click.echo(report.figures_text)


def _destination(options: ScoreTextOptions) -> str:
    """Return the output of the lines; only one result can go to standard output."""
    output = options.output or (os.devnull if options.perplexity else "-")
    if output == "-" and (options.perplexity or options.as_json):
        result = "JSON" if options.as_json else "perplexity"
        raise SettingsError(
            f"the lines and the {result} would both go to standard output",
            remedy="write the lines to a file with -o"
            + (", or the JSON with --json-file" if options.as_json else ""),
        )
    if options.words and options.output is None and options.perplexity:
        raise SettingsError(
            "--words is about the lines, and --perplexity alone writes none",
            remedy="say with -o where to write them, or leave out --words",
        )
    return output


def _texts(options: ScoreTextOptions, loaded: LoadedModel) -> Texts:
    """Return the texts in the form that the model needs."""
    from phrasescore.model.kinds import kind_named
    from phrasescore.table.text_blocks import Texts

    settings = loaded.model.settings
    columns = 2 if kind_named(settings.kind).reads_source else 1
    if len(options.texts) > columns:
        remedy = "give one file with columns, or one for each text"
        raise SettingsError(
            f"{counted(len(options.texts), 'file')}, where this kind of model takes at most "
            f"{columns}",
            remedy=remedy if columns > 1 else "give the text alone: a language model has no source",
        )
    chosen = settings.factor if options.factor is None else options.factor
    return Texts(options.texts, columns, chosen, options.on_error == "skip", advice=_SKIP)
