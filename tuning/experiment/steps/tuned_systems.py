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


def extending(files: ResultFiles, system: ExperimentSystem) -> Iterator[CommandStep]:
    """Yield the steps that give a system its columns; none for the system as it came."""
    if not system.models:
        return
    table = files.folder(system) / "phrase-table.gz"
    models = [files.model_folder(name) for name in system.models]
    command = [PROGRAM, "score"]
    for model in models:
        command += ["--model", str(model)]
    if system.unknown_column:
        command.append("--unknown-column")
    yield Command((*command, str(files.filtered_table), "-o", str(table))).step(
        f"{slug(system.name)}.score", (files.system_folder, *models), (table,)
    )
    ini = _ini(files, system)
    adding = (PROGRAM, "ini", "add-column", str(files.base), "--table", str(table))
    yield Command((*adding, "--absolute-paths", "-o", str(ini))).step(
        f"{slug(system.name)}.ini", (files.base, table), (ini,)
    )


def tuning(files: ResultFiles, system: ExperimentSystem, seed: int) -> CommandStep:
    """Return the step that finds the weights."""
    settings = files.settings
    ini, folder = _ini(files, system), files.tuning_folder(system, seed)
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
        (ini, *_tables(files, system), source, reference),
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
        (tuned, *_tables(files, system), source),
        (output,),
    )


def _ini(files: ResultFiles, system: ExperimentSystem) -> Path:
    return files.folder(system) / "moses.ini" if system.models else files.base


def _tables(files: ResultFiles, system: ExperimentSystem) -> tuple[Path, ...]:
    made = (files.folder(system) / "phrase-table.gz",) if system.models else ()
    return (files.system_folder, *made, *files.named_by_system)
