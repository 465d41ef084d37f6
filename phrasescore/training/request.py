"""What the user of ``train`` asked for, and what follows from it for each kind of model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phrasescore.errors import SettingsError
from phrasescore.model.kinds import KINDS, Kind, kind_named, read_settings
from phrasescore.model.model_settings import ModelSettings
from phrasescore.pairs.phrase_pairs import PairSettings
from phrasescore.pairs.table_encoding import encode_table
from phrasescore.pairs.training_pairs import TrainingPairs
from phrasescore.training.training_settings import HELD_OUT, PATIENCE, RecipeName

DEFAULT_EPOCHS = 10
# what the command gives for every kind, and a kind without a source does not have
_OF_SOURCES = {"source_words", "held_out_sources", "direction"}
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
    evaluations: int = 10
    source_words: int | None = None
    target_words: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    held_out_sources: int | None = None
    held_out_pairs: int | None = None
    seed: int = 1
    precision: str = "auto"
    device: str = "auto"
    threads: int | None = None
    checkpoint_every: float = 300.0
    tensorboard: Path | None = None
    resume: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Refuse what the kind does not have."""
        kind = self.described_kind
        if len(self.inputs) != len(kind.inputs):
            raise SettingsError(
                f"--kind {kind.option} takes {' '.join(kind.inputs)} MODEL/, and "
                f"{len(self.inputs) + 1} names are given"
            )
        asked = {*self.sizes, *(name for name in _OF_SOURCES if getattr(self, name, None))}
        for name in sorted(asked - _options_of(kind)):
            others = [f"--kind {other.option}" for other in KINDS if name in _options_of(other)]
            raise SettingsError(
                f"--{name.replace('_', '-')} is no option of --kind {kind.option}",
                remedy=f"it belongs to {' and '.join(others)}" if others else "leave it out",
            )

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
        if self.max_epochs is None and self.max_seconds is None:
            return DEFAULT_EPOCHS
        return self.max_epochs

    @property
    def patience_in_force(self) -> int:
        """Evaluations without a better figure before the end; 0: none."""
        return PATIENCE[self.recipe] if self.patience is None else self.patience

    @property
    def held_out(self) -> tuple[int, int]:
        """Pairs to hold out by source, and drawn at random."""
        usual = HELD_OUT[self.recipe]
        sources, pairs = self.held_out_sources, self.held_out_pairs
        return usual if sources is None else sources, usual if pairs is None else pairs

    def pairs(self, folder: Path) -> TrainingPairs:
        """Encode what to learn from, or find it encoded in ``folder``.

        Raises:
            InputError: A file cannot be read or breaks its format.
        """
        return _PAIRS[self.described_kind.option](self, folder)

    def model_settings(self, pairs: TrainingPairs) -> ModelSettings:
        """Return the settings of the model to train on these pairs.

        Raises:
            SettingsError: A value is none that the kind knows.
        """
        kind = self.described_kind
        values = {
            "kind": kind.name,
            "source_vocabulary": len(pairs.source.vocabulary) if kind.reads_source else 0,
            "target_vocabulary": len(pairs.target.vocabulary),
            **kind.settings.completed(self.sizes),
        }
        return read_settings(values, where=f"--kind {kind.option}")


def _options_of(kind: Kind) -> set[str]:
    names = {each.name for each in dataclasses.fields(kind.settings)} - _VOCABULARIES
    return names | _OF_SOURCES if kind.reads_source else names - _OF_SOURCES


def _phrase_table_pairs(request: TrainingRequest, folder: Path) -> TrainingPairs:
    given = {"source_words": request.source_words, "target_words": request.target_words}
    settings = PairSettings(
        **{name: value for name, value in given.items() if value is not None},
        factor=request.sizes.get("factor", 0),
    )
    pairs = encode_table(request.inputs[0], folder, settings)
    return pairs.in_direction(request.sizes.get("direction", "source-target"))


_PAIRS: dict[str, Callable[[TrainingRequest, Path], TrainingPairs]] = {
    "phrase": _phrase_table_pairs
}
