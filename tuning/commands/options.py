"""Options that the commands of tuning share. Imports nothing heavy: help must be instant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from phrasescore.commands.numbers import SEED, THREADS, Whole
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT
from phrasescore.errors import SettingsError
from tuning.metrics.metric_settings import (
    METRICS,
    REFERENCE_LENGTHS,
    TOKENIZERS,
    Objective,
    SentenceSelection,
    TextScoring,
)
from tuning.optimizers.optimizer_settings import OPTIMIZERS, OptimizationSettings, OptimizerSettings

Command = TypeVar("Command", bound=Callable[..., Any])


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds options in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


scoring_options = _together(
    click.option(
        "--reference",
        "references",
        multiple=True,
        required=True,
        type=INPUT,
        metavar="FILE",
        help="A reference translation, plain or gzip; may be repeated.",
    ),
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(METRICS),
        help="Which to compute; may be repeated.  [default: all]",
    ),
    click.option(
        "--tokenize",
        type=click.Choice(TOKENIZERS),
        default=TextScoring.tokenize,
        help="How to separate words for BLEU: at spaces, or as sacrebleu does.",
    ),
    click.option("--lowercase", is_flag=True, help="Compare without case."),
)
selection_options = _together(
    click.option(
        "--by-length", is_flag=True, help="Score groups of sentences by their source words, too."
    ),
    click.option(
        "--length-bins",
        metavar="N,N",
        help="The most words of each group, e.g. 5,10,20; a last group has all longer sentences.  "
        "[default: fives up to 30, or tens up to 60 where one in twenty has more than 30]",
    ),
    click.option(
        "--known-words",
        type=INPUT_FOLDER,
        metavar="MODEL/",
        help="Score only sentences without a word outside this model's lists, in source or in any "
        "reference.",
    ),
    click.option(
        "--source",
        type=INPUT,
        metavar="FILE",
        help="The text that was translated, for --by-length and --known-words.",
    ),
    click.option(
        "--picture",
        type=OUTPUT,
        metavar="FILE",
        help="Draw the first metric by length; .png, .svg or .pdf (extra: report).",
    ),
)
optimization_options = _together(
    click.option(
        "--optimizer",
        type=click.Choice(OPTIMIZERS),
        default=OptimizerSettings.optimizer,
        help="Minimum error rate training, pairwise ranking, or batch MIRA.",
    ),
    click.option(
        "--restarts",
        type=Whole(0, 100_000),
        default=OptimizerSettings.restarts,
        help="Of MERT: climbs from other points than the start.",
    ),
    click.option(
        "--objective",
        multiple=True,
        metavar="METRIC=SHARE",
        help="What to maximise: bleu, chrf or ter (as 1 - TER) and its share; may be repeated "
        "for a mixture.  [default: bleu=1]",
    ),
    click.option(
        "--reference-length",
        type=click.Choice(REFERENCE_LENGTHS),
        default=OptimizationSettings.reference_length,
        help="Which length of several references counts in BLEU.",
    ),
    click.option(
        "--freeze",
        multiple=True,
        metavar="NAME",
        help="Keep the weights of a feature, or of one component such as TranslationModel0_4.",
    ),
    click.option(
        "--bound",
        "bounds",
        multiple=True,
        metavar="NAME=LOW..HIGH",
        help="Keep weights within bounds, e.g. LM0=0..1 or LM0=0.. ; may be repeated.",
    ),
    click.option(
        "--seed", type=SEED, default=OptimizationSettings.seed, help="Of all that is random."
    ),
    click.option(
        "--threads",
        type=THREADS,
        help="Cores to use; the result does not depend on it.  [default: all]",
    ),
)


def parse_scoring(options: Mapping[str, Any]) -> TextScoring:
    """Build the settings from the values of ``scoring_options``."""
    chosen = tuple(name for name in METRICS if name in options["metrics"])
    return TextScoring(chosen or METRICS, options["tokenize"], options["lowercase"])


def parse_selection(options: Mapping[str, Any]) -> SentenceSelection:
    """Build the settings from the values of ``selection_options``.

    Raises:
        SettingsError: They make no sense, alone or together.
    """
    if options["picture"] is not None and not options["by_length"]:
        raise SettingsError(
            "--picture is for --by-length, which is not given",
            remedy="add --by-length, or leave it out",
        )
    return SentenceSelection(
        source=options["source"],
        by_length=options["by_length"],
        length_bins=_parse_bins(options["length_bins"]),
        known_words=options["known_words"],
    )


def _parse_bins(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    bounds = text.split(",")
    if not all(re.fullmatch("-?[0-9]{1,9}", bound.strip()) for bound in bounds):
        raise SettingsError(
            f"the bounds {text[:30]!r} are not whole numbers with a comma between",
            remedy="write for example --length-bins 5,10,15,20",
        )
    return tuple(map(int, bounds))


def parse_optimization(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of ``OptimizationSettings`` from the values of the options."""
    names = ("references", "reference_length", "freeze", "bounds", "seed")
    return {
        "optimizer": OptimizerSettings(
            options["optimizer"], options["restarts"], options["threads"]
        ),
        "objective": Objective.of(parse_shares(options["objective"])),
        **{name: options[name] for name in names},
    }


def parse_shares(texts: tuple[str, ...]) -> dict[str, float]:
    """Parse ``metric=share``; a metric alone has the share 1.

    Raises:
        SettingsError: A share is not a number, or a metric is named twice.

    >>> parse_shares(("bleu=0.5", "chrf"))
    {'bleu': 0.5, 'chrf': 1.0}
    """
    shares: dict[str, float] = {}
    for text in texts:
        name, _, share = text.partition("=")
        if name in shares:
            raise SettingsError(f"the objective names {name} twice")
        try:
            shares[name] = float(share) if share else 1.0
        except ValueError:
            raise SettingsError(
                f"the objective {text!r} is not METRIC=SHARE", remedy="write for example bleu=0.7"
            ) from None
    return shares


def show_notes(notes: Iterable[str]) -> None:
    """Print what the user should know, to standard error."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
