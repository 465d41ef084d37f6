"""``phrasescore score-text``: ln p of any pairs of texts, word by word if wanted."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.device_option import device_option
from phrasescore.commands.numbers import BATCH, FACTOR, THREADS
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.model.folder import LoadedModel
    from phrasescore.table.text_blocks import Texts

_SKIP = ", or give --on-error skip to leave its score empty"


@click.command("score-text")
@click.argument(
    "texts", nargs=-1, required=True, type=INPUT, metavar="PAIRS | SOURCE TARGET | TEXT"
)
@click.option(
    "--model", "folder", required=True, type=INPUT_FOLDER, metavar="FOLDER", help="A model folder."
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="FILE",
    help="Where to write the lines; gzip if the name ends in .gz; - is standard output.  "
    "[default: standard output; with --perplexity nowhere]",
)
@click.option("--words", is_flag=True, help="Append a column with ln p of each word and of </s>.")
@click.option(
    "--perplexity",
    is_flag=True,
    help="Print lines, tokens (</s> counted), unknown words, ln p and perplexity of all together; "
    "lines are written only if -o says where.",
)
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do at a line that cannot be scored; skip leaves its score empty.",
)
@click.option(
    "--factor",
    type=FACTOR,
    help="The factor of a token surface|tag to score, from 0.  [default: the model's own]",
)
@device_option
@click.option("--batch-size", type=BATCH, metavar="PAIRS", help="Pairs scored at a time.")
@click.option("--threads", type=THREADS, metavar="N", help="CPU threads.")
@json_options
def score_text(
    texts: tuple[str, ...],
    folder: str,
    output: str | None,
    words: bool,
    perplexity: bool,
    on_error: Literal["stop", "skip"],
    factor: int | None,
    device: str,
    batch_size: int | None,
    threads: int | None,
    as_json: bool,
    json_file: str | None,
) -> None:
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
    import torch

    from phrasescore.model.folder import load_model
    from phrasescore.runs.file_kinds import can_be_read_again
    from phrasescore.runs.interruption import interruptible
    from phrasescore.scoring.shared_scorer import SharedScorer
    from phrasescore.scoring.text_scoring import score_texts

    to = _destination(output, perplexity, words, as_json)
    if threads is not None:
        torch.set_num_threads(threads)
    loaded = load_model(folder)
    asked = _texts(texts, loaded, factor, on_error == "skip")
    scorer = SharedScorer(loaded.model, device, "fp32", batch_size)
    numerics = {"batch_size": batch_size, "device": str(scorer.device), "precision": "fp32"}
    # what comes or goes through a pipe cannot be gone on with
    keeps = to not in ("-", os.devnull) and all(can_be_read_again(path) for path in texts)
    with interruptible(to) if keeps else contextlib.nullcontext():
        report = score_texts(asked, to, loaded, scorer, words=words, numerics=numerics)
    click.echo(str(report), err=True)
    used = {"words": words, "factor": asked.factor, "on_error": on_error, "numerics": numerics}
    result = {**report.to_json(), "provenance": provenance(settings={"model": folder, **used})}
    print_result(result, as_json, json_file)
    if perplexity and not as_json:
        click.echo(report.figures_text)


def _destination(output: str | None, perplexity: bool, words: bool, as_json: bool) -> str:
    """Return where the lines go; standard output has room for one thing only."""
    to = output or (os.devnull if perplexity else "-")
    if to == "-" and (perplexity or as_json):
        raise SettingsError(
            f"the lines and the {'JSON' if as_json else 'perplexity'} would both go to standard "
            "output",
            remedy="write the lines to a file with -o"
            + (", or the JSON with --json-file" if as_json else ""),
        )
    if words and output is None and perplexity:
        raise SettingsError(
            "--words is about the lines, and --perplexity alone writes none",
            remedy="say with -o where to write them, or leave out --words",
        )
    return to


def _texts(paths: tuple[str, ...], loaded: LoadedModel, factor: int | None, skips: bool) -> Texts:
    """Say how to read the texts that the model wants."""
    from phrasescore.model.kinds import kind_named
    from phrasescore.table.text_blocks import Texts

    settings = loaded.model.settings
    columns = 2 if kind_named(settings.kind).reads_source else 1
    if len(paths) > columns:
        remedy = "give one file with columns, or one for each text"
        raise SettingsError(
            f"{counted(len(paths), 'file')}, where this kind of model takes at most {columns}",
            remedy=remedy if columns > 1 else "give the text alone: a language model has no source",
        )
    chosen = settings.factor if factor is None else factor
    return Texts(paths, columns, chosen, skips, advice=_SKIP)
