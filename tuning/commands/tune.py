"""``phrasescore tune`` and ``optimize``: find weights, with and without decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moses_integration.commands.options import INI, WEIGHTS, named_command, read_ini, sections
from phrasescore.commands.declarations import Options, command, option
from phrasescore.commands.options import SEED, THREADS, BoundedInt, Result, say, show_notes
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT, OUTPUT_FOLDER, warn_of_raw_text
from phrasescore.errors import SettingsError
from phrasescore.runs.interruption import interruptible
from tuning.commands.evaluate import references
from tuning.loop.tuning_settings import OPTIMIZERS, OptimizationSettings, TuningSettings
from tuning.metrics.metric_settings import Objective, points

if TYPE_CHECKING:
    from tuning.loop.outer_loop import TuningReport


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


class TuneOptions(OptimizationOptions, Result):
    """Options of ``tune``."""

    ini: str = INI
    source: str = option(INPUT, "The dev set, prepared like the training text.", required=True)
    references: tuple[str, ...] = references(
        "The reference translation of the dev set, prepared in the same way; may be repeated."
    )
    output: str = option(OUTPUT_FOLDER, "The folder for all results.", "-o", required=True)
    decoder: str = option(
        ["embedded", "moses"], "The embedded decoder or real Moses.", default=TuningSettings.decoder
    )
    moses: str | None = option(
        INPUT,
        "The moses binary or its folder.  [default: MOSES_BIN, then PATH]",
        "--moses-bin",
        metavar="PATH",
    )
    sections: tuple[tuple[str, str], ...] = sections(
        "Decode with this setting, e.g. search-algorithm=1, and write it to the tuned moses.ini; "
        "may be repeated."
    )
    nbest_size: int = option(
        BoundedInt(2, 10_000),
        "The maximum number of distinct translations per sentence and round.",
        default=TuningSettings.nbest_size,
    )
    rescore: tuple[str, ...] = option(
        INPUT_FOLDER,
        "A model of sentences or phrases, of either direction, that chooses among the candidates "
        "after the search; may be repeated.  [default: the models of SYSTEM's rescoring.json]",
        metavar="MODEL/",
        many=True,
    )
    rescore_size: int | None = option(
        BoundedInt(2, 10_000),
        "The maximum number of candidates of a sentence to choose among.  [default: that of "
        "SYSTEM's rescoring.json, or 100]",
    )
    scorers: tuple[tuple[str, str], ...] = option(
        named_command,
        "A program whose scores choose, too, as for decode --scorer; may be repeated.",
        "--rescore-scorer",
        many=True,
        metavar="NAME='COMMAND'",
    )
    rounds: int = option(
        BoundedInt(1, 10_000),
        "The maximum number of optimisations; one more round decodes with the last weights.",
        default=TuningSettings.rounds,
    )
    runs: int = option(
        BoundedInt(1, 10_000),
        "The number of runs; their seeds are --seed and the next numbers. With several runs, "
        "each has its own folder, FOLDER/seedN.",
        "--seeds",
        default=TuningSettings.runs,
    )


@command("tune", TuneOptions)
def tune(options: TuneOptions) -> None:
    """Find the weights with which SYSTEM translates a dev set best.

    Each round decodes with the current weights, adds the candidates to the candidates of earlier
    rounds, and optimises over all of them. FOLDER gets moses.ini, which is SYSTEM's with the best
    weights; weights.json; and a folder for each round. phrasescore report shows the scores of the
    rounds. The same command continues a run that was stopped.

    If models rescore, the dev set is decoded once more with the best weights, a second set of
    weights is found for the features and scores of these candidates, and FOLDER gets
    rescoring.json and the models: phrasescore decode FOLDER searches and rescores.
    """
    from tuning.loop.outer_loop import tune as run

    if options.moses is not None and options.decoder != "moses":
        raise SettingsError(
            "--moses-bin names real Moses, but the embedded decoder is to translate",
            remedy="add --decoder moses, or leave --moses-bin out",
        )
    settings = options.settings(
        TuningSettings,
        sections=dict(options.sections),
        scorers=dict(options.scorers),
        objective=options.objective,
    )
    read_ini(options.ini)  # refuses outputs that would replace a file of the system
    with interruptible(options.output):
        report = run(settings, options.output, say)
    _show(report, settings)
    if report.record is not None:
        options.show(report.record.to_json())


def _show(report: TuningReport, settings: TuningSettings) -> None:
    for run in report.runs:
        name = f"seed {run.seed}: " if len(report.runs) > 1 else ""
        say(
            f"{name}{settings.objective} {points(run.rounds[0].score)} -> "
            f"{points(run.best.score)} on the dev set, round {run.best.number} of "
            f"{len(run.rounds)} ({run.why})"
        )
        for warning in run.warnings:
            say(f"warning: {name}{warning}")
    mean, deviation = report.mean_and_deviation()
    if deviation is not None and report.average is not None:
        seed = report.best_run.seed
        say(
            f"mean of {len(report.runs)} seeds {points(mean)}, "
            f"standard deviation {points(deviation)}; with the average of their weights "
            f"{points(report.average.best.score)}; the best is "
            f"{'the average' if seed is None else f'seed {seed}'}"
        )
    rescores = report.record is not None and report.record.rescoring is not None
    say(f"the tuned system is {report.ini.parent if rescores else report.ini}")


class OptimizeOptions(OptimizationOptions, Result):
    """Options of ``optimize``."""

    lists: tuple[str, ...] = option(
        INPUT,
        "An n-best list, plain or gzip; repeat the option for the lists of several rounds.",
        "--nbest",
        many=True,
        required=True,
    )
    references: tuple[str, ...] = references(
        "A reference translation, tokenised as the lists are; may be repeated."
    )
    start: str | None = option(
        WEIGHTS,
        "The weights to start from: a system, weights.json or run*.dense of mert-moses.pl; "
        "missing features start at 0.  [default: equal influence of every feature]",
    )
    json_file: str | None = option(
        OUTPUT,
        "Write the result as JSON to this file instead of printing it.",
        "-o",
        "--output",
        "--json-file",
    )


@command("optimize", OptimizeOptions)
def optimize(options: OptimizeOptions) -> None:
    """Find the weights that choose the best candidates of n-best lists.

    If several candidates have the same model score, the first in the lists is chosen. The result is
    JSON, with the weights of every feature and the BLEU (a fraction) of the chosen candidates.
    """
    from tuning.loop.lists import ListOptimization, optimize_lists

    task = options.settings(ListOptimization, objective=options.objective)
    warn_of_raw_text(options.references, "it needs the tokens of the lists")
    report = optimize_lists(task)
    show_notes(report.notes)
    say(
        f"{task.objective} of the chosen candidates: {points(report.start_score)} with the start "
        f"weights, {points(report.score)} with the result "
        f"({report.candidates:,} candidates of {report.sentences:,} sentences, "
        f"{report.seconds:.1f} s)"
    )
    options.as_json = options.as_json or options.json_file is None
    options.show(report.to_json())
