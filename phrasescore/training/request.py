"""What the user of ``train`` asked for, and what follows from it for each kind of model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phrasescore.errors import SettingsError
from phrasescore.model.kinds import KINDS, Kind, kind_named, read_settings
from phrasescore.model.model_settings import ModelSettings
from phrasescore.runs.file_kinds import STANDARD_STREAM, can_be_read_again
from phrasescore.runs.identity import sha256_of
from phrasescore.training.encoding import encode_table, encode_texts
from phrasescore.training.pairs import EncodedPairs, PairSettings, load_pairs
from phrasescore.training.training_settings import (
    DROPOUT,
    DROPOUT_OF_TEXT,
    EVALUATIONS,
    HELD_OUT,
    HELD_OUT_OF_TEXT,
    HELD_OUT_SENTENCES,
    HELD_OUT_SHARE_OF_TEXT,
    INPUT,
    LABEL_SMOOTHING,
    MAX_LENGTH,
    PATIENCE,
    PATIENCE_OF_TEXT,
    RecipeName,
)
from phrasescore.words import PAPER_SENTENCE_WORDS, SHORTLIST_WORDS

DEFAULT_EPOCHS = 10
# what the command gives for every kind, and some do not have
_OF_SOURCES = {"source_words", "held_out_sources", "direction"}
_OF_SENTENCES = {"max_length", "held_out_text"}
_REGULARISATION = {"dropout", "label_smoothing"}
_NOT_OF_ALL = _OF_SOURCES | _OF_SENTENCES | _REGULARISATION
# what the weights depend on just as it was asked for
_ASKED = (
    *("kind", "recipe", "max_seconds", "source_words", "target_words"),
    *("batch_size", "learning_rate", "seed"),
)
_VOCABULARIES = {"kind", "source_vocabulary", "target_vocabulary"}


@dataclass(frozen=True)
class TrainingRequest:
    """What the user asked for; ``None`` where the default depends on something else.

    Attributes:
        kind: What ``--kind`` calls it.
        inputs: What to learn from: as many files as the kind reads.
        model: The folder to write.
        sizes: Settings of the model that were asked for, by name; the kind has defaults for others.
    """

    kind: str
    inputs: tuple[Path, ...]
    model: Path
    sizes: Mapping[str, Any] = field(default_factory=dict)
    recipe: RecipeName = "fast"
    max_epochs: int | None = None
    max_seconds: float | None = None
    patience: int | None = None
    evaluations: int | None = None
    source_words: int | None = None
    target_words: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    held_out_sources: int | None = None
    held_out_pairs: int | None = None
    held_out_text: tuple[Path, ...] | None = None
    max_length: int | None = None
    dropout: float | None = None
    label_smoothing: float | None = None
    seed: int = 1
    precision: str = "auto"
    device: str = "auto"
    threads: int | None = None
    checkpoint_every: float = 300.0
    tensorboard: Path | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Refuse what the kind does not have."""
        kind = self.described_kind
        if len(self.inputs) != len(kind.inputs):
            raise SettingsError(
                f"--kind {kind.option} takes {' '.join(kind.inputs)} MODEL/, and "
                f"{len(self.inputs) + 1} names are given"
            )
        given = {name for name in _NOT_OF_ALL if getattr(self, name, None) is not None}
        asked = {*self.sizes, *given}
        for name in sorted(asked - _options_of(kind)):
            others = [f"--kind {other.option}" for other in KINDS if name in _options_of(other)]
            raise SettingsError(
                f"--{name.replace('_', '-')} is not an option of --kind {kind.option}",
                remedy=f"it belongs to {' and '.join(others)}" if others else "leave it out",
            )
        if self.held_out_text and len(self.held_out_text) != len(kind.inputs):
            raise SettingsError(
                f"--held-out-text of --kind {kind.option} takes {' '.join(kind.inputs)}, and "
                f"another number of names is given ({len(self.held_out_text)})"
            )
        if self.held_out_text and (self.held_out_sources or self.held_out_pairs):
            raise SettingsError(
                "a text is held out, and a part of the texts too",
                remedy="leave out --held-out-text, or --held-out-sources and --held-out-pairs",
            )
        for path in self.files:
            is_pipe = str(path) == STANDARD_STREAM or path.is_fifo()
            if is_pipe and self.files.count(path) > 1:
                raise SettingsError(
                    "a pipe can be read once, and it is named twice",
                    path=path,
                    remedy="write its content to a file",
                )
        self._settings(2, 2)  # a value that no model knows, before hours of reading

    @property
    def described_kind(self) -> Kind:
        """The kind of model asked for.

        Raises:
            SettingsError: There is none of this name.
        """
        return kind_named(self.kind)

    @property
    def work_folder(self) -> Path:
        """Where the state of the run is until the model is whole."""
        return self.model.with_name(f"{self.model.name}.training")

    @property
    def epochs(self) -> int | None:
        """Passes over the pairs; ``None`` if the time alone decides."""
        if self.max_epochs is None and self.max_seconds is None and not self._patience_ends:
            return DEFAULT_EPOCHS
        return self.max_epochs

    @property
    def _as_in_the_paper_of_text(self) -> bool:
        """Whether this is the paper's training of a language model, with its own end."""
        return self.recipe == "paper" and self.described_kind.learns_from == "text"

    @property
    def _patience_ends(self) -> bool:
        return self._as_in_the_paper_of_text and self.patience_in_force > 0

    @property
    def evaluations_in_force(self) -> int | None:
        """How often what is held out is scored in a run; ``None``: after each pass."""
        if self.evaluations is None:
            return None if self._as_in_the_paper_of_text else EVALUATIONS
        return self.evaluations

    @property
    def patience_in_force(self) -> int:
        """Evaluations without a better figure before the end; 0: none."""
        if self.patience is not None:
            return self.patience
        of_text = self.described_kind.learns_from == "text"
        return (PATIENCE_OF_TEXT if of_text else PATIENCE)[self.recipe]

    def held_out_of(self, pairs: int) -> tuple[int, int]:
        """Return how many pairs to hold out by source, and drawn at random, of so many."""
        by_share = pairs // HELD_OUT_SHARE_OF_TEXT
        sources, others = self.held_out
        decided = self.held_out_text or self.held_out_pairs is not None
        if decided or self.described_kind.learns_from != "text":
            return sources, others
        return max(sources, by_share), others

    @property
    def held_out(self) -> tuple[int, int]:
        """Pairs to hold out by source, and drawn at random, as far as the input does not decide."""
        if self.held_out_text:
            return 0, 0
        if self.described_kind.learns_from == "text":
            # all sentences that are the same go together, as pairs of one source do
            given = self.held_out_pairs
            return HELD_OUT_OF_TEXT if given is None else given, 0
        usual = HELD_OUT[self.recipe], HELD_OUT[self.recipe]
        if self.described_kind.of_sentences:
            usual = HELD_OUT_SENTENCES[self.recipe], 0
        asked = self.held_out_sources, self.held_out_pairs
        sources, pairs = (b if a is None else a for a, b in zip(asked, usual, strict=True))
        return sources, pairs

    @property
    def regularisation(self) -> tuple[float, float]:
        """Dropout and label smoothing."""
        usual = 0.0, 0.0
        kind = self.described_kind
        if kind.regularised and self.recipe == "fast":
            usual = (DROPOUT, LABEL_SMOOTHING) if kind.reads_source else (DROPOUT_OF_TEXT, 0.0)
        asked = self.dropout, self.label_smoothing
        dropout, smoothing = (b if a is None else a for a, b in zip(asked, usual, strict=True))
        return dropout, smoothing

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        return (*self.inputs, *(self.held_out_text or ()))

    @property
    def _sizes(self) -> dict[str, Any]:
        """The settings of the model that were asked for, and those that the recipe brings."""
        kind = self.described_kind
        sizes = {**(kind.fast_sizes if self.recipe == "fast" else {}), **self.sizes}
        return kind.settings.completed(sizes)

    def asked(self, precision: str) -> dict[str, Any]:
        """Return all that the weights depend on, as JSON values; no digest of what is a pipe."""
        again = all(can_be_read_again(path) for path in self.files)
        dropout, smoothing = self.regularisation
        of_sentences = {"dropout": dropout, "label_smoothing": smoothing}
        of_sentences["max_length"] = self.max_length or MAX_LENGTH
        defaults = {
            each.name: each.default
            for each in dataclasses.fields(self.described_kind.settings)
            if each.name not in _VOCABULARIES
        }
        return {
            **{name: getattr(self, name) for name in _ASKED},
            **defaults,
            **self._sizes,
            **(of_sentences if self.described_kind.of_sentences else {}),
            "max_epochs": self.epochs,
            "patience": self.patience_in_force,
            "evaluations": self.evaluations_in_force,
            "held_out": list(self.held_out),
            "precision": precision,
            INPUT: " ".join(sha256_of(path) for path in self.files) if again else None,
        }

    def encode(self, folder: Path) -> None:
        """Encode what to learn from into ``folder``, unless an earlier run did.

        Raises:
            InputError: A file cannot be read or breaks its format.
        """
        usual = SHORTLIST_WORDS
        if self.recipe == "paper" and self.described_kind.learns_from == "sentences":
            usual = PAPER_SENTENCE_WORDS
        settings = PairSettings(
            source_words=usual if self.source_words is None else self.source_words,
            target_words=usual if self.target_words is None else self.target_words,
            factor=self.sizes.get("factor", 0),
        )
        if self.described_kind.of_sentences:
            encode_texts(
                self.inputs,
                folder,
                settings,
                max_length=self.max_length or MAX_LENGTH,
                held_out=self.held_out_text,
            )
        else:
            encode_table(self.inputs[0], folder, settings)

    def pairs(self, folder: Path) -> EncodedPairs:
        """Return what was encoded in ``folder``, from the side that the model reads.

        Raises:
            InputError: The folder is not whole.
        """
        pairs = load_pairs(folder)
        return pairs.in_direction(self.sizes.get("direction", "source-target"))

    def model_settings(self, pairs: EncodedPairs) -> ModelSettings:
        """Return the settings of the model to train on these pairs.

        Raises:
            SettingsError: A value is none that the kind knows.
        """
        return self._settings(len(pairs.source.vocabulary), len(pairs.target.vocabulary))

    def _settings(self, source_vocabulary: int, target_vocabulary: int) -> ModelSettings:
        kind = self.described_kind
        values = {
            "kind": kind.name,
            "source_vocabulary": source_vocabulary if kind.reads_source else 0,
            "target_vocabulary": target_vocabulary,
            **self._sizes,
        }
        return read_settings(values, where=f"--kind {kind.option}")


def _options_of(kind: Kind) -> set[str]:
    names = {each.name for each in dataclasses.fields(kind.settings)} - _VOCABULARIES - _NOT_OF_ALL
    for has, options in (
        (kind.reads_source, _OF_SOURCES),
        (kind.of_sentences, _OF_SENTENCES),
        (kind.regularised, _REGULARISATION),
    ):
        names |= options if has else set()
    return names
