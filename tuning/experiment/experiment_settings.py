"""The settings of an experiment (texts, decoder, models, systems), and their file in TOML."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from phrasescore.closed_settings import Between, from_mapping
from phrasescore.errors import InputError, SettingsError, did_you_mean
from phrasescore.model.kinds import KINDS, FeedForwardLmSettings, Kind, kind_named
from phrasescore.runs.json_files import MAX_LEVELS, JsonObject
from phrasescore.table.input_files import read_whole
from phrasescore.words import Unknown
from tuning.loop.tuning_settings import DecoderName, OptimizerName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEV = "dev"
# reasons not to run a row that may still have results, from an earlier command or another file
LEFT_OUT, GIVEN = "left out by --only", "given by --rows"
# input of a kind of model -> the key of [data] that names its file
TRAINING_DATA = {
    "PHRASE-TABLE": "phrase_table",
    "SOURCE-TEXT": "train_source",
    "TARGET-TEXT": "train_target",
    "TEXT": "train_target",
}
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
_NOT_IN_FOLDERS = re.compile(r"[^a-z0-9]+")
SEED = "{seed}"  # placeholder in a model's folder for the seed of tuning


def slug(name: str) -> str:
    """Turn a system's name into the name of a folder.

    >>> slug("RNN, short lists + WP")
    'rnn-short-lists-wp'
    """
    return _NOT_IN_FOLDERS.sub("-", name.lower()).strip("-") or "system"


@dataclass(frozen=True)
class ExperimentText:
    """A text to translate; paths are relative to the data folder.

    Args:
        name: The name of the text in the table and in file names.
        source: The file of the source text.
        reference: The file of its reference translation.
    """

    name: str
    source: str
    reference: str


@dataclass(frozen=True)
class ExperimentData:
    """The system to improve, and the texts; all other paths are relative to ``folder``.

    Args:
        folder: The data folder, relative to the experiment file. Every command runs in this folder,
            so relative paths in the moses.ini start here.
        system: The untuned moses.ini.
        dev_source: The source text that weights are tuned on.
        dev_reference: The reference translation of the dev text.
        test: The test sets, in the order of the table.
        phrase_table: The full phrase table that models are trained on; empty if no model needs it.
        train_source: The source text that sentence models are trained on; empty if none is trained.
        train_target: The translation of ``train_source``; language models are trained on it, too.
    """

    folder: str
    system: str
    dev_source: str
    dev_reference: str
    test: tuple[ExperimentText, ...]
    phrase_table: str = ""
    train_source: str = ""
    train_target: str = ""

    @property
    def texts(self) -> tuple[ExperimentText, ...]:
        """The dev set and the test sets."""
        return (ExperimentText(DEV, self.dev_source, self.dev_reference), *self.test)


@dataclass(frozen=True)
class ExperimentDecoder:
    """The decoder and its search settings.

    Args:
        kind: The embedded decoder or real Moses.
        program: The moses binary or its folder; if empty, MOSES_BIN is used, or else PATH.
        threads: The number of sentences decoded at a time.
        sections: Settings that replace sections of the moses.ini, by section name, e.g.
            ``search-algorithm``; both decoders obey them.
    """

    kind: DecoderName = "embedded"
    program: str = ""
    threads: Annotated[int, Between(1, 256)] = 1
    sections: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentTuning:
    """Settings of tuning.

    Args:
        optimizer: The optimiser, as in ``phrasescore tune``.
        rounds: The maximum number of optimisations.
        nbest_size: The maximum number of distinct candidates per sentence and round.
        options: More options of ``phrasescore tune``.
    """

    optimizer: OptimizerName = "mert"
    rounds: Annotated[int, Between(1, 10_000)] = 8
    nbest_size: Annotated[int, Between(2, 10_000)] = 100
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentReranking:
    """Settings of rescoring a tuned system's n-best lists and reranking them.

    Args:
        nbest_size: The maximum number of distinct candidates per sentence; by default the size in
            tuning.
        optimizer: The optimiser, as in ``phrasescore optimize``.
        options: More options of ``phrasescore optimize``.
    """

    nbest_size: Annotated[int, Between(2, 10_000)] | None = None
    optimizer: OptimizerName = "mert"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentTranslation:
    """Settings of models that translate without a Moses system.

    Args:
        options: Options of ``phrasescore translate``.
    """

    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentModel:
    """One model, which the experiment trains or finds in a folder.

    Args:
        folder: An existing model folder, relative to the experiment file; empty to train the model.
        train: Options of ``phrasescore train``, without ``--kind``.
        kind: The kind of the model, as for ``train --kind``; ignored for an existing folder, which
            states its own kind.
        per_seed: Whether each seed of tuning has its own model, trained with that seed; ``folder``,
            if given, then contains ``{seed}``.
        unnormalised: Whether the decoder uses the model's scores without ln Z; for a language model
            trained with ``--self-normalise``.
    """

    folder: str = ""
    train: tuple[str, ...] = ()
    kind: str = KINDS[0].option
    per_seed: bool = False
    unnormalised: bool = False


@dataclass(frozen=True)
class ExperimentSystem:
    """One row of the table.

    Args:
        name: The name of the system in the table.
        models: The models, each of which adds a column of scores to the phrase table; empty for
            the original system.
        unknown_column: Whether to add a column that counts words outside the first model's
            shortlists (the paper's WP).
        unknown: The treatment of words outside the shortlist, as for ``score --unknown``.
        language_models: Neural language models that the decoder uses in its search.
        rerank: Models that rescore the n-best lists of the tuned system, to rerank them.
        translate: Models that translate as an ensemble, without the system.
        translate_options: Options of ``phrasescore translate`` instead of those for all rows;
            ``None`` for those.
        not_run: The reason for not running the row; empty to run it.
        parts: For ablations: the name of each part -> the name of the row that is this system
            without the part.
    """

    name: str
    models: tuple[str, ...] = ()
    unknown_column: bool = False
    rerank: tuple[str, ...] = ()
    translate: tuple[str, ...] = ()
    not_run: str = ""
    language_models: tuple[str, ...] = ()
    unknown: Unknown = "whole"
    parts: dict[str, str] = field(default_factory=dict)
    translate_options: tuple[str, ...] | None = None

    @property
    def all_models(self) -> tuple[str, ...]:
        """The distinct names of all models of the row."""
        names = (*self.models, *self.language_models, *self.rerank, *self.translate)
        return tuple(dict.fromkeys(names))

    @property
    def may_be_run(self) -> bool:
        """Whether the row can have results, from this command, an earlier one or --rows."""
        return self.not_run in ("", LEFT_OUT, GIVEN)

    @property
    def may_be_tuned(self) -> bool:
        """Whether the row is a tuned system that can have results."""
        return not self.translate and self.may_be_run

    @property
    def columns(self) -> tuple[tuple[str, ...], bool, Unknown]:
        """The settings of the row's phrase table; rows with equal settings share one table."""
        return self.models, self.unknown_column, self.unknown

    @property
    def features(self) -> tuple[object, ...]:
        """The settings of the row's tuning; rows with ``rerank`` use the tuning of an equal row."""
        return self.columns, self.language_models


@dataclass(frozen=True)
class ExperimentSettings:
    """The content of an experiment file.

    Args:
        name: The heading of the table.
        seeds: The seeds of tuning; each row shows the mean over all seeds.
        data: The system and the texts.
        decoder: The decoder and its search settings.
        tuning: Settings of tuning.
        models: The models of the systems, by name.
        systems: The rows of the table; every later row is compared with the first.
        rerank: Settings for rows with ``rerank``.
        translate: Settings for rows with ``translate``.
        file: The path of the experiment file.
    """

    name: str
    data: ExperimentData
    systems: tuple[ExperimentSystem, ...]
    seeds: tuple[int, ...] = (1, 2, 3)
    decoder: ExperimentDecoder = ExperimentDecoder()
    tuning: ExperimentTuning = ExperimentTuning()
    models: dict[str, ExperimentModel] = field(default_factory=dict)
    rerank: ExperimentReranking = ExperimentReranking()
    translate: ExperimentTranslation = ExperimentTranslation()
    file: Path = field(default_factory=Path)

    def has_per_seed(self, names: Iterable[str]) -> bool:
        """Return whether any of these models has a version for each seed."""
        return any(self.models[name].per_seed for name in names)

    def runs(self, system: ExperimentSystem) -> tuple[int | None, ...]:
        """Return the seed of each run; one ``None`` if the translations depend on no seed."""
        has_seeds = not system.translate or self.has_per_seed(system.translate)
        return self.seeds if has_seeds else (None,)

    def translation(self, system: ExperimentSystem) -> ExperimentTranslation:
        """Return the settings of a row with ``translate``."""
        own = system.translate_options
        return self.translate if own is None else ExperimentTranslation(own)

    @property
    def folder(self) -> Path:
        """The absolute folder that commands run in."""
        return self.resolve(self.data.folder)

    def resolve(self, path: str) -> Path:
        """Make a path in the experiment file absolute."""
        return (self.file.absolute().parent / path).resolve()


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
    except (ValueError, RecursionError) as error:
        why = error if isinstance(error, ValueError) else "nested too deep"
        raise InputError(f"not an experiment file in TOML ({why})", path=path) from None
    if has_nul:
        raise SettingsError(f"{path}: a text contains a NUL character")
    settings = from_mapping(ExperimentSettings, values, where=str(path))
    for problem in _problems(settings):
        raise SettingsError(f"{path}: {problem}")
    sections = {name: str(value) for name, value in settings.decoder.sections.items()}
    decoder = dataclasses.replace(settings.decoder, sections=sections)
    return dataclasses.replace(settings, decoder=decoder, file=Path(path))


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
                meant = did_you_mean(row, names)
                yield f"{system.name} has the part {part}, but no other row is called {row}{meant}"
    for name in (settings.name, *(system.name for system in systems)):
        if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
            shown = repr(name[:_LONGEST_NAME])
            yield f"{shown} is not a name; use 1 to {_LONGEST_NAME} visible characters"


def _general_problems(settings: ExperimentSettings) -> Iterator[str]:
    if not settings.systems:
        yield "at least one system is needed"
    names = [system.name for system in settings.systems]
    yield from _twice(names, "two systems have the name")
    yield from _twice(list(map(slug, names)), "two systems share the folder")
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
    if not data.test:
        yield "[data] names no test set in the list test"
    names = [text.name for text in data.test]
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
    for name in (TRAINING_DATA[read] for read in kind_named(model.kind).inputs):
        if not getattr(settings.data, name):
            yield f"the model is to be trained, but [data] names no {name}"


def _system_problems(system: ExperimentSystem, settings: ExperimentSettings) -> Iterator[str]:
    for name in system.all_models:
        if name not in settings.models:
            meant = did_you_mean(name, settings.models)
            yield f"names the model {name}, which is not described{meant}"
        elif not settings.models[name].folder:
            yield from kind_problems(system, name, kind_named(settings.models[name].kind))
    if not system.models and (system.unknown_column or system.unknown != "whole"):
        does = "counts" if system.unknown_column else "shares p(<unk>) out among"
        yield f"{does} unknown words, but has no models whose shortlists define these words"
    for key in ("models", "language_models", "rerank", "translate"):
        yield from _twice(getattr(system, key), f"has twice in {key}:")
        if system.translate and getattr(system, key) and key != "translate":
            yield f"has both {key} and translate, which uses no system: make two rows"
    translating = [settings.models[name] for name in system.translate if name in settings.models]
    aligned = any(model.folder or kind_named(model.kind).aligns for model in translating)
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
