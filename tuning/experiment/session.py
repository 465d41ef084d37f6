"""An experiment from start to end: plan, checks, run, and the files of the results' folder.

An experiment file has options of other commands in it. A wrong one in the last step would cost the
hours of all steps before it, so every command line is parsed before the first step runs.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

import click

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import refuse_in_moses, with_section
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import find_moses
from phrasescore.cli import cli
from phrasescore.commands.paths import PLANNED, Use
from phrasescore.errors import InputError, PhrasescoreError, SettingsError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.lock import held
from phrasescore.runs.results import RESULT, ExperimentRecord
from tuning.experiment.experiment_file import kind_problems
from tuning.experiment.experiment_settings import ExperimentSettings
from tuning.experiment.plan import PROGRAM, CommandStep, Plan
from tuning.experiment.results import KEPT, ResultsKeeper, experiment_record
from tuning.experiment.runner import Runner, Say, StepPlace
from tuning.experiment.table import latex, markdown

_NOT_IN_MOSES = (
    "real Moses cannot ask a neural language model; the embedded decoder can, and rerank chooses "
    "among Moses's n-best lists with it"
)


def planned(settings: ExperimentSettings, output: str | Path) -> Plan:
    """Plan an experiment, and check that what it needs from outside is there.

    Raises:
        InputError: The data's folder, a text, the system or a model does not exist.
        IniError: Real Moses is asked for and cannot read the system.
        SettingsError: A model cannot do what a row has it for.
        SettingsError: An option in the file is none of the command that it is for.
        MissingDependencyError: Real Moses is asked for and not installed.
    """
    if not settings.folder.is_dir():
        raise InputError(
            "there is no such folder, which [data] names",
            path=settings.folder,
            remedy="put the data there, or name their folder with --data",
        )
    moses = None
    if settings.decoder.kind == "moses":
        moses = find_moses(settings.decoder.program or None).absolute()
        refuse_in_moses(MosesIni.read(settings.folder / settings.data.system))
        settings = _without_language_models(settings)
    plan = Plan(settings, Path(output).absolute(), moses)
    steps = plan.steps()
    texts = [plan.data(path) for text in plan.texts for path in (text.source, text.reference)]
    must_be_files = {plan.data(settings.data.system), *texts}
    for path in (*must_be_files, *(path for step in steps for path in step.inputs)):
        if path.is_relative_to(plan.results):
            continue
        if path in must_be_files and path.exists() and not (path.is_file() and path.stat().st_size):
            raise _missing("the file is empty, or none", path, settings.file)
        if not path.exists():
            raise _missing(_NO_FILE, path, settings.file)
    _check_sections(settings)
    check_commands(steps, settings.folder, plan.results, str(settings.file))
    for system in settings.systems:
        for name in () if system.not_run else system.all_models:
            for problem in kind_problems(system, name, plan.kind(name)):
                raise SettingsError(f"{settings.file}: {system.name} {problem}")
    return plan


_NO_FILE = "no such file or folder, which the experiment reads"


def _missing(problem: str, path: Path, file: str | Path) -> InputError:
    return InputError(problem, path=path, remedy=f"correct the path in {file}")


def _without_language_models(settings: ExperimentSettings) -> ExperimentSettings:
    """Return the settings without running the rows that real Moses cannot run.

    Raises:
        SettingsError: The first row is one of them.
    """
    if settings.systems[0].language_models:
        raise SettingsError(
            f"{settings.file}: the first system has language_models, which real Moses cannot ask",
            remedy="let the file begin with a row without them, or use the embedded decoder",
        )
    systems = tuple(
        dataclasses.replace(system, not_run=_NOT_IN_MOSES)
        if system.language_models and not system.not_run
        else system
        for system in settings.systems
    )
    return dataclasses.replace(settings, systems=systems)


def _check_sections(settings: ExperimentSettings) -> None:
    """Try the search that the file asks for on the system.

    Raises:
        SettingsError: A section of a moses.ini is unknown, or its value makes no sense.
    """
    ini = MosesIni.read(settings.folder / settings.data.system)
    try:
        for name, value in settings.decoder.sections.items():
            ini = with_section(ini, name, value)
        SearchSettings.from_ini(ini)
    except PhrasescoreError as error:
        raise SettingsError(
            f"[decoder] sections: {error.problem}", path=settings.file, remedy=error.remedy
        ) from None


def run_experiment(
    settings: ExperimentSettings,
    output: str | Path,
    place: StepPlace,
    say: Say,
    rows: Iterable[str] = (),
) -> tuple[str, ExperimentRecord]:
    """Run what is missing and write the table, which is kept up to date on the way.

    Args:
        settings: The experiment.
        output: The folder of results.
        place: Where commands run, and how many at a time.
        say: Gets a line for each step.
        rows: Files of results of other folders, whose rows count here.

    Returns:
        The table as Markdown, and its numbers.
    """
    plan = planned(settings, output)
    steps, folder = plan.steps(), plan.results
    commands = [str(step.work) for step in steps]
    final = {
        name
        for system in plan.settings.systems
        for run in plan.runs(system)
        for name in run.final_steps()
    }
    with held(folder, inside=True):
        write_atomically(folder / "commands.sh", _script(plan, steps).encode())

        def write() -> tuple[str, ExperimentRecord]:
            kept = keeper.collect(runner.done)
            kept.write(folder / KEPT)
            record = experiment_record(plan, keeper.current_runs(kept), kept.texts)
            text = markdown(plan.settings, record, commands)
            write_atomically(folder / "table.md", text.encode())
            write_atomically(folder / "table.tex", latex(plan.settings, record).encode())
            record.write(folder / RESULT)
            return text.partition("\n## Commands")[0], record

        def after(step: CommandStep) -> None:
            if step.name in final:
                write()

        runner = Runner(folder, settings.folder, place, say, after)
        keeper = ResultsKeeper(plan, runner.stamps, rows)
        write()
        ran = runner.run(steps)
        say(f"{ran} of {len(steps)} steps were run, the others were done already")
        return write()


def _script(plan: Plan, steps: tuple[CommandStep, ...]) -> str:
    folders = sorted({str(path.parent) for step in steps for path in step.outputs})
    lines = ["#!/usr/bin/env bash", "# every step, in an order in which they can run", "set -e"]
    lines += [f"cd {shlex.quote(str(plan.settings.folder))}", shlex.join(["mkdir", "-p", *folders])]
    return "\n".join([*lines, *(str(step.work) for step in steps), ""])


def check_commands(steps: Iterable[CommandStep], folder: Path, results: Path, where: str) -> None:
    """See whether each command knows its options, and files are there that no step makes.

    Args:
        steps: In any order.
        folder: Where commands run.
        results: The folder of what steps make.
        where: What to call the experiment file in an error.

    Raises:
        SettingsError: An option is unknown, or none that can be meant, or it stands where the
            experiment gives it, or names an output elsewhere than in the results.
        InputError: A file that an option names does not exist.
    """
    for step in steps:
        if step.work.words[0] != PROGRAM:
            continue
        for text, use in _named_paths(step, where):
            path = folder / text
            if use.writes and text != os.devnull and not _is_within(path, results):
                raise _refused(step, where, f"it would write {text}, outside the folder of results")
            needed = use in (Use.READ, Use.READ_FOLDER) and not path.is_relative_to(results)
            if needed and not path.exists():
                raise _missing(_NO_FILE, path, where)


def _is_within(path: Path, folder: Path) -> bool:
    """Tell whether a path leads into a folder, ``..`` resolved."""
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))


def _named_paths(step: CommandStep, where: str) -> list[tuple[str, Use]]:
    """Parse a step's command line; return the paths in it."""
    _, name, *arguments = step.work.words
    planned: list[tuple[str, Use]] = []
    with click.Context(cli, info_name=PROGRAM) as parent:
        parent.meta[PLANNED] = planned
        command = cli.get_command(parent, name)
        if command is None or isinstance(command, click.Group):
            return []  # no option of theirs comes from the file
        try:
            with command.make_context(name, list(arguments), parent=parent) as context:
                if (twice := _given_twice(command, context, arguments)) is not None:
                    raise SettingsError(f"the experiment gives {twice} itself")
                if name == "train":
                    _check_training(context)
        except click.exceptions.Exit:
            raise _refused(step, where, "it asks for help") from None
        except click.ClickException as error:
            raise _refused(step, where, error.format_message()) from None
        except SettingsError as error:
            raise _refused(step, where, error.problem) from None
    return planned


def _given_twice(
    command: click.Command, context: click.Context, arguments: list[str]
) -> str | None:
    """Return an option that stands twice and may stand once: the second one would overrule."""
    *_, order = command.make_parser(context).parse_args(arguments)
    seen: set[click.Parameter] = set()
    for parameter in order:
        if parameter in seen and isinstance(parameter, click.Option) and not parameter.multiple:
            name = max(parameter.opts, key=len)
            # how many cores work decides no result
            if name != "--threads":
                return name
        seen.add(parameter)
    return None


def _check_training(context: click.Context) -> None:
    """See whether a kind of model has the options that are given to it."""
    from phrasescore.commands.train import settings_of

    settings_of(**context.params)


def _refused(step: CommandStep, where: str, why: str) -> SettingsError:
    return SettingsError(
        f"{where}: the step {step.name} cannot run: {why.rstrip('.')}",
        remedy="correct the options in the experiment file",
    )
