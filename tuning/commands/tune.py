"""``phrasescore tune``: finds weights in rounds of decoding, merging lists and optimising."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moses_integration.commands.options import INI, named_command, read_ini, sections
from phrasescore.commands.declarations import command, option
from phrasescore.commands.options import BoundedInt, Result
from phrasescore.commands.paths import INPUT, INPUT_FOLDER, OUTPUT_FOLDER
from phrasescore.errors import SettingsError
from phrasescore.runs.interruption import interruptible
from tuning.commands.options import OptimizationOptions, references
from tuning.loop.tuning_settings import TuningSettings

if TYPE_CHECKING:
    from tuning.loop.outer_loop import TuningReport


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
    rescore_names: tuple[str, ...] = option(
        "NAME",
        "The name of a model's feature, one for each model.  [default: by kind]",
        "--rescore-name",
        many=True,
        needs=("rescore",),
    )
    scorers: tuple[tuple[str, str], ...] = option(
        named_command,
        "A program whose scores choose, too, as for decode --scorer; may be repeated.",
        "--rescore-scorer",
        many=True,
        metavar="NAME='COMMAND'",
    )
    rounds: int = option(
        BoundedInt(1, 10_000), "The maximum number of rounds.", default=TuningSettings.rounds
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
        report = run(settings, options.output, lambda text: click.echo(text, err=True))
    _show(report, settings)
    if report.record is not None:
        options.show(report.record.to_json())


def _show(report: TuningReport, settings: TuningSettings) -> None:
    from tuning.metrics.metric_settings import points

    for run in report.runs:
        name = f"seed {run.seed}: " if len(report.runs) > 1 else ""
        click.echo(
            f"{name}{settings.objective} {points(run.rounds[0].score)} -> "
            f"{points(run.best.score)} on the dev set, round {run.best.number} of "
            f"{len(run.rounds)} ({run.why})",
            err=True,
        )
        for warning in run.warnings:
            click.echo(f"warning: {name}{warning}", err=True)
    mean, deviation = report.mean_and_deviation()
    if deviation is not None and report.average is not None:
        seed = report.best_run.seed
        click.echo(
            f"mean of {len(report.runs)} seeds {points(mean)}, "
            f"standard deviation {points(deviation)}; with the average of their weights "
            f"{points(report.average.best.score)}; the best is "
            f"{'the average' if seed is None else f'seed {seed}'}",
            err=True,
        )
    rescores = report.record is not None and report.record.rescoring is not None
    system = report.ini.parent if rescores else report.ini
    click.echo(f"the tuned system is {system}", err=True)
