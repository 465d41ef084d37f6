"""``phrasescore tune``: decode, merge, optimise, repeat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phrasescore.commands.numbers import Whole
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import INPUT, OUTPUT_FOLDER
from phrasescore.errors import SettingsError
from phrasescore.runs.interruption import interruptible
from tuning.commands.options import optimization_options, parse_optimization
from tuning.loop.tuning_settings import DecoderSettings, StopRules, TuningSettings

if TYPE_CHECKING:
    from tuning.loop.runs import TuningReport


@click.command("tune", context_settings={"show_default": True})
@click.argument("ini", type=INPUT, metavar="MOSES_INI")
@click.option(
    "--source",
    required=True,
    type=INPUT,
    metavar="FILE",
    help="The dev set, prepared like the training text.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    required=True,
    type=INPUT,
    metavar="FILE",
    help="Its translation, prepared in the same way; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="Where everything goes.",
)
@click.option(
    "--decoder",
    type=click.Choice(["auto", "embedded", "moses"]),
    default="auto",
    help="The embedded decoder, which auto means, or real Moses.",
)
@click.option(
    "--moses-bin",
    type=INPUT,
    metavar="PATH",
    help="The moses binary or its folder.  [default: MOSES_BIN, then PATH]",
)
@click.option(
    "--set",
    "sections",
    multiple=True,
    metavar="SECTION=VALUE",
    help="Search with another setting than MOSES_INI has, e.g. search-algorithm=1; may be "
    "repeated. The tuned moses.ini does not get it.",
)
@click.option(
    "--nbest-size",
    type=Whole(2, 10_000),
    default=TuningSettings.nbest_size,
    help="Different translations of each sentence in a round.",
)
@click.option(
    "--rounds", type=Whole(1, 10_000), default=StopRules.rounds, help="Most optimisations."
)
@click.option(
    "--patience",
    type=Whole(0, 10_000),
    default=StopRules.patience,
    help="End after this many rounds without a better score on the dev set; 0: never.",
)
@click.option(
    "--seeds",
    "runs",
    type=Whole(1, 10_000),
    default=TuningSettings.runs,
    help="How many runs, with seeds from --seed on, each in FOLDER/seedN.",
)
@optimization_options
@json_options
def tune(output: str, as_json: bool, json_file: str | None, **options: Any) -> None:
    """Find the weights of MOSES_INI that translate the dev set best.

    Each round decodes with the weights in force, adds the candidates to those of all rounds
    before, and optimises over all of them. FOLDER gets moses.ini, which is MOSES_INI with the
    best weights, weights.json, a picture of the scores (curve.svg), and a folder for each round.
    The same command continues a run that was stopped.
    """
    from tuning.loop.runs import tune as run
    from tuning.loop.work_folder import read_json

    settings = TuningSettings(
        ini=options["ini"],
        source=options["source"],
        decoder=DecoderSettings(
            "embedded" if options["decoder"] == "auto" else options["decoder"],
            options["moses_bin"],
            options["threads"],
            _parse_sections(options["sections"]),
        ),
        stop=StopRules(options["rounds"], options["patience"]),
        nbest_size=options["nbest_size"],
        runs=options["runs"],
        **parse_optimization(options),
    )
    with interruptible(output):
        report = run(settings, output, lambda text: click.echo(text, err=True))
    _show(report, settings)
    print_result(read_json(Path(output) / "weights.json"), as_json, json_file)


def _parse_sections(texts: tuple[str, ...]) -> dict[str, str]:
    sections = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(
                f"the setting {text!r} is not SECTION=VALUE",
                remedy="write for example --set search-algorithm=1",
            )
        sections[name] = value
    return sections


def _show(report: TuningReport, settings: TuningSettings) -> None:
    from tuning.metrics.score_tables import points

    for run in report.runs:
        name = f"seed {run.seed}: " if len(report.runs) > 1 else ""
        click.echo(
            f"{name}{settings.objective} {points(run.rounds[0].score)} -> "
            f"{points(run.best.score)} on the dev set, round {run.best.number} of "
            f"{len(run.rounds)} ({run.why})",
            err=True,
        )
    mean, deviation = report.mean_and_deviation()
    if deviation is not None:
        click.echo(
            f"mean of {len(report.runs)} seeds {points(mean)}, "
            f"standard deviation {points(deviation)}; the best is seed {report.best_run.seed}",
            err=True,
        )
    click.echo(f"the tuned system is {report.ini}", err=True)
