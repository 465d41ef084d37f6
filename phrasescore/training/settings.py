"""The settings of ``train``, and the defaults that depend on recipe, material and time.

This module does not import torch, so that ``train --help`` is quick.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from phrasescore.errors import SettingsError, counted
from phrasescore.model import kinds
from phrasescore.runs.json_files import JsonObject
from phrasescore.words import PAPER_SENTENCE_WORDS, SHORTLIST_WORDS

T = TypeVar("T")
RecipeName = Literal["fast", "paper"]

DEFAULT_EPOCHS = 10
MAX_LENGTH = 50  # maximum words of a training sentence; the larger of the paper's two limits
# the time between checkpoints is a tenth of --max-time, within these bounds, in seconds
_CHECKPOINT_SHARE, _MIN_CHECKPOINT, _MAX_CHECKPOINT = 0.1, 30.0, 300.0
HELD_OUT_SHARE_OF_TEXT = 1000  # one sentence in a thousand is held out, as in the paper


@dataclass(frozen=True)
class Defaults:
    """Defaults that depend on recipe and material.

    Attributes:
        patience: A run ends after this many evaluations without gain; 0: no limit.
        held_out_sources: Number of pairs held out so that their sources occur in no training pair.
            For a text: the minimum number of held-out sentences.
        held_out_pairs: Number of pairs held out at random. It is 0 for sentences: almost every
            source occurs once, so pairs drawn at random have unseen sources anyway.
        dropout: Share of the units that is dropped.
        label_smoothing: Share of the probability that is spread over all words.
        evaluations: Number of evaluations in a run; ``None``: one after each pass.
        shortlist: Number of words in the shortlist of each side.
    """

    patience: int = 0
    held_out_sources: int = 0
    held_out_pairs: int = 0
    dropout: float = 0.0
    label_smoothing: float = 0.0
    evaluations: int | None = 10
    shortlist: int = SHORTLIST_WORDS


# In the papers, training of translation models holds nothing out and never stops early. Training
# of the language model stops after 10 passes without gain.
DEFAULTS: dict[tuple[kinds.Material, RecipeName], Defaults] = {
    ("phrases", "fast"): Defaults(patience=5, held_out_sources=5000, held_out_pairs=5000),
    ("phrases", "paper"): Defaults(),
    ("sentences", "fast"): Defaults(
        patience=5, held_out_sources=1000, dropout=0.3, label_smoothing=0.1
    ),
    ("sentences", "paper"): Defaults(shortlist=PAPER_SENTENCE_WORDS),
    ("text", "fast"): Defaults(patience=5, held_out_sources=500, dropout=0.15),
    ("text", "paper"): Defaults(patience=10, held_out_sources=500, evaluations=None),
}
# for each option that not every kind of model has, the attribute of `Kind` that is true if a kind
# has it; an option with the name of a model's setting belongs to the kinds with this setting
_BELONGS_TO = {
    "source_words": "reads_source",
    "byte_pairs": "translates",
    "held_out_sources": "reads_source",
    "held_out_text": "of_sentences",
    "max_length": "of_sentences",
    "dropout": "of_sentences",
    "label_smoothing": "of_sentences",
    "direction": "reads_source",
}
_SIZES = {one.name for kind in kinds.KINDS for one in dataclasses.fields(kind.settings)} - {"kind"}


@dataclass(frozen=True)
class TrainingSettings:
    """The arguments and options of ``train``; ``phrasescore train --help`` explains each option.

    An option whose default depends on other options is ``None`` if it is not given; some of these
    defaults are filled in by :meth:`in_force`.

    Attributes:
        inputs: The files to learn from: one or two, as the kind requires; a language model takes
            one or more.
        model: The folder to write.
    """

    kind: str = kinds.KINDS[0].option
    inputs: tuple[Path, ...] = ()
    model: Path = Path("model")
    recipe: RecipeName = "fast"
    max_epochs: int | None = None
    max_time: float | None = None
    patience: int | None = None
    evaluations: int | None = None
    self_normalise: float | None = None
    hidden: int | None = None
    second_hidden: int | None = None
    order: int | None = None
    embedding: int | None = None
    maxout: int | None = None
    rank: int | None = None
    alignment: int | None = None
    unit: kinds.UnitName | None = None
    context: kinds.ContextName | None = None
    phrase_length: int | None = None
    formulation: kinds.Formulation | kinds.Reading | None = None
    direction: kinds.Direction | None = None
    factor: int | None = None
    source_words: int | None = None
    target_words: int | None = None
    byte_pairs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    held_out_sources: int | None = None
    held_out_pairs: int | None = None
    held_out_text: tuple[Path, ...] = ()
    max_length: int | None = None
    dropout: float | None = None
    label_smoothing: float | None = None
    seed: int = 1
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    device: str = "auto"
    threads: int | None = None
    checkpoint_every: float | None = None
    overwrite: bool = False

    @property
    def seconds_between_checkpoints(self) -> float:
        """The time after which the state of the training is saved again."""
        if self.checkpoint_every is not None:
            return self.checkpoint_every
        share = _CHECKPOINT_SHARE * (self.max_time or math.inf)
        return min(max(share, _MIN_CHECKPOINT), _MAX_CHECKPOINT)

    def check(self) -> None:
        """Check options and the number of files before any file is read.

        Raises:
            SettingsError: The kind of model lacks an option, or options contradict each other.
        """
        kind = self.model_kind
        more = len(self.inputs) - len(kind.inputs)
        if more < 0 or (more and kind.reads_source):
            number = len(self.inputs)
            fitting = [
                f"--kind {other.option}"
                for other in kinds.KINDS
                if len(other.inputs) == number or (number > 2 and not other.reads_source)
            ]
            remedy = f"for {counted(number, 'file')}, give {' or '.join(fitting)}" if number else ""
            raise SettingsError(
                f"--kind {kind.option} takes {' '.join(kind.inputs)} MODEL/, but got "
                f"{counted(number + 1, 'name')}",
                remedy=remedy,
            )
        for name, value in sorted(vars(self).items()):
            if value in (None, ()) or _has(kind, name):
                continue
            others = [f"--kind {other.option}" for other in kinds.KINDS if _has(other, name)]
            raise SettingsError(
                f"--{name.replace('_', '-')} is not an option of --kind {kind.option}",
                remedy=f"it belongs to {' and '.join(others)}",
            )
        if self.held_out_text and len(self.held_out_text) != len(kind.inputs):
            raise SettingsError(
                f"--held-out-text of --kind {kind.option} takes {' '.join(kind.inputs)}, but got "
                f"{counted(len(self.held_out_text), 'name')}"
            )
        if self.held_out_text and (self.held_out_sources or self.held_out_pairs):
            raise SettingsError(
                "both a held-out text and a held-out part of the texts are given",
                remedy="leave out --held-out-text, or --held-out-sources and --held-out-pairs",
            )
        if self.byte_pairs and (self.source_words or self.target_words):
            raise SettingsError(
                "with --byte-pairs all pieces of words are known, so there is no shortlist",
                remedy="leave out --source-words and --target-words",
            )
        self.model_settings(2, 2)  # refuses invalid values before hours of reading

    @property
    def model_kind(self) -> kinds.Kind:
        """The kind of model.

        Raises:
            SettingsError: There is no kind of this name.
        """
        return kinds.kind_named(self.kind)

    @property
    def learns_from(self) -> kinds.Material:
        """The material that the kind learns from: phrases, sentences or a text."""
        return self.model_kind.learns_from

    @property
    def chooses_hidden(self) -> bool:
        """Whether the time decides the sizes: those of a gated phrase model or of RNNsearch."""
        return (
            (self.hidden, self.recipe) == (None, "fast")
            and self.model_kind.settings in (kinds.EncoderDecoderSettings, kinds.RnnSearchSettings)
            and self.unit in (None, "gated")
            and self.max_time is not None
        )

    @property
    def usual_hidden(self) -> int:
        """The number of hidden units of the kind, if nothing else decides."""
        return self.model_kind.fast_sizes.get("hidden", kinds.EncoderDecoderSettings.hidden)

    def sized(self, hidden: int) -> TrainingSettings:
        """Return the settings with a number of hidden units, and with sizes that follow from it."""
        sized = dataclasses.replace(self, hidden=hidden)
        if self.learns_from != "sentences":
            return sized
        half = hidden // 2
        return dataclasses.replace(sized, embedding=self.embedding or half, rank=self.rank or half)

    @property
    def examples(self) -> str:
        """What a pass goes over, in the plural."""
        return "sentences" if self.learns_from == "text" else "pairs"

    @property
    def defaults(self) -> Defaults:
        """The defaults of this material and recipe."""
        return DEFAULTS[self.learns_from, self.recipe]

    @property
    def files(self) -> tuple[Path, ...]:
        """All input files."""
        return (*self.inputs, *self.held_out_text)

    @property
    def work_folder(self) -> Path:
        """The folder that holds the run's state until the model is complete."""
        return self.model.with_name(f"{self.model.name}.training")

    @property
    def length_limit(self) -> int:
        """Maximum number of words of a training sentence."""
        return self.max_length or MAX_LENGTH

    def held_out_of(self, pairs: int) -> tuple[int, int]:
        """Return how many of ``pairs`` pairs, if there are enough, to hold out.

        The first number is for pairs held out by source, the second for pairs drawn at random.
        """
        if self.held_out_text:
            return 0, 0
        usual = self.defaults
        if self.learns_from == "text":
            # equal sentences are held out together, like the pairs of one source
            share = max(usual.held_out_sources, pairs // HELD_OUT_SHARE_OF_TEXT)
            return _given(self.held_out_pairs, share), 0
        sources = _given(self.held_out_sources, usual.held_out_sources)
        return sources, _given(self.held_out_pairs, usual.held_out_pairs)

    def in_force(self) -> TrainingSettings:
        """Fill in the defaults of epochs, patience, evaluations, dropout and label smoothing."""
        usual, epochs = self.defaults, self.max_epochs
        patience = _given(self.patience, usual.patience)
        # in the paper, only patience ends the training of a language model
        ends_itself = usual.evaluations is None and patience
        if epochs is None and self.max_time is None and not ends_itself:
            epochs = DEFAULT_EPOCHS
        return dataclasses.replace(
            self,
            max_epochs=epochs,
            patience=patience,
            evaluations=_given(self.evaluations, usual.evaluations),
            dropout=_given(self.dropout, usual.dropout),
            label_smoothing=_given(self.label_smoothing, usual.label_smoothing),
        )

    def recorded(self, precision: str) -> JsonObject:
        """Return everything that the weights depend on, except the input, as JSON values."""
        settings, kind = self.in_force(), self.model_kind
        names = ["kind", "recipe", "source_words", "target_words", "batch_size", "learning_rate"]
        names += ["seed", "max_epochs", "patience", "evaluations"]
        if kind.of_sentences:
            names += ["dropout", "label_smoothing"]
        left_out = {"kind", "source_vocabulary", "target_vocabulary"}
        defaults = {each.name: each.default for each in dataclasses.fields(kind.settings)}
        unknown: dict[str, int | None] = {}
        if self.chooses_hidden:
            follow = ["maxout", *(("embedding", "rank", "alignment") if kind.of_sentences else ())]
            unknown = {"hidden": None, **{name: getattr(self, name) for name in follow}}
        return {
            **{name: value for name, value in defaults.items() if name not in left_out},
            **self._sizes,
            **unknown,
            **({"max_length": self.length_limit} if kind.of_sentences else {}),
            **({"byte_pairs": self.byte_pairs} if self.byte_pairs else {}),
            **{name: getattr(settings, name) for name in names},
            "max_seconds": self.max_time,
            "held_out": list(self.held_out_of(0)),
            "precision": precision,
        }

    def model_settings(self, source_vocabulary: int, target_vocabulary: int) -> kinds.ModelSettings:
        """Return the settings of the model to train.

        Raises:
            SettingsError: A value is invalid for the kind.
        """
        kind = self.model_kind
        values = {
            "kind": kind.name,
            "source_vocabulary": source_vocabulary if kind.reads_source else 0,
            "target_vocabulary": target_vocabulary,
            **self._sizes,
        }
        return kinds.read_settings(values, where=f"--kind {kind.option}")

    @property
    def _sizes(self) -> dict[str, object]:
        """The model's settings from the command line and from the recipe."""
        kind = self.model_kind
        options = vars(self).items()
        given = {name: value for name, value in options if name in _SIZES and value is not None}
        usual = kind.fast_sizes if self.recipe == "fast" else {}
        return kind.settings.completed({**usual, **given})


def _has(kind: kinds.Kind, option: str) -> bool:
    """Tell whether a kind of model has an option."""
    if option in _BELONGS_TO:
        return bool(getattr(kind, _BELONGS_TO[option]))
    sizes = {each.name for each in dataclasses.fields(kind.settings)}
    return option not in _SIZES or option in sizes


def _given(value: T | None, default: T) -> T:
    return default if value is None else value
