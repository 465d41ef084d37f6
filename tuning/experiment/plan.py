"""The steps of an experiment: command lines, with the files that they read and make, in order.

N-best lists that other models score again are those of the tuned system with the same columns, made
once for all rows that rescore them. Each row adds the scores of its models, finds weights for all
features on the dev set, and takes the candidates that score highest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moses_integration.ini.edits import next_name
from phrasescore.errors import SettingsError
from phrasescore.runs.steps import Step
from tuning.experiment.experiment_settings import (
    TRAINING_DATA,
    ExperimentModel,
    ExperimentSystem,
    ExperimentText,
)
from tuning.experiment.result_files import ResultFiles, slug


@dataclass(frozen=True)
class Plan(ResultFiles):
    """The steps of an experiment in a folder of results.

    Args:
        settings: What is compared.
        results: An absolute folder.
        moses: The binary, where real Moses decodes.
    """

    def __post_init__(self) -> None:
        folders: dict[str, str] = {}
        for system in self.settings.systems:
            other = folders.setdefault(slug(system.name), system.name)
            if other != system.name:
                raise SettingsError(
                    f"the systems {other!r} and {system.name!r} would share a folder",
                    path=self.settings.file,
                    remedy="let their names differ in letters or digits",
                )

    def steps(self) -> tuple[CommandStep, ...]:
        """Return all steps in the order in which one at a time would run, shared ones once."""
        steps = {step.name: step for step in (filtering(self),)}
        for system in self.settings.systems:
            if system.not_run:
                continue
            for step in self.preparing(system):
                steps.setdefault(step.name, step)
            for seed in self.seeds(system):
                for step in self.run_steps(system, seed):
                    steps.setdefault(step.name, step)
        return tuple(steps.values())

    def seeds(self, system: ExperimentSystem) -> tuple[int | None, ...]:
        """The seed of each run of a system; models alone translate once, if no seed is in them."""
        return self.settings.seeds if self.settings.has_seeds(system) else (None,)

    def preparing(self, system: ExperimentSystem) -> Iterator[CommandStep]:
        """Yield the steps that all runs of a system share."""
        for name in system.all_models:
            model = self.settings.model(name)
            if not model.folder and not model.per_seed:
                yield training(self, model)
        if not system.translate:
            yield from extending(self, self.tuned_system(system))

    def preparing_run(self, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
        """Yield the steps of one run of a system that come before its tuning."""
        for name in system.all_models:
            model = self.settings.model(name)
            if not model.folder and model.per_seed:
                yield training(self, model, seed)
        if not system.translate:
            yield from extending(self, self.tuned_system(system), seed)

    def run_steps(self, system: ExperimentSystem, seed: int | None) -> Iterator[CommandStep]:
        """Yield the steps of one run of a system."""
        if seed is not None:
            yield from self.preparing_run(system, seed)
            yield from self.tuning_steps(system, seed)
        for text in self.texts:
            if seed is None or system.translate:
                yield translating(self, system, seed, text)
            elif system.rerank:
                yield from choosing_steps(self, system, seed, text)
            else:
                yield decoding(self, system, seed, text)

    def tuning_steps(self, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
        """Yield the steps of one run that find its weights."""
        if system.translate:
            return
        yield tuning(self, self.tuned_system(system), seed)
        if system.rerank:
            yield from dev_steps(self, system, seed)

    def final_steps(self, system: ExperimentSystem, seed: int | None) -> tuple[str, ...]:
        """The names of the steps whose outputs are the translations of one run."""
        return tuple(f"{self.run_name(system, seed)}.{text.name}" for text in self.texts)


PROGRAM = "phrasescore"


@dataclass(frozen=True)
class Command:
    """A command line, all paths absolute; the same line again continues where it was stopped.

    Args:
        words: The first is ``phrasescore`` or the path of another program.
        standard_output: The file that gets what it prints, if one does.
        state: What it keeps while it is interrupted.
    """

    words: tuple[str, ...]
    standard_output: Path | None = None
    state: Path | None = None

    def __str__(self) -> str:
        """The line that a user would type."""
        line = shlex.join(self.words)
        if self.standard_output is not None:
            line += f" > {shlex.quote(str(self.standard_output))}"
        return line

    def step(self, name: str, inputs: tuple[Path, ...], outputs: tuple[Path, ...]) -> CommandStep:
        """Return the step that this command does."""
        settings = {"the command": str(self)}
        return Step(name, self, settings, inputs, outputs, state=self.state)


CommandStep = Step[Command]


def training(files: ResultFiles, model: ExperimentModel, seed: int | None = None) -> CommandStep:
    """Return the step that trains a model on what its kind reads, with a seed if it is for one."""
    data, kind = files.settings.data, model.described_kind
    inputs = tuple(files.data(getattr(data, TRAINING_DATA[read])) for read in kind.inputs)
    folder = files.model_folder(model.name, seed)
    chosen = ("--kind", kind.option)
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
        _step_name(files.scored_system(system), "score", seed),
        (files.system_folder, *models),
        (table, report),
    )
    ini = files.ini(system, seed, 0)
    adding = (PROGRAM, "ini", "add-column", str(files.base), "--table", str(table))
    yield Command((*adding, "--absolute-paths", "-o", str(ini))).step(
        _step_name(files.scored_system(system), "ini", seed), (files.base, table), (ini,)
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
        _step_name(system, f"ini.{name}", seed), (before, model), (after,)
    )


def _step_name(system: ExperimentSystem, what: str, seed: int | None) -> str:
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
    for name in _feature_names(files, system):
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


def _feature_names(files: ResultFiles, system: ExperimentSystem) -> tuple[str, ...]:
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
