"""``rescoring.json`` in the folder of a system: what chooses among the candidates of the search.

The search has the weights of the moses.ini. Then models and programs score the best candidates of
each sentence, and a second set of weights, for the features of the n-best list and these scores,
chooses the translation. Two sets are needed, because weights that were tuned with such scores
search badly without them.

A folder from somebody else may be untrusted. So the file names only models in the same folder, and
it names no program: the user gives the command of a program.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.edits import TUNABLE_NAME, next_name
from moses_integration.ini.feature_weights import FeatureLayout
from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import IniError, InputError, ModelError, SettingsError
from phrasescore.model.folder import DIGESTS, copy_model, read_digests, read_kind
from phrasescore.runs.identity import sha256_of
from phrasescore.runs.json_files import read_object, write_json
from phrasescore.runs.results import Number

RESCORING = "rescoring.json"
_MODELS = "models"


@dataclass(frozen=True)
class RescoringModel:
    """A model of sentences or phrases whose scores are a feature.

    Args:
        name: The name of the feature.
        folder: The folder of the model, relative to the folder of the system.
        digest: The digest of the model, as in ``LoadedModel.digest``.
    """

    name: str
    folder: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Rescoring:
    """The content of ``rescoring.json``.

    Args:
        candidates: The maximum number of distinct candidates of a sentence.
        weights: The second weights: of all features in n-best lists, then of the scores below.
        models: The models, whose features come first.
        scorers: The names of the features that programs of the user compute.
        version: The version of the format.

    Raises:
        SettingsError: A name is invalid or not unique, or there are no scores.
    """

    candidates: Annotated[int, Between(1, 10_000)]
    weights: dict[str, tuple[Number, ...]]
    models: tuple[RescoringModel, ...] = ()
    scorers: tuple[str, ...] = ()
    version: Literal[1] = 1

    def __post_init__(self) -> None:
        check_names(self.names)
        if not self.names:
            raise SettingsError("it has no models and no scorers")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features that are not in the list of the search."""
        return (*(model.name for model in self.models), *self.scorers)

    @classmethod
    def read(cls, system: str | Path) -> Rescoring | None:
        """Read the file of a system; ``None`` if it has none, or if no folder is named.

        Raises:
            InputError: The file is no JSON.
            SettingsError: The file has another content.
        """
        path = Path(system, RESCORING)
        if not (str(system) and Path(system).is_dir() and os.path.lexists(path)):
            return None
        try:
            _refuse_outside(Path(system), path)
            return from_mapping(cls, read_object(path), where="not rescoring that can be used")
        except SettingsError as error:
            raise error.at(path) from None
        except (ValueError, OSError) as error:
            raise InputError(f"the file is not valid JSON ({error})", path=path) from None

    def write(self, system: Path) -> None:
        """Write the file into the folder of a system, atomically."""
        write_json(system / RESCORING, dataclasses.asdict(self))

    def folders(self, system: Path) -> list[Path]:
        """Return the folders of the models after a check that they are those of this file.

        Raises:
            SettingsError: A path leads out of the folder of the system.
            ModelError: A model is missing, or was replaced by another one.
        """
        folders = []
        for model in self.models:
            path = system / model.folder
            if PurePath(model.folder).is_absolute() or ".." in PurePath(model.folder).parts:
                raise _outside(path)
            for each in (path, *(path.iterdir() if path.is_dir() else ())):
                _refuse_outside(system, each)
            read_digests(path)
            if sha256_of(path / DIGESTS) != model.digest:
                raise ModelError(
                    f"this is not the model {model.name} that {RESCORING} was tuned with",
                    path=path,
                    remedy="copy the model again, or tune the system with this one: phrasescore "
                    "tune --rescore",
                )
            folders.append(path)
        return folders

    def commands(
        self, given: Mapping[str, str], system: Path, option: str = "--scorer"
    ) -> dict[str, str]:
        """Return the command of each program by the name of its feature.

        Raises:
            SettingsError: A command is missing; the error names the command-line option.
        """
        for name in self.scorers:
            if name not in given:
                problem = f"a program must score the candidates for the feature {name}"
                remedy = f"name it: {option} {name}='COMMAND'"
                raise SettingsError(problem, path=system / RESCORING, remedy=remedy)
        return {name: given[name] for name in self.scorers}

    def flat_weights(self, layout: FeatureLayout, system: str | Path) -> NDArray[np.float64]:
        """Return (F,) the second weights in the order of the list, with the new features last.

        Args:
            layout: The features of the search.
            system: The folder, for errors.

        Raises:
            IniError: A feature has no weight or a wrong number of weights, or a weight no feature.
        """
        sizes = {each.name: each.components for each in layout.nbest.features}
        try:
            check_names(self.names, sizes)
            sizes |= dict.fromkeys(self.names, 1)
            return FeatureLayout.from_sizes(sizes).flatten(self.weights)
        except (IniError, SettingsError) as error:
            error.remedy = "tune the system again: phrasescore tune --rescore"
            raise error.at(str(Path(system, RESCORING))) from None


def names_by_kind(models: Iterable[str | Path], taken: Iterable[str] = ()) -> list[str]:
    """Return names for the features of models, such as ``AttentionModel0``.

    Args:
        models: The folders of the models.
        taken: Names that are not free.
    """
    names: list[str] = []
    for model in models:
        names.append(next_name([*taken, *names], read_kind(model).feature))
    return names


def check_names(names: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Refuse names that the features of scores cannot have.

    Args:
        names: The names.
        taken: The names of the other features of the system.

    Raises:
        SettingsError: A name has other characters than letters and digits, or is not unique.
    """
    names = list(names)
    for name in names:
        if not TUNABLE_NAME.fullmatch(name):
            raise SettingsError(
                f"{name!r} cannot be the name of a feature",
                remedy="use letters and digits only, a letter first, as mert-moses.pl requires",
            )
        if [*names, *taken].count(name) > 1:
            raise SettingsError(f"two features have the name {name}", remedy="give each its own")


def _refuse_outside(system: Path, path: Path) -> None:
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(system)):
        raise _outside(path)


def _outside(path: Path) -> SettingsError:
    return SettingsError(
        f"{RESCORING} may name only folders inside the folder of its system",
        path=path,
        remedy="copy the model there, and name it by its relative path",
    )


def place_model(model: Path, name: str, system: Path) -> RescoringModel:
    """Copy a model into the folder of a system, unless it is there.

    Raises:
        ModelError: The model is damaged.
        SettingsError: Another model has this name there.
    """
    place = Path(_MODELS, name)
    copy_model(model, system / place)
    return RescoringModel(name, place.as_posix(), sha256_of(model / DIGESTS))


def carry_rescoring(system: str | Path, folder: Path) -> None:
    """Copy ``rescoring.json`` and its models to the folder of another ini of the system.

    Raises:
        PhrasescoreError: The file or a model cannot be used.
    """
    rescoring = Rescoring.read(system)
    if rescoring is None:
        return
    found = zip(rescoring.models, rescoring.folders(Path(system)), strict=True)
    placed = tuple(place_model(path, model.name, folder) for model, path in found)
    dataclasses.replace(rescoring, models=placed).write(folder)
