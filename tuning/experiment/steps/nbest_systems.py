"""Steps of a system whose n-best lists other models score again.

The lists are those of the tuned system with the same columns, made once for all rows that rescore
them. Each row adds the scores of its models, finds weights for all features on the dev set, and
takes the candidates that score highest.
"""

from __future__ import annotations

from collections.abc import Iterator

from moses_integration.ini.edits import next_name
from tuning.experiment.command import PROGRAM, Command, CommandStep
from tuning.experiment.experiment_settings import ExperimentSystem, ExperimentText
from tuning.experiment.result_files import ResultFiles
from tuning.experiment.steps.tuned_systems import listing


def dev_steps(files: ResultFiles, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
    """Yield the steps from the tuned system to the weights of all features."""
    dev = files.texts[0]
    yield _listing(files, system, seed, dev)
    yield _rescoring(files, system, seed, dev)
    yield _optimizing(files, system, seed, dev)


def choosing_steps(
    files: ResultFiles, system: ExperimentSystem, seed: int, text: ExperimentText
) -> Iterator[CommandStep]:
    """Yield the steps that choose the translations of a text, given the weights."""
    yield _listing(files, system, seed, text)
    yield _rescoring(files, system, seed, text)
    rescored, weights = files.rescored(system, seed, text.name), files.weights(system, seed)
    source, output = files.data(text.source), files.translation(system, seed, text.name)
    command = [PROGRAM, "rerank", str(rescored), "--weights", str(weights)]
    # equally good candidates are rare, and the list's order is the decoder's
    command += ["--source", str(source), "--ties", "first", "-o", str(output)]
    yield Command(tuple(command)).step(
        f"{files.run_name(system, seed)}.{text.name}", (rescored, weights, source), (output,)
    )


def _listing(
    files: ResultFiles, system: ExperimentSystem, seed: int, text: ExperimentText
) -> CommandStep:
    tuned = files.tuned_system(system)
    # one list for all rows, so that it does not depend on which of them are run
    segmented = any(
        _scores_phrases(files, row)
        for row in files.settings.systems
        if row.rerank and row.may_be_tuned and files.tuned_system(row) == tuned
    )
    return listing(files, tuned, seed, text, segmented)


def _rescoring(
    files: ResultFiles, system: ExperimentSystem, seed: int, text: ExperimentText
) -> CommandStep:
    listed = files.nbest(system, seed, text.name)
    source, output = files.data(text.source), files.rescored(system, seed, text.name)
    models = tuple(files.model_folder(name, seed) for name in system.rerank)
    command = [PROGRAM, "nbest"]
    for model in models:
        command += ["--model", str(model)]
    for name in _names(files, system):
        command += ["--name", name]
    command.append(str(listed))
    # a language model reads the candidates alone
    read = (source,) if any(files.kind(name).reads_source for name in system.rerank) else ()
    for path in read:
        command += ["--source", str(path)]
    tables = (files.filtered_table,) if _scores_phrases(files, system) else ()
    for table in tables:
        command += ["--table", str(table)]
    return Command((*command, "-o", str(output))).step(
        f"{files.run_name(system, seed)}.{text.name}.rescore",
        (listed, *read, *tables, *models),
        (output,),
    )


def _names(files: ResultFiles, system: ExperimentSystem) -> tuple[str, ...]:
    """Return what the new features are called where the list has one of the usual name already."""
    taken = set(files.feature_names)
    for _ in system.language_models:
        taken.add(next_name(taken))
    usual: list[str] = []
    names: list[str] = []
    for name in system.rerank:
        feature = files.kind(name).feature
        usual.append(next_name(usual, feature))
        names.append(next_name({*taken, *names}, feature))
    return () if names == usual else tuple(names)


def _scores_phrases(files: ResultFiles, system: ExperimentSystem) -> bool:
    """Tell whether one of its models knows phrases, so that it must be known which they are."""
    return any(not files.kind(name).of_sentences for name in system.rerank)


def _optimizing(
    files: ResultFiles, system: ExperimentSystem, seed: int, dev: ExperimentText
) -> CommandStep:
    settings = files.settings.rerank
    rescored, reference = files.rescored(system, seed, dev.name), files.data(dev.reference)
    start, weights = files.tuned_weights(system, seed), files.weights(system, seed)
    command = [PROGRAM, "optimize", "--nbest", str(rescored), "--reference", str(reference)]
    command += ["--start", str(start), "--optimizer", settings.optimizer, "--seed", str(seed)]
    command += ["--threads", str(files.settings.decoder.threads), *settings.options]
    return Command((*command, "-o", str(weights))).step(
        f"{files.run_name(system, seed)}.{dev.name}.optimize",
        (rescored, reference, start),
        (weights,),
    )
