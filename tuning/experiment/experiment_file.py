"""An experiment file: one closed record, read from TOML, and the rules for its parts."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError, did_you_mean, visible
from phrasescore.model.kinds import KINDS, Kind
from phrasescore.model.model_settings import FeedForwardLmSettings
from phrasescore.runs.json_files import MAX_LEVELS, is_too_deep
from phrasescore.table.input_files import open_input
from tuning.experiment.experiment_settings import (
    DEV,
    SEED,
    TRAINING_DATA,
    ExperimentData,
    ExperimentDecoder,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def read_experiment(path: str | Path) -> ExperimentSettings:
    """Read an experiment file.

    Raises:
        InputError: It cannot be read, or is not TOML.
        SettingsError: A key is unknown, missing or of another type, or parts contradict.
    """
    try:
        with open_input(path) as stream:
            content = stream.read().decode("utf-8")
        # the parser's time is the square of a key's parts
        if any(line.partition("=")[0].count(".") > MAX_LEVELS for line in content.split("\n")):
            raise _too_deep(str(path))
        values = _bounded(tomllib.loads(content), str(path))
    except ValueError as error:
        raise InputError(f"not an experiment file in TOML ({error})", path=path) from None
    except RecursionError:
        raise _too_deep(str(path)) from None
    return dataclasses.replace(_parsed(values, str(path)), file=Path(path))


def _bounded(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return values that the rest of the program can walk through and write into names of files.

    Raises:
        InputError: They are nested too deep.
        SettingsError: There is a NUL in a text.
    """
    if is_too_deep(values):
        raise _too_deep(where)
    level: list[Any] = [values]
    while level:
        for text in level:
            if isinstance(text, str) and "\0" in text:
                raise SettingsError(
                    f"{where}: {text[:50]!r} has a NUL in it, which no file or option can have"
                )
        level = [inner for each in level for inner in _parts(each)]
    return values


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _too_deep(where: str) -> InputError:
    return InputError(
        f"not an experiment file in TOML (it is nested more than {MAX_LEVELS} levels deep)",
        path=where,
    )


def _parsed(values: Mapping[str, Any], where: str) -> ExperimentSettings:
    if "file" in values:
        raise SettingsError(f"{where}: unknown setting file")
    table = dict(values)
    models = _models(table.pop("models", {}), f"{where}: [models")
    decoder = _decoder(table.pop("decoder", {}), f"{where}: [decoder]")
    settings = from_mapping(ExperimentSettings, table, where=where)
    settings = dataclasses.replace(settings, models=models, decoder=decoder)
    check(settings, where)
    return settings


def _table(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise SettingsError(f"{where} is {str(values)[:50]!r}, expected a table of settings")
    return dict(values)


def _decoder(values: Any, where: str) -> ExperimentDecoder:
    table = _table(values, where)
    sections = _table(table.pop("sections", {}), f"{where}: sections")
    for key, value in sections.items():
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise SettingsError(f"{where}: {key} is {str(value)[:50]!r}, expected a number or text")
    pairs = tuple((key, str(value)) for key, value in sections.items())
    return dataclasses.replace(from_mapping(ExperimentDecoder, table, where=where), sections=pairs)


def _models(values: Any, where: str) -> tuple[ExperimentModel, ...]:
    models = []
    for name, section in _table(values, f"{where}]").items():
        if not _MODEL_NAME.fullmatch(name):
            shown = visible(name.encode("utf-8", "backslashreplace"), 50)
            raise SettingsError(
                f"{where}.{shown}]: use letters, digits, '-' and '_' in the name, at most 100"
            )
        place = f"{where}.{name}]"
        model = {"name": name, **_table(section, place)}
        models.append(from_mapping(ExperimentModel, model, where=place))
    return tuple(models)


_LONGEST_NAME = 100  # characters; names become parts of names of files
_TEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NOT_IN_MOSES = (
    "real Moses cannot ask a neural language model; the embedded decoder can, and rerank chooses "
    "among Moses's n-best lists with it"
)
# the steps of a system are called after its texts, and one after what it does
_TAKEN_NAMES = (DEV, "tune")


def check(settings: ExperimentSettings, where: str) -> None:
    """Check a whole file.

    Args:
        settings: What it says.
        where: What to call it in an error.

    Raises:
        SettingsError: Parts of it contradict each other, or name what is not there.
    """
    if not settings.systems:
        raise SettingsError(f"{where}: at least one system is needed")
    _distinct([system.name for system in settings.systems], f"{where}: two systems are called")
    _distinct(list(settings.seeds), f"{where}: seeds has twice")
    if not settings.seeds:
        raise SettingsError(f"{where}: seeds is empty, so there is nothing to tune")
    first = settings.systems[0]
    if first.not_run or first.translate:
        raise SettingsError(
            f"{where}: the first system is what the others are compared with, so it cannot be "
            f"{'left out' if first.not_run else 'one without tuning'}"
        )
    _check_tests(settings.data, where)
    _check_paths(settings.data, where)
    for model in settings.models:
        _check_model(model, settings.data, where)
    for system in settings.systems:
        _check_system(system, settings, where)
    for name in (settings.name, *(system.name for system in settings.systems)):
        if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            raise SettingsError(
                f"{where}: nothing can be called {name[:_LONGEST_NAME]!r}",
                remedy=f"use 1 to {_LONGEST_NAME} characters that can be seen",
            )
    sizes = (settings.tuning.nbest_size, settings.rerank_size)
    if min(settings.decoder.threads, settings.tuning.rounds, *sizes) < 1:
        raise SettingsError(f"{where}: threads, rounds and nbest_size are at least 1")


def _check_paths(data: ExperimentData, where: str) -> None:
    """See whether the paths that every experiment needs say anything."""
    paths = {"folder": data.folder, "system": data.system}
    for text in data.texts:
        paths |= {f"the source of {text.name}": text.source}
        paths |= {f"the reference of {text.name}": text.reference}
    for name, path in paths.items():
        if not path:
            raise SettingsError(f"{where}: [data] has an empty path, {name}")


def _check_tests(data: ExperimentData, where: str) -> None:
    short = (data.test_source, data.test_reference)
    if data.test and any(short):
        raise SettingsError(
            f"{where}: [data] has test, and test_source or test_reference beside it",
            remedy="describe every test set in test, or only one with the other two",
        )
    if not data.test and not all(short):
        raise SettingsError(
            f"{where}: [data] names no test set",
            remedy="give test_source and test_reference, or test, a list of several",
        )
    names = [text.name for text in data.tests]
    _distinct(names, f"{where}: two test sets are called")
    for name in names:
        if not _TEXT_NAME.fullmatch(name) or name in _TAKEN_NAMES:
            raise SettingsError(
                f"{where}: a test set cannot be called {name!r}",
                remedy="use letters, digits, '-' and '_' in the name, and neither "
                + " nor ".join(_TAKEN_NAMES),
            )


def _check_model(model: ExperimentModel, data: ExperimentData, where: str) -> None:
    place = f"{where}: [models.{model.name}]"
    kinds = [kind.option for kind in KINDS]
    if model.kind not in kinds:
        raise SettingsError(
            f"{place}: {model.kind!r} is not a kind of model that this version knows"
            f"{did_you_mean(model.kind, kinds)}",
            remedy=f"the kinds are: {', '.join(kinds)}",
        )
    given = {option.partition("=")[0] for option in model.train}
    if "--kind" in given:
        raise SettingsError(
            f"{place}: the options of train give --kind",
            remedy=f'write kind = "..." in [models.{model.name}] in its place',
        )
    if model.per_seed and "--seed" in given:
        raise SettingsError(
            f"{place}: per_seed trains with the seeds of tuning, and train gives --seed beside it",
            remedy="leave one of the two out",
        )
    if model.folder:
        _check_folder(model, place)
        return
    if model.unnormalised and "--self-normalise" not in given:
        raise SettingsError(
            f"{place}: unnormalised, but train does not give --self-normalise",
            remedy='write train = ["--self-normalise", ...], or leave unnormalised out',
        )
    for name in (TRAINING_DATA[read] for read in model.described_kind.inputs):
        if not getattr(data, name):
            raise SettingsError(
                f"{where}: the model {model.name} is to be trained, but [data] names no {name}"
            )


def _check_folder(model: ExperimentModel, place: str) -> None:
    if model.per_seed != (SEED in model.folder):
        raise SettingsError(
            f"{place}: the folder {model.folder!r} has {'no ' if model.per_seed else ''}{SEED} in "
            f"it, and per_seed is {'true' if model.per_seed else 'false'}",
            remedy=f'write for one model of each seed per_seed = true and folder = "name-{SEED}"',
        )


def _check_system(system: ExperimentSystem, settings: ExperimentSettings, where: str) -> None:
    if not (math.isfinite(system.paper_dev) and math.isfinite(system.paper_test)):
        raise SettingsError(f"{where}: {system.name} has a figure of the paper that is not finite")
    names = [model.name for model in settings.models]
    for name in system.all_models:
        if name not in names:
            raise SettingsError(
                f"{where}: {system.name} names the model {name}, which is not described"
                f"{did_you_mean(name, names)}",
                remedy=f"add a section [models.{name}]",
            )
    if (system.unknown_column or system.unknown != "whole") and not system.models:
        does = "counts" if system.unknown_column else "shares p(<unk>) out among"
        raise SettingsError(
            f"{where}: {system.name} {does} unknown words but names no model, whose words "
            "they would be"
        )
    for key in ("models", "language_models", "rerank", "translate"):
        _distinct(list(getattr(system, key)), f"{where}: {system.name} has twice in {key}:")
    for key in ("models", "language_models", "rerank"):
        if system.translate and getattr(system, key):
            raise SettingsError(
                f"{where}: {system.name} has translate, models that need no system, and "
                f"{key} beside it",
                remedy="make two rows of it",
            )
    for name in system.all_models:
        model = settings.model(name)
        if not model.folder:
            check_kind(system, name, model.described_kind, where)


# which kinds of model the lists of a row may name; n-best lists are scored by any
_KINDS = {
    "models": [kind for kind in KINDS if not kind.of_sentences],
    "language_models": [kind for kind in KINDS if kind.settings is FeedForwardLmSettings],
    "translate": [kind for kind in KINDS if kind.of_sentences and kind.reads_source],
}


def check_kind(system: ExperimentSystem, name: str, kind: Kind, where: str) -> None:
    """See whether a model can do what a row has it for.

    Args:
        system: The row.
        name: One of its models.
        kind: Its kind.
        where: What to call the file in an error.

    Raises:
        SettingsError: It cannot.
    """
    for use, kinds in _KINDS.items():
        if name in getattr(system, use) and kind not in kinds:
            raise SettingsError(
                f"{where}: {system.name} has {name} in {use}, and it is of the kind {kind.option}",
                remedy=f"{use} takes {' and '.join(kind.option for kind in kinds)}; in rerank any "
                "kind may stand",
            )


def for_decoder(settings: ExperimentSettings) -> ExperimentSettings:
    """Return the settings with the rows not run that the decoder cannot run, and why.

    Raises:
        SettingsError: The first row is one of them.
    """
    if settings.decoder.kind == "embedded":
        return settings
    if settings.systems[0].language_models:
        raise SettingsError(
            f"{settings.file}: the first system has language_models, which real Moses cannot ask",
            remedy="let the file begin with a row without them, or use the embedded decoder",
        )
    systems = tuple(
        dataclasses.replace(system, not_run=_NOT_IN_MOSES)
        if system.language_models and not system.not_run
        else system
        for system in settings.systems
    )
    return dataclasses.replace(settings, systems=systems)


def _distinct(values: Sequence[object], problem: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise SettingsError(f"{problem} {value}")
