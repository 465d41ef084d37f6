"""What the parts of an experiment file must be to each other; refused before anything runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from phrasescore.errors import SettingsError, did_you_mean
from phrasescore.model.kinds import KINDS
from tuning.experiment.experiment_settings import (
    DEV,
    TRAINING_DATA,
    ExperimentData,
    ExperimentModel,
    ExperimentSettings,
    ExperimentSystem,
)

_TEXT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
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
    for model in settings.models:
        _check_model(model, settings.data, where)
    for system in settings.systems:
        _check_system(system, settings, where)
    sizes = (settings.tuning.nbest_size, settings.rerank_size)
    if min(settings.decoder.threads, settings.tuning.rounds, *sizes) < 1:
        raise SettingsError(f"{where}: threads, rounds and nbest_size are at least 1")


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
    if any(option.partition("=")[0] == "--kind" for option in model.train):
        raise SettingsError(
            f"{place}: the options of train give --kind",
            remedy=f'write kind = "..." in [models.{model.name}] in its place',
        )
    if model.folder:
        return
    for name in (TRAINING_DATA[read] for read in model.described_kind.inputs):
        if not getattr(data, name):
            raise SettingsError(
                f"{where}: the model {model.name} is to be trained, but [data] names no {name}"
            )


def _check_system(system: ExperimentSystem, settings: ExperimentSettings, where: str) -> None:
    names = [model.name for model in settings.models]
    for name in system.all_models:
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
    for key in ("models", "rerank", "translate"):
        _distinct(list(getattr(system, key)), f"{where}: {system.name} has twice in {key}:")
    if system.translate and (system.models or system.rerank):
        raise SettingsError(
            f"{where}: {system.name} has translate, models that need no system, and "
            f"{'models' if system.models else 'rerank'} beside it",
            remedy="make two rows of it",
        )
    for name in system.translate:
        model = settings.model(name)
        if not model.folder and not model.described_kind.of_sentences:
            raise SettingsError(
                f"{where}: {system.name} translates with {name}, which is of the kind "
                f"{model.kind} and knows phrases only",
                remedy="name a model of a kind that is trained on sentences",
            )


def _distinct(values: Sequence[object], problem: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise SettingsError(f"{problem} {value}")
