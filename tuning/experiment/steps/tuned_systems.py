"""Steps of a system: its filtered tables, its columns, its tuned weights, its translations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuning.experiment.command import PROGRAM, Command, CommandStep
from tuning.experiment.experiment_settings import ExperimentSystem, ExperimentText
from tuning.experiment.result_files import ResultFiles, slug


def filtering(files: ResultFiles) -> CommandStep:
    """Return the step that cuts the tables down to all texts."""
    ini = files.data(files.settings.data.system)
    texts = tuple(files.data(text.source) for text in files.texts)
    command = [PROGRAM, "filter", str(ini)]
    for text in texts:
        command += ["--input", str(text)]
    for name, value in files.settings.decoder.sections:
        command += ["--set", f"{name}={value}"]
    return Command((*command, "-o", str(files.system_folder))).step(
        "filter", (ini, *texts, *files.named_by_system), (files.system_folder,)
    )


def extending(
    files: ResultFiles, system: ExperimentSystem, seed: int | None = None
) -> Iterator[CommandStep]:
    """Yield the steps that give a system its columns and language models, if it has any.

    Args:
        files: Of the experiment.
        system: A tuned system.
        seed: Of the run whose own steps are wanted; ``None`` for those that all runs share.
    """
    of_run = seed is not None
    if system.models and files.settings.has_per_seed(system.models) == of_run:
        yield from _adding_columns(files, system, seed)
    known = (*system.models, *system.language_models)
    for place in range(len(system.language_models)):
        if files.settings.has_per_seed(known[: len(system.models) + place + 1]) == of_run:
            yield _adding_language_model(files, system, place, seed)


def _adding_columns(
    files: ResultFiles, system: ExperimentSystem, seed: int | None
) -> Iterator[CommandStep]:
    table, report = files.columns_of(system, seed), files.score_report_of(system, seed)
    models = [files.model_folder(name, seed) for name in system.models]
    command = [PROGRAM, "score"]
    for model in models:
        command += ["--model", str(model)]
    if system.unknown_column:
        command.append("--unknown-column")
    if system.unknown != "whole":
        command += ["--unknown", system.unknown]
    written = ("-o", str(table), "--json-file", str(report))
    yield Command((*command, str(files.filtered_table), *written)).step(
        _name(files.scored_system(system), "score", seed),
        (files.system_folder, *models),
        (table, report),
    )
    ini = files.ini(system, seed, 0)
    adding = (PROGRAM, "ini", "add-column", str(files.base), "--table", str(table))
    yield Command((*adding, "--absolute-paths", "-o", str(ini))).step(
        _name(files.scored_system(system), "ini", seed), (files.base, table), (ini,)
    )


def _adding_language_model(
    files: ResultFiles, system: ExperimentSystem, place: int, seed: int | None
) -> CommandStep:
    name = system.language_models[place]
    before, after = files.ini(system, seed, place), files.ini(system, seed, place + 1)
    model = files.model_folder(name, seed)
    command: tuple[str, ...] = (PROGRAM, "ini", "add-language-model", str(before))
    unnormalised = files.settings.model(name).unnormalised
    command += ("--model", str(model), "--unnormalised" if unnormalised else "--normalised")
    return Command((*command, "--absolute-paths", "-o", str(after))).step(
        _name(system, f"ini.{name}", seed), (before, model), (after,)
    )


def _name(system: ExperimentSystem, what: str, seed: int | None) -> str:
    return f"{slug(system.name)}.{what}" + ("" if seed is None else f".seed{seed}")


def tuning(files: ResultFiles, system: ExperimentSystem, seed: int) -> CommandStep:
    """Return the step that finds the weights."""
    settings = files.settings
    ini, folder = files.ini(system, seed), files.tuning_folder(system, seed)
    dev = files.texts[0]
    source, reference = files.data(dev.source), files.data(dev.reference)
    command = [PROGRAM, "tune", str(ini), "--source", str(source)]
    command += ["--reference", str(reference), "-o", str(folder)]
    command += ["--decoder", settings.decoder.kind, "--threads", str(settings.decoder.threads)]
    if files.moses:
        command += ["--moses-bin", str(files.moses)]
    command += ["--optimizer", settings.tuning.optimizer, "--seed", str(seed)]
    command += ["--rounds", str(settings.tuning.rounds)]
    command += ["--nbest-size", str(settings.tuning.nbest_size), *settings.tuning.options]
    return Command(tuple(command), state=folder).step(
        f"{files.run_name(system, seed)}.tune",
        (ini, *_models(files, system, seed), source, reference),
        (folder / "moses.ini", folder / "weights.json"),
    )


def decoding(
    files: ResultFiles, system: ExperimentSystem, seed: int, text: ExperimentText
) -> CommandStep:
    """Return the step that translates a text with the tuned weights."""
    return _translating(files, system, seed, text, files.translation(system, seed, text.name), "")


def listing(
    files: ResultFiles, system: ExperimentSystem, seed: int, text: ExperimentText, segmented: bool
) -> CommandStep:
    """Return the step that makes the n-best list of a text with the tuned weights.

    Args:
        files: Of the experiment.
        system: A tuned system.
        seed: Of its tuning.
        text: What is translated.
        segmented: Whether the list says of which phrases its candidates are made.
    """
    size = str(files.settings.rerank_size)
    output = files.nbest(system, seed, text.name)
    if files.moses is None:
        wanted = ["--nbest", str(output), "--nbest-size", size]
    else:
        wanted = ["-n-best-list", "-", size, "distinct"]
    if segmented:
        dashes = "--" if files.moses is None else "-"
        wanted.append(f"{dashes}include-segmentation-in-n-best")
    return _translating(files, system, seed, text, output, ".nbest", tuple(wanted))


def _translating(
    files: ResultFiles,
    system: ExperimentSystem,
    seed: int,
    text: ExperimentText,
    output: Path,
    ending: str,
    wanted: tuple[str, ...] = (),
) -> CommandStep:
    source, tuned = files.data(text.source), files.tuning_folder(system, seed) / "moses.ini"
    threads = str(files.settings.decoder.threads)
    if files.moses is None:
        # of a list, the translations themselves are the first candidates
        translations = "/dev/null" if wanted else str(output)
        command = [PROGRAM, "decode", str(tuned), "-i", str(source), "-o", translations]
        command += [*wanted, "--threads", threads]
    else:
        command = [str(files.moses), "-f", str(tuned), *wanted, "-input-file", str(source)]
        command += ["-threads", threads]
    printed = None if files.moses is None else output
    return Command(tuple(command), printed).step(
        f"{files.run_name(system, seed)}.{text.name}{ending}",
        (tuned, *_models(files, system, seed), source),
        (output,),
    )


def _models(files: ResultFiles, system: ExperimentSystem, seed: int) -> tuple[Path, ...]:
    """Return what the ini of a system names."""
    made = (files.columns_of(system, seed),) if system.models else ()
    asked = (files.model_folder(name, seed) for name in system.language_models)
    return (files.system_folder, *made, *asked, *files.named_by_system)
