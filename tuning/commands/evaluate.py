"""``phrasescore evaluate`` and ``compare``: scores of translations, and whether they differ."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from phrasescore.commands.declarations import Field, Options, argument, command, flag, option
from phrasescore.commands.options import SEED, BoundedInt, Result, show_notes
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, refuse_replaced_inputs
from phrasescore.errors import SettingsError
from tuning.metrics import metric_settings


def references(text: str, *, required: bool = True) -> Field:
    """Declare ``--reference FILE``, which may be repeated; by default at least one is required."""
    return option(
        INPUT, text, "--reference", many=True, required=required, callback=_numbered_files
    )


def _numbered_files(
    ctx: click.Context, param: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Replace a missing file ``ref`` by ``ref0``, ``ref1`` and so on, as mert-moses.pl does."""
    found: list[str] = []
    for name in names:
        parts = () if Path(name).exists() else _numbered(name) or _numbered(f"{name}.ref")
        found += [str(INPUT.convert(part, param, ctx)) for part in parts] or [name]
    return tuple(found)


def _numbered(stem: str) -> list[Path]:
    numbered = (Path(f"{stem}{number}") for number in itertools.count())
    return list(itertools.takewhile(Path.exists, numbered))


class ScoringOptions(Options):
    """Options for the metrics and the choice of sentences."""

    references: tuple[str, ...] = references("A reference, plain or gzip; may be repeated.")
    metrics: tuple[metric_settings.MetricName, ...] = option(
        metric_settings.METRICS,
        "A metric to compute; may be repeated. accuracy is the share of lines that equal a "
        "reference; cer and wer are error rates of characters and words; ter takes the longest.  "
        "[default: bleu, chrf and ter]",
        "--metric",
        many=True,
    )
    tokenize: str = option(
        metric_settings.TOKENIZERS,
        "The tokenisation for BLEU: none splits at spaces, the others are sacrebleu's.",
        default=metric_settings.TextScoring.tokenize,
    )
    lowercase: bool = flag("Ignore case.")
    known_words: str | None = option(
        INPUT_FOLDER,
        "Score only sentences whose words, in the source and in all references, are in this "
        "model's vocabularies.",
        metavar="MODEL/",
    )
    source: str | None = option(
        INPUT, "The text that was translated, for --known-words.", needs=("known_words",)
    )

    @property
    def scoring(self) -> metric_settings.TextScoring:
        """The settings of scoring, with the metrics in their usual order."""
        chosen = tuple(name for name in metric_settings.METRICS if name in self.metrics)
        return self.settings(
            metric_settings.TextScoring, metrics=chosen or metric_settings.USUAL_METRICS
        )


class EvaluateOptions(ScoringOptions, Result):
    """Options of ``evaluate``."""

    translations: tuple[str, ...] = argument(INPUT, "TRANSLATION...", nargs=-1, required=True)


@command("evaluate", EvaluateOptions)
def evaluate(options: EvaluateOptions) -> None:
    """Score translations: BLEU, chrF, TER and length.

    Words are separated at spaces, because Moses's texts are already tokenised; give --tokenize 13a
    for raw text. Scores are printed times 100, with sacrebleu's signatures; in JSON they are 0 to
    1.
    """
    from tuning.metrics.system_comparison import evaluate as score

    selection = options.settings(metric_settings.SentenceSelection)
    found = score(options.translations, options.references, options.scoring, selection)
    show_notes(found.notes)
    options.show(found.to_json(), found.to_text())


class CompareOptions(ScoringOptions, Result):
    """Options of ``compare``."""

    references: tuple[str, ...] = references(
        "A reference, plain or gzip; may be repeated. Required without --segment-scores.",
        required=False,
    )
    baselines: tuple[str, ...] = option(
        "[NAME=]FILE",
        "A translation by the baseline; repeat the option for each tuning run.",
        "--baseline",
        many=True,
        required=True,
    )
    systems: tuple[str, ...] = option(
        "[NAME=]FILE",
        "A translation by another system; repeat the option for each tuning run, and name each "
        "of several systems with NAME=.",
        "--system",
        many=True,
        required=True,
    )
    source: str | None = option(
        INPUT,
        "The text that was translated, for --by-length and --known-words.",
        needs=("by_length", "known_words"),
    )
    by_length: bool = flag(
        "Also compare groups of sentences by source length, in steps of 5 words up to 30, or in "
        "steps of 10 words up to 60 if more than 5 % of the sentences have over 30 words.",
        needs=("source",),
    )
    segment_scores: bool = flag(
        "The files contain scores of another metric: one number per segment, larger is better.",
        excludes=(
            "references", "metrics", "tokenize", "lowercase", "source", "by_length", "known_words",
        ),
    )  # fmt: skip
    trials: int = option(
        BoundedInt(100, 10**7), "The number of trials of each test.", default=metric_settings.TRIALS
    )
    seed: int = option(SEED, "The seed of each test.", default=metric_settings.TEST_SEED)


@command("compare", CompareOptions)
def compare(options: CompareOptions) -> None:
    """Test whether systems differ by more than chance, with several tuning runs of each.

    Tuning is random, so give several runs of each system (Clark et al. 2011). The table shows each
    system's mean and deviation over its runs. For the gain over the baseline, it shows a 95 %
    interval and a p-value from a bootstrap over sentences and runs, and the p-value of approximate
    randomisation of sentences. Scores are printed times 100; in JSON they are 0 to 1.

    With --segment-scores the files contain one score per segment, for example from COMET, instead
    of translations. Systems are compared by their mean scores, which are printed unchanged.
    """
    from tuning.metrics.system_comparison import compare_segment_scores, compare_systems

    if not (options.segment_scores or options.references):
        raise SettingsError(
            "translations are compared with a reference, but none is given",
            remedy="give --reference FILE, or --segment-scores if the files contain scores",
        )
    named = grouped(options.baselines, "baseline")
    if len(named) > 1:
        raise SettingsError(
            f"two baselines: {' and '.join(named)}", remedy="give one of them as --system"
        )
    for name, files in grouped(options.systems, "system").items():
        if name in named:
            raise SettingsError(
                f"two systems have the name {name}", remedy="give each a name with NAME=FILE"
            )
        named[name] = files
    refuse_replaced_inputs((name, file) for name, files in named.items() for file in files)
    tests = {"trials": options.trials, "seed": options.seed}
    if options.segment_scores:
        found = compare_segment_scores(named, **tests)
    else:
        scoring, selection = options.scoring, options.settings(metric_settings.SentenceSelection)
        found = compare_systems(
            options.references, named, scoring=scoring, selection=selection, **tests
        )
    show_notes(found.record.notes)
    options.show(found.to_json(), found.to_text())


def grouped(texts: tuple[str, ...], default: str) -> dict[str, list[str]]:
    """Group files by system; a file without ``NAME=`` belongs to ``default``.

    >>> grouped(("rnn=a.s1", "csrnn=b.s1", "rnn=a.s2"), "system")
    {'rnn': ['a.s1', 'a.s2'], 'csrnn': ['b.s1']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        # an existing file whose name contains = needs no NAME= in front
        if not equals or "/" in name or Path(text).exists():
            name, path = default, text
        if not name or not path:
            raise SettingsError(
                f"the --{default} {text!r} is not NAME=FILE", remedy="write for example rnn=a.txt"
            )
        found.setdefault(name, []).append(path)
    return found
