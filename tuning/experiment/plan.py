"""From what is compared to command lines: which steps, on which files, in which order.

Everything is in the folder of results:

* ``system/``: the untuned system, its tables filtered to dev and test;
* ``models/NAME/``: what was trained;
* ``systems/NAME/``: ``phrase-table.gz`` and ``moses.ini`` with the columns of the system,
  ``seedN/`` from tuning, ``seedN.dev.txt`` and ``seedN.test.txt``, the translations;
* ``steps/``: a stamp and a log for each step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.ini.table_feature import path_keys
from phrasescore.errors import SettingsError
from tuning.experiment.command import PROGRAM, Command, CommandStep
from tuning.experiment.experiment_file import ExperimentModel, ExperimentSettings, ExperimentSystem

TEXTS = ("dev", "test")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """Return a system's name as a folder's.

    >>> slug("RNN, short lists + WP")
    'rnn-short-lists-wp'
    """
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-") or "system"


@dataclass(frozen=True)
class Plan:
    """The steps of an experiment in a folder of results.

    Args:
        settings: What is compared.
        results: An absolute folder.
        moses: The binary, where real Moses decodes.
    """

    settings: ExperimentSettings
    results: Path
    moses: Path | None = None

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
        """Return all steps in the order in which one at a time would run."""
        steps = [self._filtering()]
        trained: set[str] = set()
        for system in self.settings.systems:
            if system.not_run:
                continue
            for name in system.models:
                model = self.settings.model(name)
                if not model.folder and name not in trained:
                    trained.add(name)
                    steps.append(self._training(model))
            steps += self._extending(system)
            for seed in self.settings.seeds:
                steps += self._tuning(system, seed)
        return tuple(steps)

    def folder(self, system: ExperimentSystem) -> Path:
        """The folder of a system's files."""
        return self.results / "systems" / slug(system.name)

    def translation(self, system: ExperimentSystem, seed: int, text: str) -> Path:
        """The file with a system's translation of ``dev`` or ``test``."""
        return self.folder(system) / f"seed{seed}.{text}.txt"

    def tuning_folder(self, system: ExperimentSystem, seed: int) -> Path:
        """The work folder of one tuning."""
        return self.folder(system) / f"seed{seed}"

    def tuning_step(self, system: ExperimentSystem, seed: int) -> str:
        """The name of the step that tunes."""
        return f"{slug(system.name)}.seed{seed}.tune"

    def reference(self, text: str) -> Path:
        """The file with the references of ``dev`` or ``test``."""
        return self._data(f"{text}_reference")

    def _data(self, key: str) -> Path:
        return self.settings.folder / str(getattr(self.settings.data, key))

    @property
    def _base(self) -> Path:
        return self.results / "system" / "moses.ini"

    @cached_property
    def _model_files(self) -> tuple[Path, ...]:
        """The files that the system names, with its folder as current directory."""
        found = []
        for feature in MosesIni.read(self._data("system")).features:
            for key in path_keys(feature):
                path = self.settings.folder / feature.options[key]
                zipped = path.with_name(f"{path.name}.gz")
                found += [file for file in (path, zipped) if file.exists()]
        return tuple(found)

    def _filtering(self) -> CommandStep:
        ini = self._data("system")
        command = [PROGRAM, "filter", str(ini)]
        for text in TEXTS:
            command += ["--input", str(self._data(f"{text}_source"))]
        for name, value in self.settings.decoder.sections:
            command += ["--set", f"{name}={value}"]
        texts = tuple(self._data(f"{text}_source") for text in TEXTS)
        return Command((*command, "-o", str(self._base.parent))).step(
            "filter", (ini, *texts, *self._model_files), (self._base.parent,)
        )

    def _training(self, model: ExperimentModel) -> CommandStep:
        table = self._data("phrase_table")
        folder = self.results / "models" / model.name
        command = Command(
            (PROGRAM, "train", str(table), str(folder), *model.train),
            state=folder.with_name(f"{folder.name}.training"),
        )
        return command.step(f"train.{model.name}", (table,), (folder,))

    def model_folder(self, name: str) -> Path:
        """The folder of a model, made here or given."""
        model = self.settings.model(name)
        if model.folder:
            return self.settings.resolve(model.folder)
        return self.results / "models" / name

    def _extending(self, system: ExperimentSystem) -> Iterator[CommandStep]:
        """Yield the steps that give a system its columns; none for the system as it came."""
        if not system.models:
            return
        table = self.folder(system) / "phrase-table.gz"
        filtered = self._base.parent / f"{self._table_name()}.gz"
        models = [self.model_folder(name) for name in system.models]
        command = [PROGRAM, "score"]
        for model in models:
            command += ["--model", str(model)]
        if system.unknown_column:
            command.append("--unknown-column")
        yield Command((*command, str(filtered), "-o", str(table))).step(
            f"{slug(system.name)}.score", (self._base.parent, *models), (table,)
        )
        ini = self.folder(system) / "moses.ini"
        adding = (PROGRAM, "ini", "add-column", str(self._base), "--table", str(table))
        yield Command((*adding, "--absolute-paths", "-o", str(ini))).step(
            f"{slug(system.name)}.ini", (self._base, table), (ini,)
        )

    def _table_name(self) -> str:
        """The name of the one phrase table, which filtering calls its file."""
        ini = MosesIni.read(self._data("system"))
        names = [feature.name for feature in ini.features if feature.kind in TEXT_TABLE_KINDS]
        if len(names) != 1:
            raise SettingsError(
                f"{len(names)} phrase tables in text form, expected one",
                path=ini.path,
                remedy="give the ini of the text table, before it is made binary",
            )
        return names[0]

    def _tuning(self, system: ExperimentSystem, seed: int) -> Iterator[CommandStep]:
        settings = self.settings
        ini = self.folder(system) / "moses.ini" if system.models else self._base
        made = (self.folder(system) / "phrase-table.gz",) if system.models else ()
        folder = self.tuning_folder(system, seed)
        tuned = folder / "moses.ini"
        source, reference = self._data("dev_source"), self._data("dev_reference")
        command = [PROGRAM, "tune", str(ini), "--source", str(source)]
        command += ["--reference", str(reference), "-o", str(folder), *self._decoder_options()]
        command += ["--optimizer", settings.tuning.optimizer, "--seed", str(seed)]
        command += ["--rounds", str(settings.tuning.rounds)]
        command += ["--nbest-size", str(settings.tuning.nbest_size), *settings.tuning.options]
        tables = (self._base.parent, *made, *self._model_files)
        yield Command(tuple(command), state=folder).step(
            self.tuning_step(system, seed),
            (ini, *tables, source, reference),
            (tuned, folder / "weights.json"),
        )
        for text in TEXTS:
            yield self._decoding(system, seed, text, (tuned, *tables))

    def _decoder_options(self) -> list[str]:
        decoder = self.settings.decoder
        options = ["--decoder", decoder.kind, "--threads", str(decoder.threads)]
        return [*options, "--moses-bin", str(self.moses)] if self.moses else options

    def _decoding(
        self, system: ExperimentSystem, seed: int, text: str, inputs: tuple[Path, ...]
    ) -> CommandStep:
        source = self._data(f"{text}_source")
        output = self.translation(system, seed, text)
        threads, ini = str(self.settings.decoder.threads), str(inputs[0])
        if self.moses is None:
            files = ["-i", str(source), "-o", str(output)]
            command = [PROGRAM, "decode", ini, *files, "--threads", threads]
        else:
            flags = ["-input-file", str(source), "-threads", threads]
            command = [str(self.moses), "-f", ini, *flags]
        printed = None if self.moses is None else output
        return Command(tuple(command), printed).step(
            f"{slug(system.name)}.seed{seed}.{text}", (*inputs, source), (output,)
        )
