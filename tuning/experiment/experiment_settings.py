"""The settings of an experiment: texts, decoder, models, and the systems to compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from phrasescore.closed_settings import Between
from phrasescore.model.kinds import KINDS, Kind, kind_named
from phrasescore.words import Unknown
from tuning.loop.tuning_settings import DecoderName
from tuning.optimizers.optimizer_settings import OptimizerName

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
        test_source: The source of the only test set; empty if ``test`` lists the test sets.
        test_reference: The reference of the only test set.
        phrase_table: The full phrase table that models are trained on; empty if no model needs it.
        test: The test sets, if there are several.
        train_source: The source text that sentence models are trained on; empty if none is trained.
        train_target: The translation of ``train_source``; language models are trained on it, too.
    """

    folder: str
    system: str
    dev_source: str
    dev_reference: str
    test_source: str = ""
    test_reference: str = ""
    phrase_table: str = ""
    test: tuple[ExperimentText, ...] = ()
    train_source: str = ""
    train_target: str = ""

    @property
    def tests(self) -> tuple[ExperimentText, ...]:
        """The test sets, in the order of the table."""
        return self.test or (ExperimentText("test", self.test_source, self.test_reference),)

    @property
    def texts(self) -> tuple[ExperimentText, ...]:
        """The dev set and the test sets."""
        return (ExperimentText(DEV, self.dev_source, self.dev_reference), *self.tests)


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
    sections: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ExperimentTuning:
    """Settings of tuning.

    Args:
        optimizer: The optimiser, as in ``phrasescore tune``.
        rounds: The maximum number of rounds.
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

    @property
    def described_kind(self) -> Kind:
        """The kind of model to train.

        Raises:
            SettingsError: No kind has this name.
        """
        return kind_named(self.kind)


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
        paper_dev: The BLEU of this row in the paper on its dev set, shown for comparison; 0 for
            none.
        paper_test: The BLEU of this row in the paper on its test set; 0 for none.
        parts: For ablations: the name of each part -> the name of the row that is this system
            without the part.
    """

    name: str
    models: tuple[str, ...] = ()
    unknown_column: bool = False
    rerank: tuple[str, ...] = ()
    translate: tuple[str, ...] = ()
    not_run: str = ""
    paper_dev: Annotated[float, Between(0, 100)] = 0.0
    paper_test: Annotated[float, Between(0, 100)] = 0.0
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
    def rerank_size(self) -> int:
        """The maximum number of distinct candidates per sentence in lists for reranking."""
        size = self.rerank.nbest_size
        return self.tuning.nbest_size if size is None else size

    @property
    def folder(self) -> Path:
        """The absolute folder that commands run in."""
        return self.resolve(self.data.folder)

    def resolve(self, path: str) -> Path:
        """Make a path in the experiment file absolute."""
        return (self.file.absolute().parent / path).resolve()
