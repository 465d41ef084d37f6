"""Runs an experiment from start to end: plan, checks, steps, and the files of the results folder.

An experiment file contains options of other commands. A wrong option of the last step would waste
hours of earlier steps, so every command line is parsed before the first step runs.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

import click

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import refuse_in_moses, with_sections
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses import find_moses
from phrasescore.cli import cli
from phrasescore.commands.paths import PLANNED, Use
from phrasescore.errors import InputError, PhrasescoreError, ResumeError, SettingsError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.ledger import refuse_files
from phrasescore.runs.lock import held
from phrasescore.runs.progress import Say
from phrasescore.runs.results import RESULT, has_record
from tuning.experiment.experiment_settings import ExperimentSettings, kind_problems
from tuning.experiment.plan import Plan
from tuning.experiment.results import KEPT, ResultsKeeper
from tuning.experiment.runner import COMMANDS, PROGRAM, CommandStep, Runner, script
from tuning.experiment.table import ExperimentRecord, experiment_record, markdown

_NOT_IN_MOSES = (
    "real Moses cannot use a neural language model while it decodes; use the embedded decoder, or "
    "rerank Moses's n-best lists with the model"
)


def planned(settings: ExperimentSettings, output: str | Path) -> Plan:
    """Plan an experiment, and check that its inputs exist and its options are valid.

    Raises:
        InputError: The data folder, a text, the system or a model does not exist.
        ModelError: An existing folder is not a model.
        IniError: Real Moses is selected and cannot read the system.
        SettingsError: A row uses a model in a way that its kind does not support, or an option in
            the file does not exist.
        MissingDependencyError: Real Moses is selected and not installed.
    """
    if not settings.folder.is_dir():
        raise InputError(
            "the folder that [data] names does not exist",
            path=settings.folder,
            remedy="put the data there, or give their folder with --data",
        )
    moses = None
    if settings.decoder.kind == "moses":
        moses = find_moses(settings.decoder.program or None).absolute()
        refuse_in_moses(MosesIni.read(settings.folder / settings.data.system))
        settings = _without_language_models(settings)
    plan = Plan(settings, Path(output).resolve(), moses)
    steps = plan.steps()
    texts = [plan.data(path) for text in plan.texts for path in (text.source, text.reference)]
    for path in (plan.data(settings.data.system), *texts):
        if not path.exists():
            raise _missing(_NO_FILE, path, settings.file)
        if not (path.is_file() and path.stat().st_size):
            raise _missing("this is not a regular file, or it is empty", path, settings.file)
    _check_sections(plan)
    check_commands(steps, settings.folder, plan.results, str(settings.file))
    for system in settings.systems:
        for name in () if system.not_run else system.all_models:
            for problem in kind_problems(system, name, plan.kind(name)):
                raise SettingsError(f"{settings.file}: {system.name} {problem}")
    return plan


_TABLE = "table.md"
_NO_FILE = "the experiment reads this file or folder, but it does not exist"


def _missing(problem: str, path: Path, file: str | Path) -> InputError:
    return InputError(problem, path=path, remedy=f"correct the path in {file}")


def _without_language_models(settings: ExperimentSettings) -> ExperimentSettings:
    """Return the settings with rows marked as not run if real Moses cannot run them.

    Raises:
        SettingsError: Real Moses cannot run the first row.
    """
    if settings.systems[0].language_models:
        raise SettingsError(
            f"{settings.file}: the first system has language_models, which real Moses cannot use",
            remedy="put a row without language_models first, or use the embedded decoder",
        )
    reasons = ((each, _NOT_IN_MOSES if each.language_models else "") for each in settings.systems)
    systems = tuple(dataclasses.replace(each, not_run=each.not_run or why) for each, why in reasons)
    return dataclasses.replace(settings, systems=systems)


def _check_sections(plan: Plan) -> None:
    """Check the search settings of the file by applying them to the system.

    Raises:
        SettingsError: The name of a moses.ini section is unknown, or its value is invalid.
    """
    try:
        SearchSettings.from_ini(with_sections(plan.ini, plan.settings.decoder.sections.items()))
    except PhrasescoreError as error:
        raise SettingsError(
            f"[decoder] sections: {error.problem}", path=plan.settings.file, remedy=error.remedy
        ) from None


def _begin(plan: Plan) -> None:
    """Mark an empty folder as that of an experiment, by its record.

    Raises:
        ResumeError: The folder has files, and no experiment wrote them.
    """
    record = plan.results / RESULT
    if os.path.lexists(record) and not record.is_file():
        raise ResumeError(
            "not a regular file", path=record, remedy="move it away, or name a new folder"
        )
    if not has_record(plan.results, ExperimentRecord):
        refuse_files(plan.results, "record of an experiment")
        experiment_record(plan, {}, {}).write(plan.results / RESULT)


def run_experiment(
    settings: ExperimentSettings, output: str | Path, jobs: int, say: Say, rows: Iterable[str] = ()
) -> tuple[str, ExperimentRecord]:
    """Run the steps that are not done, and update the table after each translation.

    Args:
        settings: The experiment.
        output: The results folder.
        jobs: The maximum number of steps to run at a time.
        say: Prints a line for each step.
        rows: Results files of other folders, whose rows are used instead of running the systems.

    Returns:
        The table as Markdown, and its numbers.
    """
    plan = planned(settings, output)
    steps, folder = plan.steps(), plan.results
    runs = (run for system in plan.settings.systems for run in plan.runs(system))
    final = {name for run in runs for name in run.final_steps()}
    with held(folder, inside=True):
        _begin(plan)
        write_atomically(folder / COMMANDS, script(settings.folder, steps))

        def write() -> tuple[str, ExperimentRecord]:
            kept, runs = keeper.collect(runner.done)
            kept.write(folder / KEPT)
            record = experiment_record(plan, runs, kept.texts)
            text = markdown(plan.settings, record)
            write_atomically(folder / _TABLE, text.encode())
            record.write(folder / RESULT)
            return text, record

        def after(step: CommandStep) -> None:
            for line in runner.printed(step):
                if line.startswith("warning: "):
                    say(f"{step.name}: {line}")
            if step.name in final:
                write()

        runner = Runner(folder, settings.folder, say, after)
        keeper = ResultsKeeper(plan, runner.ledger, rows)
        write()
        ran = runner.run(steps, jobs)
        say(f"{ran} of {len(steps)} steps were run, the others were already done")
        return write()


def check_commands(steps: Iterable[CommandStep], folder: Path, results: Path, where: str) -> None:
    """Check the options of each command, and the existence of inputs that no step makes.

    Args:
        steps: The steps, in any order.
        folder: The current directory of the commands.
        results: The results folder.
        where: The name of the experiment file in errors.

    Raises:
        SettingsError: An option is unknown, makes no sense here, repeats an option that the
            experiment sets itself, or names an output outside the results folder.
        InputError: A file named by an option does not exist.
    """
    for step in steps:
        if step.work.words[0] != PROGRAM:
            continue
        for text, use in _named_paths(step, where):
            path = folder / text
            inside = Path(os.path.normpath(path)).is_relative_to(os.path.normpath(results))
            if use.writes and text != os.devnull and not inside:
                raise _refused(step, where, f"it would write {text}, outside the results folder")
            needed = use in (Use.READ, Use.READ_FOLDER) and not path.is_relative_to(results)
            if needed and not path.exists():
                raise _missing(_NO_FILE, path, where)


def _named_paths(step: CommandStep, where: str) -> list[tuple[str, Use]]:
    """Parse a step's command line, and return the paths in it with their uses."""
    _, name, *arguments = step.work.words
    planned: list[tuple[str, Use]] = []
    with click.Context(cli, info_name=PROGRAM) as parent:
        parent.meta[PLANNED] = planned
        command = cli.get_command(parent, name)
        if command is None or isinstance(command, click.Group):
            return []  # neither a group nor an unknown command has options from the experiment file
        try:
            with command.make_context(name, list(arguments), parent=parent) as context:
                if (twice := _given_twice(command, context, arguments)) is not None:
                    raise SettingsError(f"the experiment sets {twice} itself, so the file must not")
        except click.exceptions.Exit:
            raise _refused(step, where, "its options contain --help") from None
        except click.ClickException as error:
            raise _refused(step, where, error.format_message()) from None
        except SettingsError as error:
            raise _refused(step, where, error.problem) from None
    return planned


def _given_twice(
    command: click.Command, context: click.Context, arguments: list[str]
) -> str | None:
    """Return the first option that is repeated but takes one value; ``None`` if there is none."""
    *_, order = command.make_parser(context).parse_args(arguments)
    for place, parameter in enumerate(order):
        is_option = isinstance(parameter, click.Option) and not parameter.multiple
        if is_option and parameter in order[:place]:
            name = max(parameter.opts, key=len)
            # the number of threads changes no result, so the file may override it
            if name != "--threads":
                return name
    return None


def _refused(step: CommandStep, where: str, why: str) -> SettingsError:
    return SettingsError(
        f"{where}: the step {step.name} cannot run: {why.rstrip('.')}",
        remedy="correct the options in the experiment file",
    )
