"""What a model is: everything its shape and its meaning depend on, as stored in ``config.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phrasescore.errors import SettingsError

Formulation = Literal["code", "appendix"]
Direction = Literal["source-target", "target-source"]


@dataclass(frozen=True)
class ModelSettings:
    """Sizes and choices of the RNN Encoder-Decoder; the defaults are section 4.1.1 of the paper."""

    source_vocabulary: int  # words the encoder knows, </s> and <unk> included
    target_vocabulary: int  # words the decoder knows, </s> and <unk> included
    hidden: int = 1000  # units of the encoder and of the decoder
    embedding: int = 100  # size of a word's vector, both sides
    maxout: int = 500  # maxout units, each the larger of two readout units
    rank: int = 100  # inner size of the factored output layer
    formulation: Formulation = "code"  # what the authors ran, or the paper's appendix
    direction: Direction = "source-target"  # which side of the table the encoder reads
    factor: int = 0  # which factor of a factored token it reads and predicts
    kind: Literal["rnn-encoder-decoder"] = "rnn-encoder-decoder"

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        for name in ("hidden", "embedding", "maxout", "rank"):
            if getattr(self, name) < 1:
                raise SettingsError(f"the model's {name} size is {getattr(self, name)}, below 1")
        if self.factor < 0:
            raise SettingsError(f"factor is {self.factor}; factors are counted from 0")
        for name in ("source_vocabulary", "target_vocabulary"):
            if getattr(self, name) < 2:
                raise SettingsError(f"{name} is {getattr(self, name)}: </s> and <unk> alone are 2")
