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


def training(files: ResultFiles, model: ExperimentModel) -> CommandStep:
    """Return the step that trains a model on what its kind reads."""
    data, kind = files.settings.data, model.described_kind
    inputs = tuple(files.data(getattr(data, TRAINING_DATA[read])) for read in kind.inputs)
    folder = files.model_folder(model.name)
    # what train takes anyway is not said, so that a model of an earlier version stays
    chosen = () if kind is KINDS[0] else ("--kind", kind.option)
    command = Command(
        (PROGRAM, "train", *map(str, inputs), str(folder), *chosen, *model.train),
        state=folder.with_name(f"{folder.name}.training"),
    )
    return command.step(f"train.{model.name}", inputs, (folder,))


def translating(files: ResultFiles, system: ExperimentSystem, text: ExperimentText) -> CommandStep:
    """Return the step in which models translate a text together."""
    models = tuple(files.model_folder(name) for name in system.translate)
    source, output = files.data(text.source), files.translation(system, None, text.name)
    command = [PROGRAM, "translate"]
    for model in models:
        command += ["--model", str(model)]
    command += ["-i", str(source), "-o", str(output), *files.settings.translate.options]
    return Command(tuple(command)).step(
        f"{files.run_name(system, None)}.{text.name}", (*models, source), (output,)
    )
