"""``phrasescore experiment``: compare systems over several tuning seeds, in one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from phrasescore.commands.declarations import argument, command, flag, option
from phrasescore.commands.options import THREADS, Result, output_folder, say
from phrasescore.commands.paths import INPUT, refuse_replaced_inputs
from phrasescore.errors import SettingsError, did_you_mean

if TYPE_CHECKING:
    from tuning.experiment.experiment_settings import ExperimentSettings


class ExperimentOptions(Result):
    """Options of ``experiment``."""

    path: str = argument(INPUT, "EXPERIMENT.toml")
    output: str = output_folder(
        "The folder for all results; with the same folder, a stopped run continues."
    )
    data: str | None = option(
        INPUT, "The data folder; replaces the folder that the file names.", metavar="FOLDER"
    )
    decoder: Literal["embedded", "moses"] | None = option(
        ["embedded", "moses"], "The decoder; replaces the decoder that the file names."
    )
    only: tuple[str, ...] = option(
        "NAME", "Run only this system and the first system of the file; may be repeated.", many=True
    )
    rows: tuple[str, ...] = option(
        INPUT,
        "Take the rows of another experiment's results.json instead of running their systems; the "
        "settings of these rows must be equal in both. May be repeated.",
        many=True,
    )
    jobs: int = option(THREADS, "The number of steps to run at a time.", default=1)
    dry_run: bool = flag("Print the commands without running them.")


@command(
    "experiment", ExperimentOptions, short_help="Compare systems over tuning seeds, in one table."
)
def experiment(options: ExperimentOptions) -> None:
    """Train, score, tune and evaluate the systems of EXPERIMENT.toml, and write a table.

    Every step is a command; FOLDER/commands.sh lists the commands, and FOLDER/steps/ has their
    logs. After an interruption, or a change of settings or data, the same command runs the steps
    that are missing.
    """
    from tuning.experiment.experiment_settings import read_experiment

    settings = _overridden(read_experiment(options.path), options)
    refuse_replaced_inputs(_files_read(settings))
    if options.dry_run:
        from tuning.experiment.session import planned

        for step in planned(settings, options.output).steps():
            click.echo(str(step.work))
        return
    from tuning.experiment.session import run_experiment

    table, record = run_experiment(settings, options.output, options.jobs, say, options.rows)
    options.show(record.to_json(), table)


def _files_read(settings: ExperimentSettings) -> Iterator[tuple[str, Path]]:
    """Yield the inputs that no option names, each with a description of its use."""
    from moses_integration.ini.model_files import named_paths
    from moses_integration.ini.moses_ini import MosesIni
    from tuning.experiment.experiment_settings import SEED

    data, folder = settings.data, settings.folder
    texts = [path for text in data.texts for path in (text.source, text.reference)]
    texts += [data.phrase_table, data.train_source, data.train_target]
    for name in filter(None, (data.system, *texts)):
        yield "the experiment", folder / name
    if (folder / data.system).is_file():
        for line, _, path in named_paths(MosesIni.read(folder / data.system)):
            yield f"{line.name} of the experiment's moses.ini", folder / path
    for name, model in settings.models.items():
        for seed in settings.seeds if model.folder else ():
            model_folder = settings.resolve(model.folder.replace(SEED, str(seed)))
            yield f"the experiment's model {name}", model_folder


def _overridden(settings: ExperimentSettings, options: ExperimentOptions) -> ExperimentSettings:
    """Return the settings of the file after applying the options that override them."""
    data, decoder, systems = settings.data, settings.decoder, settings.systems
    if options.data is not None:
        data = dataclasses.replace(data, folder=str(Path(options.data).absolute()))
    if options.decoder is not None:
        decoder = dataclasses.replace(decoder, kind=options.decoder)
    from tuning.experiment.experiment_settings import GIVEN, LEFT_OUT
    from tuning.experiment.results import KeptResults

    names = [system.name for system in systems]
    for name in options.only:
        if name not in names:
            raise SettingsError(
                f"--only names the system {name}, which the file does not have"
                f"{did_you_mean(name, names)}",
                remedy=f"choose among: {', '.join(names)}",
            )
    chosen = {names[0], *options.only} if options.only else {*names}
    given = {name for path in options.rows for name in KeptResults.read(Path(path)).rows}
    reasons = {name: GIVEN if name in given else LEFT_OUT for name in given | {*names} - chosen}
    systems = tuple(
        dataclasses.replace(each, not_run=each.not_run or reasons.get(each.name, ""))
        for each in systems
    )
    return dataclasses.replace(settings, data=data, decoder=decoder, systems=systems)
