"""Plans the steps of an experiment: ordered command lines with their inputs and outputs.

All outputs are in the results folder:

* ``system/``: the untuned system, its tables filtered to all texts;
* ``models/NAME/``: a trained model; ``models/NAME/seedN/`` if each seed has its own model;
* ``systems/NAME/``: all files of one system:

  * ``phrase-table.gz`` and ``moses.ini`` with the columns of the system, and ``moses.MODEL.ini``
    with the language model MODEL added; a file has the prefix ``seedN.`` if it depends on a model
    that is trained for each seed;
  * ``seedN/``: the work folder of tuning;
  * ``seedN.TEXT.txt``: the translations; ``TEXT.txt`` if models translate alone and depend on no
    seed;
  * ``seedN.TEXT.nbest`` or ``.nbest.gz``: n-best lists to rescore;
  * ``seedN.TEXT.rescored.gz`` and ``seedN.weights.json``: rescored lists and their weights;

* ``steps/``: a stamp and a log for each step.

Rows with ``rerank`` rescore the n-best lists of the tuned system that has equal columns and
language models; these lists are made once for all such rows. Each row adds the scores of its models
to the lists, optimises the weights of all features on the dev set, and chooses the candidates with
the highest weighted sums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from moses_integration.ini.edits import MARKS_OFF, next_name
from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import named_paths
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.copying import filtered_name
from phrasescore.errors import SettingsError
from phrasescore.model.folder import read_kind
from phrasescore.model.kinds import Kind, kind_named
from tuning.experiment.experiment_settings import (
    SEED,
    TRAINING_DATA,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
    slug,
)
from tuning.experiment.runner import PROGRAM, CommandStep, command_step

Words = list[object]  # the words of a command line; its paths are read, unless they are outputs


def _repeated(option: str, values: Iterable[object]) -> Words:
    return [word for value in values for word in (option, value)]


@dataclass(frozen=True)
class Plan:
    """The steps and file names of an experiment.

    Args:
        settings: The experiment.
        results: The results folder, as an absolute path.
        moses: The binary of real Moses; ``None`` for the embedded decoder.
    """

    settings: ExperimentSettings
    results: Path
    moses: Path | None = None

    def steps(self) -> tuple[CommandStep, ...]:
        """Return all distinct steps, each after the steps whose outputs it reads.

        All rows' steps for the first seed precede the steps for the second, and so on, so after
        each seed the table has one more run of every row.
        """
        rows = [system for system in self.settings.systems if not system.not_run]
        runs = [run for system in rows for run in self.runs(system)]
        places = {seed: place for place, seed in enumerate(self.settings.seeds)}
        runs.sort(key=lambda run: 0 if run.seed is None else places[run.seed])
        return tuple({step.name: step for run in runs for step in run.steps()}.values())

    def runs(self, system: ExperimentSystem) -> list[Run]:
        """Return the runs of a system, one for each seed."""
        return [Run(self, system, seed) for seed in self.settings.runs(system)]

    def data(self, path: str) -> Path:
        """Return the absolute path of a file in ``[data]``."""
        return self.settings.folder / path

    @property
    def texts(self) -> tuple[ExperimentText, ...]:
        """The dev set and the test sets."""
        return self.settings.data.texts

    def folder(self, system: ExperimentSystem) -> Path:
        """Return the folder for a system's files."""
        return self.results / "systems" / slug(system.name)

    @property
    def system_folder(self) -> Path:
        """The folder of the filtered system."""
        return self.results / "system"

    @property
    def base(self) -> Path:
        """The moses.ini of the filtered system."""
        return self.system_folder / "moses.ini"

    @cached_property
    def ini(self) -> MosesIni:
        """The moses.ini of the untuned system."""
        return MosesIni.read(self.data(self.settings.data.system))

    @cached_property
    def filtered_table(self) -> Path:
        """The path of the filtered phrase table, as ``phrasescore filter`` names it.

        Raises:
            SettingsError: The system does not have exactly one phrase table in text form.
        """
        tables = [feature for feature in self.ini.features if feature.kind in TEXT_TABLE_KINDS]
        if len(tables) != 1:
            raise SettingsError(
                f"{len(tables)} phrase tables in text form, expected one",
                path=self.ini.path,
                remedy="give the ini that names the text table, not a binary table",
            )
        return self.system_folder / filtered_name(self.ini, tables[0])

    @cached_property
    def named_by_system(self) -> tuple[Path, ...]:
        """The files named in the untuned moses.ini, with paths relative to the data folder."""
        named = (self.settings.folder / path for _, _, path in named_paths(self.ini))
        files = (file for path in named for file in (path, path.with_name(f"{path.name}.gz")))
        return tuple(filter(Path.exists, files))

    def model_folder(self, name: str, seed: int | None) -> Path:
        """Return the folder of a model; ``seed`` matters only if each seed has its own model."""
        model = self.settings.models[name]
        if model.folder:
            return self.settings.resolve(model.folder.replace(SEED, str(seed)))
        folder = self.results / "models" / name
        return folder / f"seed{seed}" if model.per_seed else folder

    def kind(self, name: str) -> Kind:
        """Return the kind of a model; the folder of an existing model states the kind.

        Raises:
            ModelError: The folder is not a model.
        """
        model = self.settings.models[name]
        folder = self.model_folder(name, self.settings.seeds[0])
        # a missing folder is reported with the other inputs
        return read_kind(folder) if model.folder and folder.exists() else kind_named(model.kind)

    def scores_phrases(self, system: ExperimentSystem) -> bool:
        """Return whether a row rescores with a phrase model, which needs lists with phrases."""
        return any(not self.kind(name).of_sentences for name in system.rerank)

    def tuned_system(self, system: ExperimentSystem) -> ExperimentSystem:
        """Return the row whose tuning a row uses: itself, or with ``rerank`` an equal tuned row."""
        if not system.rerank:
            return system
        return self._first(lambda other: other.features == system.features)

    def scored_system(self, system: ExperimentSystem) -> ExperimentSystem:
        """Return the row whose phrase table a row uses: the first with the same columns."""
        return self._first(lambda other: other.columns == system.columns)

    def _first(self, is_like: Callable[[ExperimentSystem], bool]) -> ExperimentSystem:
        """Return the first tuned row that ``is_like`` accepts, if possible one without rerank."""
        rows = [row for row in self.settings.systems if row.may_be_tuned and is_like(row)]
        return min(rows, key=lambda row: bool(row.rerank))


@dataclass(frozen=True)
class Run:
    """One run of a system: a tuning with one seed, or models that translate alone.

    Args:
        plan: The plan of the experiment.
        system: The row.
        seed: The seed of tuning or of the models; ``None`` if the translations depend on no seed.
    """

    plan: Plan
    system: ExperimentSystem
    seed: int | None

    @property
    def name(self) -> str:
        """The prefix of the names of the run's own steps."""
        return slug(self.system.name) + ("" if self.seed is None else f".seed{self.seed}")

    def _own(self, ending: str) -> Path:
        """Return a file of this run in the folder of its system."""
        begin = "" if self.seed is None else f"seed{self.seed}."
        return self.plan.folder(self.system) / f"{begin}{ending}"

    def translation(self, text: str) -> Path:
        """Return the file for the translation of a text."""
        return self._own(f"{text}.txt")

    @property
    def tuned(self) -> Run:
        """The run whose tuning this run uses: this run, or the run whose lists it rescores."""
        return Run(self.plan, self.plan.tuned_system(self.system), self.seed)

    @property
    def tuning_folder(self) -> Path:
        """The work folder of the tuning."""
        return self.plan.folder(self.tuned.system) / f"seed{self.seed}"

    @property
    def weights(self) -> Path:
        """The file of the weights that the run translates with."""
        name = "weights.json"
        return self._own(name) if self.system.rerank else self.tuning_folder / name

    def final_steps(self) -> tuple[str, ...]:
        """Return the names of the steps whose outputs are the translations."""
        return tuple(f"{self.name}.{text.name}" for text in self.plan.texts)

    def steps(self) -> Iterator[CommandStep]:
        """Yield all steps of the run, including steps that it shares with other runs."""
        if not self.system.translate:
            yield self._filter()
        for name in self.system.all_models:
            if not self.plan.settings.models[name].folder:
                yield self._train(name)
        if self.system.translate:
            yield from map(self._translate_alone, self.plan.texts)
            return
        tuned = self.tuned
        if self.system.models:
            yield from tuned._add_columns()
        for count in range(len(self.system.language_models)):
            yield tuned._add_language_model(count)
        yield tuned._tune()
        if not self.system.rerank:
            yield from map(self._decode, self.plan.texts)
            return
        for place, text in enumerate(self.plan.texts):
            yield tuned._list(text)
            yield self._rescore(text)
            if place == 0:
                yield self._optimize(text)
            yield self._rerank(text)

    def _filter(self) -> CommandStep:
        plan, ini = self.plan, self.plan.data(self.plan.settings.data.system)
        texts = tuple(plan.data(text.source) for text in plan.texts)
        settings = dict(plan.settings.decoder.sections)
        if plan.moses:
            settings |= {name: value for name, value in MARKS_OFF if plan.ini.values(name)}
        sections = (f"{name}={value}" for name, value in settings.items())
        words: Words = [PROGRAM, "filter", ini, *_repeated("--input", texts)]
        words += [*_repeated("--set", sections), "-o", plan.system_folder]
        return command_step("filter", words, [plan.system_folder], plan.named_by_system)

    def _train(self, name: str) -> CommandStep:
        """Return the step that trains a model, with the run's seed if the model is per seed."""
        data, model = self.plan.settings.data, self.plan.settings.models[name]
        kind = kind_named(model.kind)
        inputs = [self.plan.data(getattr(data, TRAINING_DATA[read])) for read in kind.inputs]
        folder = self.plan.model_folder(name, self.seed)
        words: Words = [PROGRAM, "train", *inputs, folder, "--kind", kind.option]
        words += ["--seed", self.seed] if model.per_seed else []
        step = f"train-seed{self.seed}.{name}" if model.per_seed else f"train.{name}"
        state = folder.with_name(f"{folder.name}.training")
        return command_step(step, [*words, *model.train], [folder], state=state)

    def _translate_alone(self, text: ExperimentText) -> CommandStep:
        models = [self.plan.model_folder(name, self.seed) for name in self.system.translate]
        source, output = self.plan.data(text.source), self.translation(text.name)
        words: Words = [PROGRAM, "translate", *_repeated("--model", models)]
        words += ["-i", source, "-o", output, *self.plan.settings.translation(self.system).options]
        return command_step(f"{self.name}.{text.name}", words, [output])

    def _is_of_seed(self, language_models: int = 0) -> bool:
        """Return whether the table, or an ini with ``language_models`` models, is made per seed."""
        names = (*self.system.models, *self.system.language_models[:language_models])
        return self.plan.settings.has_per_seed(names)

    def _scored(self, name: str) -> Path:
        """Return a file in the folder of the row whose phrase table this run uses."""
        begin = f"seed{self.seed}." if self._is_of_seed() else ""
        return self.plan.folder(self.plan.scored_system(self.system)) / f"{begin}{name}"

    def _ini(self, language_models: int) -> Path:
        """Return the untuned moses.ini with the row's first ``language_models`` models added."""
        if language_models:
            begin = f"seed{self.seed}." if self._is_of_seed(language_models) else ""
            model = self.system.language_models[language_models - 1]
            return self.plan.folder(self.system) / f"{begin}moses.{model}.ini"
        return self._scored("moses.ini") if self.system.models else self.plan.base

    def _add_columns(self) -> Iterator[CommandStep]:
        """Yield the steps that add the models' columns to the phrase table and the moses.ini."""
        plan, system, table = self.plan, self.system, self._scored("phrase-table.gz")
        models = [plan.model_folder(name, self.seed) for name in system.models]
        name = slug(plan.scored_system(system).name)
        ending = f".seed{self.seed}" if self._is_of_seed() else ""
        report = self._scored("score.json")
        words: Words = [PROGRAM, "score", *_repeated("--model", models)]
        words += ["--unknown-column"] if system.unknown_column else []
        words += ["--unknown", system.unknown] if system.unknown != "whole" else []
        words += [plan.filtered_table, "-o", table, "--json-file", report]
        yield command_step(f"{name}.score{ending}", words, [table, report])
        ini = self._scored("moses.ini")
        words = [PROGRAM, "ini", "add-column", plan.base, "--table", table]
        words += ["--absolute-paths", "-o", ini]
        yield command_step(f"{name}.ini{ending}", words, [ini])

    def _add_language_model(self, count: int) -> CommandStep:
        """Return the step that adds language model ``count`` (from 0) to the moses.ini."""
        name = self.system.language_models[count]
        before, after = self._ini(count), self._ini(count + 1)
        model = self.plan.model_folder(name, self.seed)
        unnormalised = self.plan.settings.models[name].unnormalised
        words: Words = [PROGRAM, "ini", "add-language-model", before, "--model", model]
        words += ["--unnormalised" if unnormalised else "--normalised"]
        words += ["--absolute-paths", "-o", after]
        ending = f".seed{self.seed}" if self._is_of_seed(count + 1) else ""
        return command_step(f"{slug(self.system.name)}.ini.{name}{ending}", words, [after])

    def _tune(self) -> CommandStep:
        """Return the step that tunes the weights."""
        settings, dev, folder = self.plan.settings, self.plan.texts[0], self.tuning_folder
        ini = self._ini(len(self.system.language_models))
        source, reference = self.plan.data(dev.source), self.plan.data(dev.reference)
        tuning, decoder = settings.tuning, settings.decoder
        words: Words = [PROGRAM, "tune", ini, "--source", source, "--reference", reference]
        words += ["-o", folder, "--decoder", decoder.kind, "--threads", decoder.threads]
        words += ["--moses-bin", str(self.plan.moses)] if self.plan.moses else []
        words += ["--optimizer", tuning.optimizer, "--seed", self.seed, "--rounds", tuning.rounds]
        words += ["--nbest-size", tuning.nbest_size, *tuning.options]
        outputs = [folder / "moses.ini", folder / "weights.json"]
        return command_step(f"{self.name}.tune", words, outputs, self._models(), state=folder)

    def _models(self) -> tuple[Path, ...]:
        """Return the files and folders that the moses.ini names."""
        made = (self._scored("phrase-table.gz"),) if self.system.models else ()
        asked = (self.plan.model_folder(name, self.seed) for name in self.system.language_models)
        return (self.plan.system_folder, *made, *asked, *self.plan.named_by_system)

    def _decode(self, text: ExperimentText) -> CommandStep:
        """Return the step that translates a text with the tuned weights."""
        output = self.translation(text.name)
        return self._decoding("", text, str(output), output, [])

    def _nbest(self, text: ExperimentText) -> Path:
        """Return the file of a text's n-best list; real Moses cannot compress it."""
        return self._own(f"{text.name}.nbest" + ("" if self.plan.moses else ".gz"))

    def _list(self, text: ExperimentText) -> CommandStep:
        """Return the step that writes a text's n-best list, shared by all rows that rescore it.

        The options of the list must not depend on which of these rows are selected to run;
        otherwise another selection would repeat the step.
        """
        plan, settings, output = self.plan, self.plan.settings, self._nbest(text)
        size = str(settings.rerank.nbest_size or settings.tuning.nbest_size)
        dashes = "-" if plan.moses else "--"
        options = ["--nbest", str(output), "--nbest-size", size]
        if plan.moses:
            options = ["-n-best-list", "-", size, "distinct"]
        rows = (row for row in settings.systems if row.rerank and row.may_be_tuned)
        if any(plan.tuned_system(row) == self.system and plan.scores_phrases(row) for row in rows):
            options.append(f"{dashes}include-segmentation-in-n-best")
        # decode always writes translations; here they only repeat the lists' first candidates
        return self._decoding(".nbest", text, os.devnull, output, options)

    def _decoding(
        self, ending: str, text: ExperimentText, best: str, output: Path, options: list[str]
    ) -> CommandStep:
        name = f"{self.name}.{text.name}{ending}"
        plan, ini = self.plan, self.tuning_folder / "moses.ini"
        source, threads = plan.data(text.source), plan.settings.decoder.threads
        if plan.moses:
            words: Words = [str(plan.moses), "-f", ini, *options, "-input-file", source]
            words += ["-threads", threads]
            return command_step(name, words, [output], self._models(), standard_output=output)
        words = [PROGRAM, "decode", ini, "-i", source, "-o", best, *options, "--threads", threads]
        return command_step(name, words, [output], self._models())

    def _rescored(self, text: ExperimentText) -> Path:
        return self._own(f"{text.name}.rescored.gz")

    def _rescore(self, text: ExperimentText) -> CommandStep:
        """Return the step that adds the scores of the row's own models to an n-best list."""
        plan, names, output = self.plan, self.system.rerank, self._rescored(text)
        listed = self.tuned._nbest(text)
        models = [plan.model_folder(name, self.seed) for name in names]
        # a language model needs only the candidates, not the source
        reads_source = any(plan.kind(name).reads_source for name in names)
        sources = [plan.data(text.source)] if reads_source else []
        tables = [plan.filtered_table] if plan.scores_phrases(self.system) else []
        words: Words = [PROGRAM, "nbest", *_repeated("--model", models)]
        words += [*_repeated("--name", self._feature_names()), listed]
        words += [*_repeated("--source", sources), *_repeated("--table", tables), "-o", output]
        return command_step(f"{self.name}.{text.name}.rescore", words, [output])

    def _feature_names(self) -> list[str]:
        """Return names for the new features; empty if the default names are still free."""
        taken = {feature.name for feature in self.plan.ini.features}
        for _ in self.system.language_models:
            taken.add(next_name(taken))
        usual: list[str] = []
        names: list[str] = []
        for name in self.system.rerank:
            feature = self.plan.kind(name).feature
            usual.append(next_name(usual, feature))
            names.append(next_name({*taken, *names}, feature))
        return [] if names == usual else names

    def _optimize(self, dev: ExperimentText) -> CommandStep:
        """Return the step that optimises the weights of all features of the rescored list."""
        settings, threads = self.plan.settings.rerank, self.plan.settings.decoder.threads
        rescored, reference = self._rescored(dev), self.plan.data(dev.reference)
        words: Words = [PROGRAM, "optimize", "--nbest", rescored, "--reference", reference]
        words += ["--start", self.tuning_folder / "weights.json"]
        words += ["--optimizer", settings.optimizer, "--seed", self.seed, "--threads", threads]
        words += [*settings.options, "-o", self.weights]
        return command_step(f"{self.name}.{dev.name}.optimize", words, [self.weights])

    def _rerank(self, text: ExperimentText) -> CommandStep:
        """Return the step that chooses the translations of a text from its rescored list."""
        output = self.translation(text.name)
        words: Words = [PROGRAM, "rerank", self._rescored(text), "--weights", self.weights]
        words += ["--source", self.plan.data(text.source), "-o", output]
        return command_step(f"{self.name}.{text.name}", words, [output])
