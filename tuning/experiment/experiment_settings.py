"""The settings of an experiment: texts, decoder, models, and the systems that are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phrasescore.model.kinds import KINDS, Kind, kind_named
from phrasescore.words import Unknown
from tuning.loop.tuning_settings import DecoderName
from tuning.optimizers.optimizer_settings import OptimizerName

DEV = "dev"
# why a row is not run though the file asks for it; it has the runs of earlier calls
LEFT_OUT, GIVEN = "left out by --only", "given by --rows"
# where [data] has what kinds of model read
TRAINING_DATA = {
    "PHRASE-TABLE": "phrase_table",
    "SOURCE-TEXT": "train_source",
    "TARGET-TEXT": "train_target",
    "TEXT": "train_target",
}
_NOT_IN_FOLDERS = re.compile(r"[^a-z0-9]+")
SEED = "{seed}"  # in a model's folder: the seed of the tuning


def slug(name: str) -> str:
    """Return a system's name as a folder's.

    >>> slug("RNN, short lists + WP")
    'rnn-short-lists-wp'
    """
    return _NOT_IN_FOLDERS.sub("-", name.lower()).strip("-") or "system"


@dataclass(frozen=True)
class ExperimentText:
    """A text that systems translate; paths relative to the data's folder.

    Args:
        name: In the table and in the names of files.
        source: The text.
        reference: Its translation.
    """

    name: str
    source: str
    reference: str


@dataclass(frozen=True)
class ExperimentData:
    """The system that is improved, and the texts; relative to ``folder``.

    Args:
        folder: Where every command runs, so that relative paths of the ini mean what they mean
            there; relative to the experiment file.
        system: The untuned moses.ini.
        dev_source: The text that weights are tuned on.
        dev_reference: Its translation.
        test_source: The text that weights have not seen, where there is one.
        test_reference: Its translation.
        phrase_table: The whole table that models are trained on; empty if no model reads it.
        test: The texts that weights have not seen, where there are several.
        train_source: The text that models of sentences are trained on; empty if there is none.
        train_target: Its translation, which language models are trained on.
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
    sections: dict[str, Any] = field(default_factory=dict)


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
class ExperimentReranking:
    """How n-best lists of a tuned system are scored again and searched.

    Args:
        nbest_size: Different candidates of each sentence; as many as in tuning if it is missing.
        optimizer: As in ``phrasescore optimize``.
        options: More options of ``phrasescore optimize``.
    """

    nbest_size: int | None = None
    optimizer: OptimizerName = "mert"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentTranslation:
    """How models translate alone.

    Args:
        options: Options of ``phrasescore translate``.
    """

    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentModel:
    """One model: made here, or there already.

    Args:
        folder: A model folder that exists; relative to the experiment file. Empty: it is trained.
        train: Options of ``phrasescore train``, without ``--kind``.
        kind: What ``train --kind`` calls it; of a folder that exists, the folder itself says it.
        per_seed: Whether there is one for each seed of tuning, trained with that seed; the folders
            of models that exist have ``{seed}`` in their name then.
        unnormalised: Whether the decoder takes its scores without ln Z; of a language model that
            was trained with ``--self-normalise``.
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
            SettingsError: There is none of this name.
        """
        return kind_named(self.kind)


@dataclass(frozen=True)
class ExperimentSystem:
    """One row of the table.

    Args:
        name: What the table calls it.
        models: Whose scores it has, one column each; none is the system as it came.
        unknown_column: Whether it counts words outside the first model's shortlists (the paper's
            WP).
        unknown: What its columns give a word outside the shortlist; as ``score --unknown``.
        language_models: Neural language models that the decoder asks.
        rerank: Models whose scores choose among the n-best lists of the tuned system.
        translate: Models that translate together, without the system.
        not_run: Why the row stays empty; empty for a row that is run.
        paper_dev: BLEU of this row in the paper, for the reader; 0 where it has none.
        paper_test: The same on its test set.
        parts: What it consists of: the name of each part, and of the row that lacks this part
            alone.
    """

    name: str
    models: tuple[str, ...] = ()
    unknown_column: bool = False
    rerank: tuple[str, ...] = ()
    translate: tuple[str, ...] = ()
    not_run: str = ""
    paper_dev: float = 0.0
    paper_test: float = 0.0
    language_models: tuple[str, ...] = ()
    unknown: Unknown = "whole"
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def all_models(self) -> tuple[str, ...]:
        """Every model that it needs, each once."""
        names = (*self.models, *self.language_models, *self.rerank, *self.translate)
        return tuple(dict.fromkeys(names))

    @property
    def may_be_run(self) -> bool:
        """Whether it has runs, of this call or another."""
        return self.not_run in ("", LEFT_OUT, GIVEN)

    @property
    def may_be_tuned(self) -> bool:
        """Whether weights are found for it, in this call or another."""
        return not self.translate and self.may_be_run

    @property
    def columns(self) -> tuple[tuple[str, ...], bool, Unknown]:
        """What distinguishes its phrase table from others."""
        return self.models, self.unknown_column, self.unknown

    @property
    def features(self) -> tuple[object, ...]:
        """What distinguishes its tuning from others."""
        return self.columns, self.language_models


@dataclass(frozen=True)
class ExperimentSettings:
    """The whole file.

    Args:
        name: The heading of the table.
        seeds: Of tuning; each row is the mean over them.
        data: System and texts.
        decoder: What translates.
        tuning: How weights are found.
        models: The models that systems name, by name.
        systems: The rows; the first is what the others are compared with.
        rerank: How rows with ``rerank`` are made.
        translate: How rows with ``translate`` are made.
        file: The experiment file.
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
        """Tell whether one of some models is another for each seed."""
        return any(self.models[name].per_seed for name in names)

    def runs(self, system: ExperimentSystem) -> tuple[int | None, ...]:
        """Return the seed of each run; ``None`` for the only run of models that translate alone."""
        has_seeds = not system.translate or self.has_per_seed(system.translate)
        return self.seeds if has_seeds else (None,)

    @property
    def rerank_size(self) -> int:
        """Different candidates of each sentence in lists that are scored again."""
        size = self.rerank.nbest_size
        return self.tuning.nbest_size if size is None else size

    @property
    def folder(self) -> Path:
        """The absolute folder that commands run in."""
        return self.resolve(self.data.folder)

    def resolve(self, path: str) -> Path:
        """Return a path of the file as an absolute one."""
        return (self.file.absolute().parent / path).resolve()
