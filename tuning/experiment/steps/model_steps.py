"""Steps of models: training, and translating without a system."""

from __future__ import annotations

from phrasescore.model.kinds import KINDS
from tuning.experiment.command import PROGRAM, Command, CommandStep
from tuning.experiment.experiment_settings import (
    TRAINING_DATA,
    ExperimentModel,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.result_files import ResultFiles


def training(files: ResultFiles, model: ExperimentModel, seed: int | None = None) -> CommandStep:
    """Return the step that trains a model on what its kind reads, with a seed if it is for one."""
    data, kind = files.settings.data, model.described_kind
    inputs = tuple(files.data(getattr(data, TRAINING_DATA[read])) for read in kind.inputs)
    folder = files.model_folder(model.name, seed)
    # what train takes anyway is not said, so that a model of an earlier version stays
    chosen = () if kind is KINDS[0] else ("--kind", kind.option)
    seeded = () if seed is None else ("--seed", str(seed))
    command = Command(
        (PROGRAM, "train", *map(str, inputs), str(folder), *chosen, *seeded, *model.train),
        state=folder.with_name(f"{folder.name}.training"),
    )
    name = "train" if seed is None else f"train-seed{seed}"
    return command.step(f"{name}.{model.name}", inputs, (folder,))


def translating(
    files: ResultFiles, system: ExperimentSystem, seed: int | None, text: ExperimentText
) -> CommandStep:
    """Return the step in which models translate a text together."""
    models = tuple(files.model_folder(name, seed) for name in system.translate)
    source, output = files.data(text.source), files.translation(system, seed, text.name)
    command = [PROGRAM, "translate"]
    for model in models:
        command += ["--model", str(model)]
    command += ["-i", str(source), "-o", str(output), *files.settings.translate.options]
    return Command(tuple(command)).step(
        f"{files.run_name(system, seed)}.{text.name}", (*models, source), (output,)
    )
