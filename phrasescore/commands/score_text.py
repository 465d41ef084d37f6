"""``phrasescore score-text``: append ln p to pairs of texts, optionally word by word."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option, output_to
from phrasescore.commands.options import PAIRS, Computing, Result, factor, model_folders, resumable
from phrasescore.commands.paths import INPUT, warn_of_raw_text
from phrasescore.errors import SettingsError, counted
from phrasescore.runs.identity import provenance

if TYPE_CHECKING:
    from phrasescore.model.folder import LoadedModel
    from phrasescore.table.text_blocks import Texts


def _keep(text: str) -> tuple[float | None, float | None]:
    """Return a threshold and no share, or no threshold and a share from 0 to 1."""
    from phrasescore.table.input_files import finite_number

    number = finite_number(text.removesuffix("%"))
    if number is None or (text.endswith("%") and not 0 < number <= 100):
        raise click.BadParameter(f"{text[:30]!r} is neither a number nor a share such as 20%")
    return (None, number / 100) if text.endswith("%") else (number, None)


class ScoreTextOptions(Computing, Result):
    """Options of ``score-text``."""

    texts: tuple[str, ...] = argument(
        INPUT, "PAIRS | SOURCE TARGET | TEXT", nargs=-1, required=True
    )
    models: tuple[str, ...] = model_folders(
        "A model folder; may be repeated: each model adds a column, all in one pass."
    )
    output: str = output_to("Where to write the lines; gzip if the name ends in .gz.")
    words: bool = flag("Append a column with ln p of each word and of the end.")
    length_normalisation: bool = flag(
        "Write ln p divided by the number of tokens; the end counts as a token."
    )
    dual: bool = flag(
        "Append the dual conditional cross-entropy score of two models of opposite directions "
        "(Junczys-Dowmunt 2018), from 0 to 1."
    )
    keep: tuple[float | None, float | None] | None = option(
        _keep,
        "Write only lines with a score of at least NUMBER, or only the best SHARE of the lines, "
        "such as 20%. With --dual the dual score decides.",
        metavar="NUMBER|SHARE%",
    )
    on_error: Literal["stop", "skip"] = option(
        ["stop", "skip"],
        "Stop at a line that cannot be scored, or leave its score empty.",
        default="stop",
    )
    factor: int | None = factor("the model's")
    batch_size: int | None = PAIRS


@command("score-text", ScoreTextOptions)
def score_text(options: ScoreTextOptions) -> None:
    r"""Append ln p(target | source), or ln p(text) of a language model, to each line of texts.

    PAIRS has a source and a target in the first two columns of each line, separated by a tab. Two
    files, SOURCE and TARGET, may replace PAIRS. For a language model, TEXT has the text to score in
    its first column. The files may be plain or .gz, and one may be - (standard input). Texts may be
    of any length; they must be prepared like the training text.

    Each output line is the input line, a tab, and ln p of the target and its end, computed in fp32.
    With --words a further column has ln p of each word and, last, of the end. A model trained with
    --direction target-source reads the targets and predicts the sources.

    The perplexity of all lines together is printed on standard error, beside that of held-out
    training text, and is part of the JSON result; -o /dev/null discards the lines.

    To filter parallel text, give two models of opposite directions, --dual and, for example,
    --keep 20%. The new columns are the scores of the models and then the dual score.

    If the command is interrupted, even by kill -9, the same command continues where it stopped.
    """
    from phrasescore.model.folder import load_model
    from phrasescore.scoring.block_scoring import ScoringModel
    from phrasescore.scoring.shared_scorer import SharedScorer
    from phrasescore.scoring.text_scoring import TextSettings, described, score_texts

    options.use_threads()
    loaded = [load_model(folder) for folder in options.models]
    threshold, share = options.keep or (None, None)
    settings = options.settings(
        TextSettings, normalised=options.length_normalisation, threshold=threshold, share=share
    )
    settings.check(loaded)
    texts = _texts(options, loaded)
    size = options.batch_size
    models = [
        ScoringModel(folder, each, SharedScorer(each.model, options.device, "fp32", size))
        for folder, each in zip(options.models, loaded, strict=True)
    ]
    numerics = {"batch_size": size, "device": str(models[0].scorer.device), "precision": "fp32"}
    warn_of_raw_text(options.texts)
    with resumable(options.texts, [options.output]):
        report = score_texts(texts, options.output, models, settings, numerics=numerics)
    click.echo(described(report, models), err=True)
    used = {
        **dataclasses.asdict(settings),
        "factor": texts.factor,
        "on_error": options.on_error,
        "numerics": numerics,
    }
    figures = zip(options.models, report.counts.figures(), strict=True)
    options.show(
        {
            **vars(report.counts),
            "models": [{"model": folder, **each} for folder, each in figures],
            "resumed_lines": report.resumed,
            "seconds": round(report.seconds, 3),
            "pairs_per_second": round(report.per_second, 1),
            "sha256": list(report.sha256),
            "provenance": provenance(settings=used),
        }
    )


def _texts(options: ScoreTextOptions, models: Sequence[LoadedModel]) -> Texts:
    """Return the texts to read, in the form that the models need."""
    from phrasescore.model.kinds import kind_named
    from phrasescore.table.text_blocks import Texts

    settings = models[0].model.settings
    factors = {each.model.settings.factor for each in models}
    if len(factors) > 1 and options.factor is None:
        raise SettingsError(
            "the models were trained on different factors", remedy="choose one with --factor"
        )
    columns = 2 if kind_named(settings.kind).reads_source else 1
    if len(options.texts) > columns:
        remedy = "give one file with columns, or one for each text"
        raise SettingsError(
            f"{counted(len(options.texts), 'file')}, but this kind of model takes at most "
            f"{columns}",
            remedy=remedy if columns > 1 else "give the text alone: a language model has no source",
        )
    chosen = settings.factor if options.factor is None else options.factor
    skips = options.on_error == "skip"
    return Texts(options.texts, columns, chosen, skips, alone="target")
