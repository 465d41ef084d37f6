"""Which file is where: the data of an experiment, and all that its steps leave behind.

Everything that is made is in the folder of results:

* ``system/``: the untuned system, its tables filtered to all texts;
* ``models/NAME/``: what was trained, or ``models/NAME/seedN/``, a model for each seed;
* ``systems/NAME/``: ``phrase-table.gz`` and ``moses.ini`` with the columns of the system,
  ``moses.MODEL.ini`` with a language model more, each with ``seedN.`` before its name where a
  model is another for each seed; ``seedN/`` from tuning, ``seedN.TEXT.txt``, the translations; of
  a system whose n-best lists are rescored, ``seedN.TEXT.nbest`` or ``.nbest.gz``; of one that
  rescores them, ``seedN.TEXT.rescored.gz`` and ``seedN.weights.json``; of models alone,
  ``TEXT.txt``, or ``seedN.TEXT.txt`` where a model is another for each seed;
* ``steps/``: a stamp and a log for each step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import path_keys
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.tables.filtering import filtered_name
from phrasescore.errors import SettingsError
from phrasescore.model.kinds import Kind, kind_named
from phrasescore.runs.json_files import read_object
from tuning.experiment.experiment_settings import (
    SEED,
    ExperimentSettings,
    ExperimentSystem,
    ExperimentText,
)

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def slug(name: str) -> str:
    """Return a system's name as a folder's.

    >>> slug("RNN, short lists + WP")
    'rnn-short-lists-wp'
    """
    return _NOT_IN_NAMES.sub("-", name.lower()).strip("-") or "system"


@dataclass(frozen=True)
class ResultFiles:
    """The files of an experiment.

    Args:
        settings: What is compared.
        results: An absolute folder.
        moses: The binary, where real Moses decodes.
    """

    settings: ExperimentSettings
    results: Path
    moses: Path | None = None

    def data(self, path: str) -> Path:
        """A file that ``[data]`` names."""
        return self.settings.folder / path

    @property
    def texts(self) -> tuple[ExperimentText, ...]:
        """The dev set and the test sets."""
        return self.settings.data.texts

    @property
    def system_folder(self) -> Path:
        """The filtered system."""
        return self.results / "system"

    @property
    def base(self) -> Path:
        """The ini of the filtered system."""
        return self.system_folder / "moses.ini"

    @property
    def filtered_table(self) -> Path:
        """The phrase table of the filtered system, which filtering calls as the ini does."""
        ini = MosesIni.read(self.data(self.settings.data.system))
        tables = [feature for feature in ini.features if feature.kind in TEXT_TABLE_KINDS]
        if len(tables) != 1:
            raise SettingsError(
                f"{len(tables)} phrase tables in text form, expected one",
                path=ini.path,
                remedy="give the ini of the text table, before it is made binary",
            )
        return self.system_folder / filtered_name(ini, tables[0])

    @cached_property
    def feature_names(self) -> frozenset[str]:
        """What the features of the untuned system are called."""
        ini = MosesIni.read(self.data(self.settings.data.system))
        return frozenset(feature.name for feature in ini.features)

    @cached_property
    def named_by_system(self) -> tuple[Path, ...]:
        """The files that the untuned ini names, with the data's folder as current directory."""
        found = []
        for feature in MosesIni.read(self.data(self.settings.data.system)).features:
            for key in path_keys(feature):
                path = self.settings.folder / feature.options[key]
                zipped = path.with_name(f"{path.name}.gz")
                found += [file for file in (path, zipped) if file.exists()]
        return tuple(found)

    def model_folder(self, name: str, seed: int | None = None) -> Path:
        """The folder of a model, made here or given; the seed counts if there is one for each."""
        model = self.settings.model(name)
        if model.folder:
            return self.settings.resolve(model.folder.replace(SEED, str(seed)))
        folder = self.results / "models" / name
        return folder / f"seed{seed}" if model.per_seed else folder

    def kind(self, name: str) -> Kind:
        """The kind of a model: of one that is given, what its folder says.

        Raises:
            SettingsError: The folder says what this version does not know.
        """
        model = self.settings.model(name)
        if not model.folder:
            return model.described_kind
        folder = self.model_folder(name, self.settings.seeds[0])
        try:
            said = read_object(folder / "config.json")["kind"]
        except (OSError, ValueError, LookupError):
            return model.described_kind  # the step that reads it says what is wrong with it
        try:
            return kind_named(str(said))
        except SettingsError as error:
            raise error.at(folder) from None

    def folder(self, system: ExperimentSystem) -> Path:
        """The folder of a system's files."""
        return self.results / "systems" / slug(system.name)

    def tuned_system(self, system: ExperimentSystem) -> ExperimentSystem:
        """The row whose columns and tuning a row uses: its own, or that of one with the same.

        A row that rescores n-best lists takes them from the first row with its columns that does
        not, or else from the first that does.
        """
        if not system.rerank:
            return system
        same = [
            other
            for other in self.settings.systems
            if other.features == system.features and other.may_be_tuned
        ]
        return min(same, key=lambda other: bool(other.rerank))

    def scored_system(self, system: ExperimentSystem) -> ExperimentSystem:
        """The row whose table a row uses: the first that is tuned with the same columns."""
        same = [
            other
            for other in self.settings.systems
            if other.columns == system.columns and other.may_be_tuned
        ]
        return min(same, key=lambda other: bool(other.rerank))

    def columns_of(self, system: ExperimentSystem, seed: int | None) -> Path:
        """The phrase table with the columns of a system."""
        begin = self._seed_mark(system.models, seed)
        return self.folder(self.scored_system(system)) / f"{begin}phrase-table.gz"

    def score_report_of(self, system: ExperimentSystem, seed: int | None) -> Path:
        """What scoring the phrase table of a system took and found."""
        begin = self._seed_mark(system.models, seed)
        return self.folder(self.scored_system(system)) / f"{begin}score.json"

    def ini(self, system: ExperimentSystem, seed: int | None, language_models: int = -1) -> Path:
        """The untuned ini of a system, with all its language models or the first few."""
        known = system.language_models
        if language_models >= 0:
            known = known[:language_models]
        begin = self._seed_mark((*system.models, *known), seed)
        if known:
            return self.folder(system) / f"{begin}moses.{known[-1]}.ini"
        if system.models:
            return self.folder(self.scored_system(system)) / f"{begin}moses.ini"
        return self.base

    def _seed_mark(self, names: Iterable[str], seed: int | None) -> str:
        return f"seed{seed}." if self.settings.has_per_seed(names) else ""

    def tuning_folder(self, system: ExperimentSystem, seed: int) -> Path:
        """The work folder of one tuning."""
        return self.folder(self.tuned_system(system)) / f"seed{seed}"

    def nbest(self, system: ExperimentSystem, seed: int, text: str) -> Path:
        """The n-best list of the tuned system; real Moses prints it as it is."""
        name = f"seed{seed}.{text}.nbest" + ("" if self.moses else ".gz")
        return self.folder(self.tuned_system(system)) / name

    def rescored(self, system: ExperimentSystem, seed: int, text: str) -> Path:
        """The n-best list with the scores of the system's own models."""
        return self.folder(system) / f"seed{seed}.{text}.rescored.gz"

    def weights(self, system: ExperimentSystem, seed: int) -> Path:
        """The weights that a system translates with."""
        if system.rerank:
            return self.folder(system) / f"seed{seed}.weights.json"
        return self.tuned_weights(system, seed)

    def tuned_weights(self, system: ExperimentSystem, seed: int) -> Path:
        """The weights that tuning found."""
        return self.tuning_folder(system, seed) / "weights.json"

    def translation(self, system: ExperimentSystem, seed: int | None, text: str) -> Path:
        """The file with a system's translation of a text; no seed where nothing is tuned."""
        begin = "" if seed is None else f"seed{seed}."
        return self.folder(system) / f"{begin}{text}.txt"

    def run_name(self, system: ExperimentSystem, seed: int | None) -> str:
        """What the names of the steps of one run begin with."""
        return slug(system.name) + ("" if seed is None else f".seed{seed}")
