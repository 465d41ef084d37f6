"""``phrasescore experiment``: compare systems over several tuning seeds, in one table."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from phrasescore.commands.cluster_option import cluster_option
from phrasescore.commands.numbers import THREADS
from phrasescore.commands.options import json_options, print_result
from phrasescore.commands.paths import (
    INPUT,
    INPUT_FOLDER,
    OUTPUT_FOLDER,
    refuse_replaced_inputs,
)
from phrasescore.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from tuning.experiment.experiment_settings import ExperimentSettings
    from tuning.experiment.runner import StepPlace


@click.command(
    "experiment",
    context_settings={"show_default": True},
    short_help="Compare systems over tuning seeds, in one table.",
)
@click.argument("path", type=INPUT, metavar="EXPERIMENT.toml")
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT_FOLDER,
    metavar="FOLDER",
    help="The folder for all results; a stopped run continues in the same one.",
)
@click.option(
    "--data",
    type=INPUT_FOLDER,
    metavar="FOLDER",
    help="The data's folder, instead of the one that the file names.",
)
@click.option(
    "--decoder",
    type=click.Choice(["embedded", "moses"]),
    help="The decoder, instead of the one that the file names.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SYSTEM",
    help="Run this system, by its name in the file, and the first one; may be repeated.",
)
@click.option(
    "--jobs",
    type=THREADS,
    show_default="1, or with --cluster one for each worker",
    help="Steps at a time.",
)
@cluster_option
@click.option("--dry-run", is_flag=True, help="Print the commands, and run none.")
@json_options
def experiment(
    path: str,
    output: str,
    data: str | None,
    decoder: str | None,
    only: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    dry_run: bool,
    as_json: bool,
    json_file: str | None,
) -> None:
    """Train, score, tune and evaluate the systems of EXPERIMENT.toml, and write a table.

    Every step is a command, shown in FOLDER/commands.sh, with a log in FOLDER/steps/. After any
    interruption, and after any change of settings or data, the same command does what is missing.
    """
    from tuning.experiment.experiment_file import read_experiment

    settings = _overridden(read_experiment(path), data, decoder, only)
    refuse_replaced_inputs(_files_read(settings))
    if dry_run:
        from tuning.experiment.session import planned

        for step in planned(settings, output).steps():
            click.echo(str(step.work))
        return
    from tuning.experiment.local_steps import LocalSteps
    from tuning.experiment.session import run_experiment

    def say(line: str) -> None:
        click.echo(line, err=True)

    with contextlib.ExitStack() as stack:
        place: StepPlace = LocalSteps(jobs or 1)
        if cluster is not None:
            from phrasescore.cluster.cluster import Cluster
            from tuning.experiment.cluster_steps import ClusterSteps

            place = ClusterSteps(stack.enter_context(Cluster(cluster)), jobs, say)
        table = run_experiment(settings, output, place, say)
    if not as_json:
        click.echo(table)
    print_result(json.loads((Path(output) / "table.json").read_bytes()), as_json, json_file)


def _files_read(settings: ExperimentSettings) -> Iterator[tuple[str, Path]]:
    """Yield the files of the experiment that no option names, each with what reads it."""
    from moses_integration.ini.model_files import path_keys
    from moses_integration.ini.moses_ini import MosesIni

    data, folder = settings.data, settings.folder
    texts = [data.dev_source, data.dev_reference, data.train_source, data.train_target]
    texts += [path for text in data.tests for path in (text.source, text.reference)]
    for name in filter(None, (data.system, data.phrase_table, *texts)):
        yield "the experiment", folder / name
    if (folder / data.system).is_file():
        for line in MosesIni.read(folder / data.system).features:
            for key in path_keys(line):
                yield f"{line.name} of the experiment's moses.ini", folder / line.options[key]


def _overridden(
    settings: ExperimentSettings, data: str | None, decoder: str | None, only: tuple[str, ...]
) -> ExperimentSettings:
    if data is not None:
        place = dataclasses.replace(settings.data, folder=str(Path(data).absolute()))
        settings = dataclasses.replace(settings, data=place)
    if decoder is not None:
        kind = dataclasses.replace(settings.decoder, kind=decoder)  # type: ignore[arg-type]
        settings = dataclasses.replace(settings, decoder=kind)
    if not only:
        return settings
    from tuning.experiment.experiment_settings import LEFT_OUT

    names = [system.name for system in settings.systems]
    for name in only:
        if name not in names:
            raise SettingsError(
                f"--only names the system {name}, which the file does not have"
                f"{did_you_mean(name, names)}",
                remedy=f"choose among: {', '.join(names)}",
            )
    systems = tuple(
        system
        if system.not_run or system.name in (names[0], *only)
        else dataclasses.replace(system, not_run=LEFT_OUT)
        for system in settings.systems
    )
    return dataclasses.replace(settings, systems=systems)
