"""An experiment file: one closed record, read from TOML."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError, visible
from phrasescore.runs.json_files import MOST_LEVELS, is_too_deep
from phrasescore.table.input_files import open_input
from tuning.experiment.experiment_checks import check
from tuning.experiment.experiment_settings import (
    ExperimentDecoder,
    ExperimentModel,
    ExperimentSettings,
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
        if any(line.partition("=")[0].count(".") > MOST_LEVELS for line in content.split("\n")):
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
        f"not an experiment file in TOML (it is nested more than {MOST_LEVELS} levels deep)",
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
