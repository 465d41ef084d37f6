"""Reads an experiment file in TOML, and checks that its parts fit together."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import InputError, SettingsError, did_you_mean
from phrasescore.model.kinds import KINDS, Kind
from phrasescore.model.model_settings import FeedForwardLmSettings
from phrasescore.runs.json_files import MAX_LEVELS
from phrasescore.table.input_files import read_whole
from tuning.experiment.experiment_settings import (
    DEV,
    SEED,
    TRAINING_DATA,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
    slug,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# names become parts of file names, so they must not be too long
_LONGEST_NAME = 100
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_TEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# step names contain "dev", "tune" or the name of a test set, so test sets need other names
_TAKEN_NAMES = (DEV, "tune")
# the kinds of model that each list of a row may name; ``rerank`` may name any kind
_KINDS = {
    "models": [kind for kind in KINDS if not kind.of_sentences],
    "language_models": [kind for kind in KINDS if kind.settings is FeedForwardLmSettings],
    "translate": [kind for kind in KINDS if kind.of_sentences and kind.reads_source],
}


def read_experiment(path: str | Path) -> ExperimentSettings:
    """Read an experiment file.

    Raises:
        InputError: The file cannot be read, or is not TOML.
        SettingsError: A key is unknown, missing or of the wrong type, or parts contradict each
            other.
    """
    try:
        content = read_whole(path).decode("utf-8-sig")
        # for a dotted key, the parser takes time quadratic in the number of parts
        if any(line.partition("=")[0].count(".") > MAX_LEVELS for line in content.split("\n")):
            raise RecursionError
        values = tomllib.loads(content)
        has_nul = r"\u0000" in json.dumps(values, default=str)
    except ValueError as error:
        raise InputError(f"not an experiment file in TOML ({error})", path=path) from None
    except RecursionError:
        raise InputError("not an experiment file in TOML (nested too deep)", path=path) from None
    if has_nul:
        raise SettingsError(f"{path}: a text contains a NUL character")
    settings = from_mapping(ExperimentSettings, values, where=str(path))
    settings = dataclasses.replace(settings, file=Path(path))
    for problem in _problems(settings):
        raise SettingsError(f"{path}: {problem}")
    sections = {name: str(value) for name, value in settings.decoder.sections.items()}
    decoder = dataclasses.replace(settings.decoder, sections=sections)
    return dataclasses.replace(settings, decoder=decoder)


def _problems(settings: ExperimentSettings) -> Iterator[str]:
    systems = settings.systems
    yield from _general_problems(settings)
    yield from _data_problems(settings.data)
    for name, model in settings.models.items():
        if not _MODEL_NAME.fullmatch(name):
            shown = repr(name[:50])
            yield f"[models] has {shown}: use at most 100 letters, digits, '-', '_' and '.'"
        yield from (f"[models.{name}]: {problem}" for problem in _model_problems(model, settings))
    names = [system.name for system in systems]
    for system in systems:
        yield from (f"{system.name} {problem}" for problem in _system_problems(system, settings))
        for part, row in system.parts.items():
            if row not in names or row == system.name:
                yield (
                    f"{system.name} has the part {part}, but no other row is called {row}"
                    f"{did_you_mean(row, names)}"
                )
    for name in (settings.name, *(system.name for system in systems)):
        if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            shown = repr(name[:_LONGEST_NAME])
            yield f"{shown} is not a name; use 1 to {_LONGEST_NAME} visible characters"


def _general_problems(settings: ExperimentSettings) -> Iterator[str]:
    if not settings.systems:
        yield "at least one system is needed"
    yield from _twice([system.name for system in settings.systems], "two systems have the name")
    yield from _twice(
        [slug(system.name) for system in settings.systems], "two systems share the folder"
    )
    yield from _twice(settings.seeds, "seeds contains twice")
    if not settings.seeds:
        yield "seeds is empty, so there is nothing to tune"
    for name, value in settings.decoder.sections.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            yield f"[decoder.sections] {name} is {str(value)[:50]!r}, expected a number or text"
    if settings.systems and (settings.systems[0].not_run or settings.systems[0].translate):
        yield (
            "the other systems are compared with the first, so it must be tuned: remove its "
            "not_run or translate"
        )


def _data_problems(data: ExperimentData) -> Iterator[str]:
    short = (data.test_source, data.test_reference)
    if data.test and any(short):
        yield "[data] has both test and test_source or test_reference; remove one of the two"
    if not data.test and not all(short):
        yield "[data] names no test set: give test_source and test_reference, or the list test"
    names = [text.name for text in data.tests]
    yield from _twice(names, "two test sets are called")
    for name in names:
        if not _TEXT_NAME.fullmatch(name) or name in _TAKEN_NAMES:
            yield (
                f"a test set cannot be called {name[:_LONGEST_NAME]!r}; use letters, digits, '-' "
                f"and '_', and neither {' nor '.join(_TAKEN_NAMES)}"
            )


def _model_problems(model: ExperimentModel, settings: ExperimentSettings) -> Iterator[str]:
    names = [kind.option for kind in KINDS]
    if model.kind not in names:
        known = did_you_mean(model.kind, names)
        yield f"{model.kind!r} is not a kind of model{known}; there are {', '.join(names)}"
    given = {option.partition("=")[0] for option in model.train}
    if model.folder:
        if model.per_seed != (SEED in model.folder):
            contains = "does not contain" if model.per_seed else "contains"
            is_set = str(model.per_seed).lower()
            yield f"per_seed is {is_set}, but the folder {model.folder!r} {contains} {SEED}"
        return
    if model.unnormalised and "--self-normalise" not in given:
        yield "unnormalised is true, but train does not contain --self-normalise"
    for name in (TRAINING_DATA[read] for read in model.described_kind.inputs):
        if not getattr(settings.data, name):
            yield f"the model is to be trained, but [data] names no {name}"


def _system_problems(system: ExperimentSystem, settings: ExperimentSettings) -> Iterator[str]:
    for name in system.all_models:
        if name not in settings.models:
            yield (
                f"names the model {name}, which is not described"
                f"{did_you_mean(name, settings.models)}"
            )
        elif not settings.models[name].folder:
            yield from kind_problems(system, name, settings.models[name].described_kind)
    if not system.models and (system.unknown_column or system.unknown != "whole"):
        does = "counts" if system.unknown_column else "shares p(<unk>) out among"
        yield f"{does} unknown words, but has no models whose shortlists define these words"
    for key in ("models", "language_models", "rerank", "translate"):
        yield from _twice(getattr(system, key), f"has twice in {key}:")
        if system.translate and getattr(system, key) and key != "translate":
            yield f"has both {key} and translate, which uses no system: make two rows"
    translating = [settings.models[name] for name in system.translate if name in settings.models]
    aligned = any(model.folder or model.described_kind.aligns for model in translating)
    if translating and not aligned and "--replace-unknown" in settings.translation(system).options:
        yield (
            "translates with models that align no words, but --replace-unknown needs an "
            "alignment: give the row translate_options without it"
        )


def kind_problems(system: ExperimentSystem, name: str, kind: Kind) -> Iterator[str]:
    """Yield a problem for each use of a model in a row that the model's kind does not support."""
    for use, kinds in _KINDS.items():
        if name in getattr(system, use) and kind not in kinds:
            yield (
                f"has {name} in {use}, but its kind is {kind.option}; {use} takes only "
                f"{' and '.join(kind.option for kind in kinds)}, rerank takes any kind"
            )


def _twice(values: Sequence[object], problem: str) -> Iterator[str]:
    for value in values:
        if values.count(value) > 1:
            yield f"{problem} {value}"
