"""What an experiment file may say: one closed record, read from TOML."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError, did_you_mean
from tuning.loop.tuning_settings import DecoderName
from tuning.optimizers.optimizer_settings import OptimizerName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class ExperimentData:
    """The system that is improved, and the texts; relative to ``folder``.

    Args:
        folder: Where every command runs, so that relative paths of the ini mean what they mean
            there; relative to the experiment file.
        system: The untuned moses.ini.
        phrase_table: The whole table that models are trained on; empty if no model is trained.
        dev_source: The text that weights are tuned on.
        dev_reference: Its translation.
        test_source: The text that weights have not seen.
        test_reference: Its translation.
    """

    folder: str
    system: str
    dev_source: str
    dev_reference: str
    test_source: str
    test_reference: str
    phrase_table: str = ""


@dataclass(frozen=True)
class ExperimentDecoder:
    """What translates, and how hard it searches.

    Args:
        kind: The decoder of this package, or real Moses.
        program: The moses binary or its folder; empty: MOSES_BIN, or on PATH.
        threads: Sentences at a time.
        sections: Of the moses.ini, by name, e.g. ``search-algorithm``; both decoders obey them.
    """

    kind: DecoderName = "embedded"
    program: str = ""
    threads: int = 1
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ExperimentTuning:
    """How weights are found.

    Args:
        optimizer: As in ``phrasescore tune``.
        rounds: Most rounds of tuning.
        nbest_size: Candidates of each sentence and round.
        options: More options of ``phrasescore tune``.
    """

    optimizer: OptimizerName = "mert"
    rounds: int = 8
    nbest_size: int = 100
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentModel:
    """One model: made here, or there already.

    Args:
        name: What systems call it.
        folder: A model folder that exists; relative to the experiment file. Empty: it is trained.
        train: Options of ``phrasescore train``.
    """

    name: str
    folder: str = ""
    train: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentSystem:
    """One row of the table.

    Args:
        name: What the table calls it.
        models: Whose scores it has, one column each; none is the system as it came.
        unknown_column: Whether it counts words outside the first model's shortlists (the paper's
            WP).
        not_run: Why the row stays empty; empty for a row that is run.
        paper_dev: BLEU of this row in the paper, for the reader; 0 where it has none.
        paper_test: The same on its test set.
    """

    name: str
    models: tuple[str, ...] = ()
    unknown_column: bool = False
    not_run: str = ""
    paper_dev: float = 0.0
    paper_test: float = 0.0


@dataclass(frozen=True)
class ExperimentSettings:
    """The whole file.

    Args:
        name: The heading of the table.
        seeds: Of tuning; each row is the mean over them.
        data: System and texts.
        decoder: What translates.
        tuning: How weights are found.
        models: By which systems differ.
        systems: The rows; the first is what the others are compared with.
        file: The experiment file.
    """

    name: str
    data: ExperimentData
    systems: tuple[ExperimentSystem, ...]
    seeds: tuple[int, ...] = (1, 2, 3)
    decoder: ExperimentDecoder = ExperimentDecoder()
    tuning: ExperimentTuning = ExperimentTuning()
    models: tuple[ExperimentModel, ...] = ()
    file: Path = field(default_factory=Path)

    def model(self, name: str) -> ExperimentModel:
        """Return the model that a system names."""
        return next(model for model in self.models if model.name == name)

    @property
    def folder(self) -> Path:
        """The absolute folder that commands run in."""
        return self.resolve(self.data.folder)

    def resolve(self, path: str) -> Path:
        """Return a path of the file as an absolute one."""
        return (self.file.absolute().parent / path).resolve()


def read_experiment(path: str | Path) -> ExperimentSettings:
    """Read an experiment file.

    Raises:
        InputError: It cannot be read, or is not TOML.
        SettingsError: A key is unknown, missing or of another type, or parts contradict.
    """
    try:
        content = Path(path).read_bytes().decode("utf-8")
        values = tomllib.loads(content)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    except ValueError as error:
        raise InputError(f"not an experiment file in TOML ({error})", path=path) from None
    return dataclasses.replace(_parsed(values, str(path)), file=Path(path))


def _parsed(values: Mapping[str, Any], where: str) -> ExperimentSettings:
    if "file" in values:
        raise SettingsError(f"{where}: unknown setting file")
    table = dict(values)
    models = _models(table.pop("models", {}), f"{where}: [models")
    decoder = _decoder(table.pop("decoder", {}), f"{where}: [decoder]")
    settings = from_mapping(ExperimentSettings, table, where=where)
    settings = dataclasses.replace(settings, models=models, decoder=decoder)
    if not settings.systems:
        raise SettingsError(f"{where}: at least one system is needed")
    _check(settings, where)
    return settings


def _table(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise SettingsError(f"{where} is {values!r}, expected a table of settings")
    return dict(values)


def _decoder(values: Any, where: str) -> ExperimentDecoder:
    table = _table(values, where)
    sections = _table(table.pop("sections", {}), f"{where}: sections")
    for key, value in sections.items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise SettingsError(f"{where}: {key} is {value!r}, expected a number or text")
    pairs = tuple((key, str(value)) for key, value in sections.items())
    return dataclasses.replace(from_mapping(ExperimentDecoder, table, where=where), sections=pairs)


def _models(values: Any, where: str) -> tuple[ExperimentModel, ...]:
    models = []
    for name, section in _table(values, f"{where}]").items():
        if not _MODEL_NAME.fullmatch(name):
            raise SettingsError(f"{where}.{name}]: use letters, digits, '-' and '_' in the name")
        place = f"{where}.{name}]"
        model = {"name": name, **_table(section, place)}
        models.append(from_mapping(ExperimentModel, model, where=place))
    return tuple(models)


def _check(settings: ExperimentSettings, where: str) -> None:
    _distinct([system.name for system in settings.systems], f"{where}: two systems are called")
    _distinct(list(settings.seeds), f"{where}: seeds has twice")
    if not settings.seeds:
        raise SettingsError(f"{where}: seeds is empty, so there is nothing to tune")
    if settings.systems[0].not_run:
        raise SettingsError(f"{where}: the first system is what the others are compared with")
    names = [model.name for model in settings.models]
    for system in settings.systems:
        for name in system.models:
            if name not in names:
                raise SettingsError(
                    f"{where}: {system.name} names the model {name}, which is not described"
                    f"{did_you_mean(name, names)}",
                    remedy=f"add a section [models.{name}]",
                )
        if system.unknown_column and not system.models:
            raise SettingsError(
                f"{where}: {system.name} counts unknown words but names no model, whose words "
                "they would be"
            )
    for model in settings.models:
        if not model.folder and not settings.data.phrase_table:
            raise SettingsError(
                f"{where}: the model {model.name} is to be trained, but [data] names no "
                "phrase_table"
            )
    if min(settings.decoder.threads, settings.tuning.rounds, settings.tuning.nbest_size) < 1:
        raise SettingsError(f"{where}: threads, rounds and nbest_size are at least 1")


def _distinct(values: Sequence[object], problem: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise SettingsError(f"{problem} {value}")
