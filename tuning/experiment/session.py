"""An experiment from start to end: plan, checks, run, and the files of the results' folder.

An experiment file has options of other commands in it. A wrong one in the last step would cost the
hours of all steps before it, so every command line is parsed before the first step runs.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
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
from phrasescore.runs.identity import provenance
from phrasescore.runs.lock import held
from phrasescore.runs.results import RESULT, ExperimentRecord, ExperimentRow, TextBleu, TextFiles
from tuning.experiment.experiment_file import check_kind, for_decoder
from tuning.experiment.experiment_settings import DEV, ExperimentSettings, ExperimentSystem
from tuning.experiment.plan import PROGRAM, CommandStep, Plan
from tuning.experiment.results import KEPT, ResultsKeeper
from tuning.experiment.runner import Runner, Say, StepPlace
from tuning.metrics.score_tables import ScoreTable, points


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
        SearchSettings.from_ini(ini)
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
                _write_tables(plan, steps, keeper, runner.done)

        final = {
            name
            for system in plan.settings.systems
            for seed in plan.seeds(system)
            for name in plan.final_steps(system, seed)
        }
        runner = Runner(plan.results, settings.folder, place, say, after)
        keeper = ResultsKeeper(plan, runner.stamps)
        experiment_record(settings, keeper.rows(keeper.collect(()))).write(plan.results / RESULT)
        ran = runner.run(steps)
        say(f"{ran} of {len(steps)} steps were run, the others were done already")
        return _write_tables(plan, steps, keeper, runner.done)


def _script(plan: Plan, steps: tuple[CommandStep, ...]) -> str:
    folders = sorted({str(path.parent) for step in steps for path in step.outputs})
    lines = ["#!/usr/bin/env bash", "# every step, in an order in which they can run", "set -e"]
    lines += [f"cd {shlex.quote(str(plan.settings.folder))}", shlex.join(["mkdir", "-p", *folders])]
    return "\n".join([*lines, *(str(step.work) for step in steps), ""])


def _write_tables(
    plan: Plan, steps: tuple[CommandStep, ...], keeper: ResultsKeeper, done: Collection[str]
) -> str:
    settings, folder = plan.settings, plan.results
    kept = keeper.collect(done)
    kept.write(folder / KEPT)
    rows = keeper.rows(kept)
    text = markdown(settings, rows, [str(step.work) for step in steps])
    write_atomically(folder / "table.md", text.encode())
    write_atomically(folder / "table.tex", latex(settings, rows).encode())
    experiment_record(settings, rows).write(folder / RESULT)
    return text.partition("\n## Commands")[0]


def experiment_record(
    settings: ExperimentSettings, rows: tuple[ExperimentRow, ...]
) -> ExperimentRecord:
    """Return every number of the table, BLEU as fractions, and the settings."""
    return ExperimentRecord(
        name=settings.name,
        decoder=settings.decoder.kind,
        sections=dict(settings.decoder.sections),
        optimizer=settings.tuning.optimizer,
        rounds=settings.tuning.rounds,
        nbest_size=settings.tuning.nbest_size,
        rerank=dataclasses.asdict(settings.rerank),
        seeds=settings.seeds,
        systems=rows,
        per_seed=tuple(model.name for model in settings.models if model.per_seed),
        texts={
            text.name: TextFiles(
                str(settings.folder / text.source), str(settings.folder / text.reference)
            )
            for text in settings.data.texts
        },
        provenance=provenance(inputs=[settings.file]),
    )


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
                raise InputError(
                    "no such file or folder, which the experiment reads",
                    path=path,
                    remedy=f"correct the path in {where}",
                )


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


_NOTHING = "–"
# of a test set: BLEU, gain, interval, p
_TEST_CELLS, _INTERVAL = 4, 2


def markdown(
    settings: ExperimentSettings, rows: Sequence[ExperimentRow], commands: Sequence[str]
) -> str:
    """Return the table with what one must know to read it, and every command."""
    header = ["system", "dev BLEU"]
    for text in settings.data.tests:
        header += [f"{text.name} BLEU", f"{text.name} gain", "95 % interval", "p"]
    cells = [
        [row.name, _mean(row.texts.get(DEV)), *_test_cells(settings, row), *_remarks(system, row)]
        for system, row in zip(settings.systems, rows, strict=True)
    ]
    table = ScoreTable([*header, "tuning", "paper"], cells).to_markdown()
    lines = [f"# {settings.name}", "", table, *_notes(settings, rows), "", "## Commands", ""]
    lines += [f"Run in `{settings.folder}`:", "", "```", *commands, "```", ""]
    return "\n".join(lines)


def latex(settings: ExperimentSettings, rows: Sequence[ExperimentRow]) -> str:
    """Return the table for a paper: package booktabs."""
    header = ["System", "dev"]
    for text in settings.data.tests:
        header += [text.name, "gain", "p"]
    cells = []
    for row in rows:
        each = _test_cells(settings, row)
        shown = [cell for place, cell in enumerate(each) if place % _TEST_CELLS != _INTERVAL]
        cells.append([row.name, _mean(row.texts.get(DEV)), *shown])
    table = ScoreTable(header, cells)
    return f"% {settings.name}; {_how(settings)}\n{table.to_latex()}"


def _test_cells(settings: ExperimentSettings, row: ExperimentRow) -> list[str]:
    """Return the four cells of each test set."""
    cells = []
    for text in settings.data.tests:
        score = row.texts.get(text.name)
        cells += [_mean(score), *_gain(score)]
    return cells


def _remarks(system: ExperimentSystem, row: ExperimentRow) -> list[str]:
    """Return the time of tuning and the paper's scores."""
    paper, time = _NOTHING, _NOTHING
    if system.paper_test:
        paper = f"{system.paper_dev:.2f} / {system.paper_test:.2f}"
    if row.tuning_seconds and not system.translate:
        seconds, cpu = map(statistics.fmean, (row.tuning_seconds, row.tuning_cpu_seconds))
        time = f"{seconds:,.0f} s ({cpu:,.0f} s CPU)"
    return [time + ("*" if row.resumed else ""), paper]


def _gain(score: TextBleu | None) -> list[str]:
    """Return the gain, its interval and its p-value."""
    gain = score.gain if score is not None else None
    if gain is None:
        return [_NOTHING] * 3
    p_value = "<0.001" if gain.p_value < 0.001 else f"{gain.p_value:.3f}"
    interval = f"{points(gain.low, sign=True)} to {points(gain.high, sign=True)}"
    return [points(gain.bleu, sign=True), interval, p_value]


def _mean(score: TextBleu | None) -> str:
    if score is None:
        return "not run"
    text = points(score.mean)
    return text if score.deviation is None else f"{text} ± {points(score.deviation)}"


def _how(settings: ExperimentSettings) -> str:
    sections = ", ".join(f"{name} {value}" for name, value in settings.decoder.sections)
    decoder = "real Moses" if settings.decoder.kind == "moses" else "the embedded decoder"
    return (
        f"{settings.tuning.optimizer.upper()}, at most {settings.tuning.rounds} rounds, "
        f"{settings.tuning.nbest_size}-best, {decoder}" + (f" ({sections})" if sections else "")
    )


def _notes(settings: ExperimentSettings, rows: Sequence[ExperimentRow]) -> Iterator[str]:
    seeds = ", ".join(map(str, settings.seeds))
    yield (
        f"BLEU on tokens as they stand, mean ± standard deviation over tuning seeds {seeds}. Gain: "
        f"over {settings.systems[0].name}, with interval and two-sided p for other sentences and "
        "other seeds (two-level bootstrap; a system with one run is taken as it is). "
        f"Tuning: {_how(settings)}; seconds of one seed on average. Paper: dev / test of Cho et "
        "al. (2014), on other data."
    )
    for system, row in zip(settings.systems, rows, strict=True):
        yield from (f"\n{note}" for note in _row_notes(settings, system, row))
    if any(row.resumed for row in rows):
        yield "\n\\* A tuning was interrupted and went on; its time is left out."


def _row_notes(
    settings: ExperimentSettings, system: ExperimentSystem, row: ExperimentRow
) -> Iterator[str]:
    if system.not_run and not row.texts:
        yield f"{system.name}: not run; {system.not_run}."
        return
    if system.not_run:
        yield f"{system.name}: from an earlier call, whose results are kept; {system.not_run} now."
    yield from _model_notes(settings, system)
    if settings.has_seeds(system) and len(row.seeds) < len(settings.seeds):
        yield f"{system.name}: {len(row.seeds)} of {len(settings.seeds)} seeds are done."
    if system.rerank:
        yield (
            f"{system.name}: {settings.rerank_size}-best lists of the tuned system, rescored by "
            f"{', '.join(system.rerank)}; all weights once more by "
            f"{settings.rerank.optimizer.upper()} on dev, with the seed of the tuning. Its time is "
            "that of the tuning, and of lists, scores and weights on dev."
        )


def _model_notes(settings: ExperimentSettings, system: ExperimentSystem) -> Iterator[str]:
    if system.translate:
        yield f"{system.name}: {', '.join(system.translate)} without a system; nothing is tuned" + (
            "." if settings.has_seeds(system) else ", so there is one run and no deviation."
        )
    if anew := [name for name in system.all_models if settings.model(name).per_seed]:
        yield f"{system.name}: with another {', '.join(anew)} for each seed."
    if asked := ", ".join(system.language_models):
        yield f"{system.name}: the decoder asks {asked} while it searches."
