"""How a model is trained: everything that its weights depend on, besides its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phrasescore.errors import SettingsError
from phrasescore.model.kinds import Material

RecipeName = Literal["fast", "paper"]

INPUT = "sha256 of the input"  # among what a run was asked for

# Where a recipe decides and the user does not. The authors of the translation models held nothing
# out and never stopped early; their language model stops after 10 passes without gain.
PATIENCE: dict[RecipeName, int] = {"fast": 5, "paper": 0}
PATIENCE_OF_TEXT: dict[RecipeName, int] = {"fast": 5, "paper": 10}
EVALUATIONS = 10
HELD_OUT: dict[RecipeName, int] = {"fast": 5000, "paper": 0}
# A sentence stands in few pairs, so those drawn by source and at random would be much the same.
HELD_OUT_SENTENCES: dict[RecipeName, int] = {"fast": 1000, "paper": 0}
# Of a text one sentence in a thousand, as in the paper, but no fewer than this.
HELD_OUT_OF_TEXT, HELD_OUT_SHARE_OF_TEXT = 500, 1000
MAX_LENGTH = 50  # words of a sentence to learn from, the larger of the paper's two
DROPOUT, LABEL_SMOOTHING = 0.3, 0.1  # of the fast recipe for sentences
DROPOUT_OF_TEXT = 0.15  # of the fast recipe for a text, whose labels are not smoothed


@dataclass(frozen=True)
class TrainingSettings:
    """The settings of one training run; stored in its checkpoints and in the model's provenance."""

    recipe: RecipeName = "fast"
    learns_from: Material = "phrases"  # which recipe of that name
    max_epochs: int | None = None  # passes over the training pairs; 0 writes the untrained model
    max_seconds: float | None = None  # of training, whichever ends first
    batch_size: int | None = None  # phrase pairs an update; the recipe's own if None
    learning_rate: float | None = None  # at its highest; the recipe's own if None
    held_out_sources: int = 0  # pairs whose sources are in no training pair
    held_out_pairs: int = 0  # pairs drawn at random from the rest
    evaluations: int | None = EVALUATIONS  # of the held-out pairs in a run; None: after each pass
    patience: int = 0  # evaluations without a better held-out figure before the end; 0: no end
    dropout: float = 0.0  # share of the elements of word vectors, contexts and readout
    label_smoothing: float = 0.0  # share of the probability that all words are given alike
    seed: int = 1
    precision: Literal["bf16", "fp32"] = "fp32"  # of the matrix products; sums stay in fp32

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        at_least = {"held_out_sources": 0, "held_out_pairs": 0, "evaluations": 1, "patience": 0}
        for name, least in {**at_least, "max_epochs": 0, "batch_size": 1}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SettingsError(f"{name} is {value}, below {least}")
        for name in ("max_seconds", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise SettingsError(f"{name} is {value}; it must be a number above 0")
        for name in ("dropout", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be 0 to below 1")
        if self.max_epochs is None and self.max_seconds is None and not self.patience:
            raise SettingsError(
                "neither max_epochs nor max_seconds nor patience is set: training has no end"
            )
