"""Options shared by the commands of tuning; imports no heavy library, so ``--help`` is fast."""

from __future__ import annotations

from collections.abc import Iterable

import click

from phrasescore.commands.declarations import Field, Options, flag, option
from phrasescore.commands.options import SEED, THREADS, BoundedInt
from phrasescore.commands.paths import INPUT, INPUT_FOLDER
from phrasescore.errors import SettingsError
from tuning.loop.tuning_settings import OPTIMIZERS, OptimizationSettings
from tuning.metrics.metric_settings import (
    METRICS,
    TOKENIZERS,
    USUAL_METRICS,
    MetricName,
    Objective,
    SentenceSelection,
    TextScoring,
)


def references(text: str, *, required: bool = True) -> Field:
    """Declare ``--reference FILE``, which may be repeated; by default at least one is required."""
    return option(INPUT, text, "--reference", many=True, required=required)


class ScoringOptions(Options):
    """Options for the metrics and the choice of sentences."""

    references: tuple[str, ...] = references(
        "A reference translation, plain or gzip; may be repeated."
    )
    metrics: tuple[MetricName, ...] = option(
        METRICS,
        "A metric to compute; may be repeated. accuracy is the share of lines that equal a "
        "reference; cer and wer are error rates of characters and words.  [default: bleu, chrf and "
        "ter]",
        "--metric",
        many=True,
    )
    tokenize: str = option(
        TOKENIZERS,
        "The tokenisation for BLEU: none splits at spaces, the others are sacrebleu's.",
        default=TextScoring.tokenize,
    )
    lowercase: bool = flag("Ignore case.")
    known_words: str | None = option(
        INPUT_FOLDER,
        "Score only sentences whose words, in the source and in all references, are in this "
        "model's vocabularies.",
        metavar="MODEL/",
    )
    source: str | None = option(
        INPUT,
        "The text that was translated, for --known-words.",
        needs=("known_words",),
    )

    @property
    def scoring(self) -> TextScoring:
        """The settings of scoring, with the metrics in their usual order."""
        chosen = tuple(name for name in METRICS if name in self.metrics)
        return self.settings(TextScoring, metrics=chosen or USUAL_METRICS)

    @property
    def selection(self) -> SentenceSelection:
        """The sentences to score.

        Raises:
            SettingsError: The options contradict each other.
        """
        return self.settings(SentenceSelection)


class OptimizationOptions(Options):
    """Options for the optimisation of weights."""

    optimizer: str = option(
        OPTIMIZERS,
        "Minimum error rate training, pairwise ranking, or batch MIRA.",
        default=OptimizationSettings.optimizer,
    )
    restarts: int = option(
        BoundedInt(0, 100_000),
        "The number of random starting points of MERT, besides the start weights.",
        default=OptimizationSettings.restarts,
    )
    shares: tuple[str, ...] = option(
        "METRIC=SHARE",
        "Maximise bleu, chrf or accuracy, or minimise an error rate (ter, cer, wer), with this "
        "share; repeat the option for a mixture.  [default: bleu=1]",
        "--objective",
        many=True,
    )
    freeze: tuple[str, ...] = option(
        "NAME",
        "Do not change the weights of this feature, or of this component, such as "
        "TranslationModel0_4; may be repeated.",
        many=True,
    )
    seed: int = option(SEED, "The seed of everything random.", default=OptimizationSettings.seed)
    threads: int | None = option(
        THREADS, "The number of cores to use; it does not change the result.  [default: all]"
    )

    @property
    def objective(self) -> Objective:
        """The score to maximise."""
        return Objective.from_shares(parse_shares(self.shares))


def parse_shares(texts: tuple[str, ...]) -> dict[str, float]:
    """Parse texts of the form ``metric=share``; a metric alone has the share 1.

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
    """Print notes for the user to standard error."""
    for note in notes:
        click.echo(f"note: {note}", err=True)
