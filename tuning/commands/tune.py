"""``phrasescore tune``: decode, merge, optimise, repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from phrasescore.errors import SettingsError
from phrasescore.resuming.interruption import interruptible
from tuning.commands.options import optimizer_options, parse_shares

if TYPE_CHECKING:
    from tuning.loop.runs import TuningReport, TuningSettings


@click.command("tune")
@click.argument("ini", metavar="MOSES_INI")
@click.option(
    "--source", required=True, metavar="FILE", help="The dev set, prepared like the training text."
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Its translation, prepared in the same way; may be repeated.",
)
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Where everything goes.")
@click.option(
    "--decoder",
    type=click.Choice(["auto", "embedded", "moses"]),
    default="auto",
    show_default=True,
    help="The embedded decoder, which auto means, or real Moses.",
)
@click.option(
    "--moses-bin",
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
    type=click.IntRange(min=2),
    default=100,
    show_default=True,
    help="Different translations of each sentence in a round.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=25,
    show_default=True,
    help="Most optimisations.",
)
@click.option(
    "--patience",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="End after this many rounds without a better score on the dev set; 0: never.",
)
@click.option(
    "--seeds",
    "runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many runs, with seeds from --seed on, each in FOLDER/seedN.",
)
@optimizer_options
def tune(output: str, **options: Any) -> None:
    """Find the weights of MOSES_INI that translate the dev set best.

    Each round decodes with the weights in force, adds the candidates to those of all rounds
    before, and optimises over all of them. FOLDER gets moses.ini, which is MOSES_INI with the
    best weights, weights.json, a picture of the scores (curve.svg), and a folder for each round.
    The same command continues a run that was stopped.
    """
    from tuning.loop.runs import tune as run

    settings = _settings(options)
    with interruptible(output):
        report = run(settings, output, lambda text: click.echo(text, err=True))
    _show(report, settings)


def _settings(options: dict[str, Any]) -> TuningSettings:
    from tuning.loop.decoding import DecoderName, DecoderSettings
    from tuning.loop.outer_loop import StopRules
    from tuning.loop.runs import TuningSettings
    from tuning.metrics.objective import Objective
    from tuning.optimizers.optimizer_settings import OptimizerSettings

    decoder: DecoderName = "embedded" if options["decoder"] == "auto" else options["decoder"]
    threads = options["threads"]
    return TuningSettings(
        ini=options["ini"],
        source=options["source"],
        references=options["references"],
        optimizer=OptimizerSettings(options["optimizer"], options["restarts"], threads),
        decoder=DecoderSettings(
            decoder, options["moses_bin"], threads, _parse_sections(options["sections"])
        ),
        stop=StopRules(options["rounds"], options["patience"]),
        nbest_size=options["nbest_size"],
        seed=options["seed"],
        runs=options["runs"],
        objective=Objective.of(parse_shares(options["objective"])),
        reference_length=options["reference_length"],
        freeze=options["freeze"],
        bounds=options["bounds"],
    )


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
    objective = settings.objective
    for run in report.runs:
        best, first = run.result.best, run.result.rounds[0]
        name = f"seed {run.seed}: " if len(report.runs) > 1 else ""
        click.echo(
            f"{name}{objective} {first.score:.4f} -> {best.score:.4f} on the dev set, "
            f"round {best.number} of {len(run.result.rounds)} ({run.result.why})",
            err=True,
        )
    if report.deviation is not None:
        click.echo(
            f"mean of {len(report.runs)} seeds {report.mean:.4f}, "
            f"standard deviation {report.deviation:.4f}; the best is seed {report.best.seed}",
            err=True,
        )
    click.echo(f"the tuned system is {report.ini}", err=True)
