"""An experiment from start to end: plan, run, report, and the files of the results' folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from moses_integration.decoder.settings import SearchSettings
from moses_integration.ini.edits import refuse_in_moses, with_section
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import find_moses
from phrasescore.errors import InputError, PhrasescoreError, SettingsError
from phrasescore.runs.final_names import write_atomically
from phrasescore.runs.identity import provenance
from phrasescore.runs.json_files import write_json
from phrasescore.runs.lock import held
from tuning.experiment.command import CommandStep
from tuning.experiment.command_checks import check_commands
from tuning.experiment.experiment_checks import check_kind, for_decoder
from tuning.experiment.experiment_settings import ExperimentSettings
from tuning.experiment.plan import Plan
from tuning.experiment.results.kept_results import ResultsKeeper
from tuning.experiment.results.report import collect
from tuning.experiment.results.tables import as_json, latex, markdown
from tuning.experiment.runner import Runner, Say, StepPlace


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
    plan = Plan(for_decoder(settings), Path(output).absolute(), moses)
    needed = [path for step in plan.steps() for path in step.inputs]
    references = [plan.data(text.reference) for text in plan.texts]
    for path in (*needed, *references):
        if not path.is_relative_to(plan.results) and not path.exists():
            raise InputError(
                "no such file or folder, which the experiment reads",
                path=path,
                remedy=f"correct the path in {settings.file}",
            )
    texts = [path for text in plan.texts for path in (text.source, text.reference)]
    for path in map(plan.data, (settings.data.system, *texts)):
        if not path.is_file() or not path.stat().st_size:
            raise InputError(
                "the file is empty" if path.is_file() else "no file, where a file was expected",
                path=path,
                remedy=f"correct the path in {settings.file}",
            )
    _check_sections(settings)
    check_commands(plan.steps(), settings.folder, plan.results, str(settings.file))
    for system in plan.settings.systems:
        for name in () if system.not_run else system.all_models:
            check_kind(system, name, plan.kind(name), str(settings.file))
    return plan


def _check_sections(settings: ExperimentSettings) -> None:
    """Try the search that the file asks for on the system.

    Raises:
        SettingsError: A section of a moses.ini is unknown, or its value makes no sense.
    """
    ini = MosesIni.read(settings.folder / settings.data.system)
    try:
        for name, value in settings.decoder.sections:
            ini = with_section(ini, name, value)
        SearchSettings.of(ini)
    except PhrasescoreError as error:
        raise SettingsError(
            f"[decoder] sections: {error.problem}", path=settings.file, remedy=error.remedy
        ) from None


def run_experiment(
    settings: ExperimentSettings, output: str | Path, place: StepPlace, say: Say
) -> str:
    """Run what is missing and write the table, which is kept up to date on the way.

    Args:
        settings: What is compared.
        output: The folder of results.
        place: Where commands run, and how many at a time.
        say: Gets a line for each step.

    Returns:
        The table as Markdown.
    """
    plan = planned(settings, output)
    steps = plan.steps()
    with held(plan.results, inside=True):
        write_atomically(plan.results / "commands.sh", _script(plan, steps).encode())

        def after(step: CommandStep) -> None:
            if step.name in final:
                _write_tables(plan, steps, keeper, runner)

        final = {
            name
            for system in plan.settings.systems
            for seed in plan.seeds(system)
            for name in plan.final_steps(system, seed)
        }
        runner = Runner(plan.results, settings.folder, place, say, after)
        keeper = ResultsKeeper(plan, runner.stamps)
        ran = runner.run(steps)
        say(f"{ran} of {len(steps)} steps were run, the others were done already")
        return _write_tables(plan, steps, keeper, runner)


def _script(plan: Plan, steps: tuple[CommandStep, ...]) -> str:
    folders = sorted({str(path.parent) for step in steps for path in step.outputs})
    lines = ["#!/usr/bin/env bash", "# every step, in an order in which they can run", "set -e"]
    lines += [f"cd {shlex.quote(str(plan.settings.folder))}", shlex.join(["mkdir", "-p", *folders])]
    return "\n".join([*lines, *(str(step.work) for step in steps), ""])


def _write_tables(
    plan: Plan, steps: tuple[CommandStep, ...], keeper: ResultsKeeper, runner: Runner
) -> str:
    settings, folder = plan.settings, plan.results
    runs = keeper.runs(runner.done)
    keeper.write(runs)
    rows = collect(plan, runs)
    text = markdown(settings, rows, [str(step.work) for step in steps])
    write_atomically(folder / "table.md", text.encode())
    write_atomically(folder / "table.tex", latex(settings, rows).encode())
    record = as_json(settings, rows)
    record["provenance"] = provenance(inputs=[settings.file])
    write_json(folder / "table.json", record)
    return text.partition("\n## Commands")[0]
