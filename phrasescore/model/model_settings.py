"""Settings of models, as in ``config.json``: all that determines a model's shape and meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from phrasescore.closed_settings import Between, check_bounds

Formulation = Literal["code", "appendix"]
Reading = Literal["code", "paper"]
Direction = Literal["source-target", "target-source"]
UnitName = Literal["gated", "tanh", "lstm"]
ContextName = Literal["every-step", "once"]

_MAX = 100_000_000  # the maximum of any size; the product of two fits torch's 64-bit sizes
Size = Annotated[int, Between(1, _MAX)]
Words = Annotated[int, Between(2, _MAX)]  # a vocabulary has at least </s> and <unk>
NoWords = Annotated[int, Between(0, _MAX)]  # 0 for a kind that reads no source


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The settings that all kinds of model have; each kind adds its own.

    Attributes:
        kind: Name in ``config.json``.
        source_vocabulary: Number of words to read, </s> and <unk> included; 0 for a language model.
        target_vocabulary: Number of words to predict, </s> and <unk> included.
        hidden: Number of units in a hidden layer; the settings of a kind say in which layers.
        direction: ``source-target``, or ``target-source`` for a model that reads target sides.
        factor: Index, from 0, of the factor that the model reads and predicts.
    """

    kind: str = ""
    source_vocabulary: Words
    target_vocabulary: Words
    hidden: Size
    direction: Direction = "source-target"
    factor: Annotated[int, Between(0, _MAX)] = 0

    @classmethod
    def completed(cls, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return the given settings by name, and defaults that depend on these settings."""
        return dict(sizes)

    @property
    def is_self_normalised(self) -> bool:
        """Whether training keeps the softmax normaliser Z near 1."""
        return False

    def __post_init__(self) -> None:
        """Refuse sizes out of bounds."""
        check_bounds(self, "the model's ")


@dataclass(frozen=True, kw_only=True)
class _ReadoutSettings(ModelSettings):
    """Sizes for maxout units and a factored output layer; defaults from Cho et al. (2014)."""

    hidden: Size = 1000  # units of the encoder and of the decoder
    embedding: Size = 100  # size of a word's vector, both sides
    maxout: Size = 500  # maxout units, each the larger of two readout units
    rank: Size = 100  # inner size of the factored output layer

    @classmethod
    def completed(cls, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return the settings by name; by default, ``maxout`` is half of ``hidden``."""
        hidden = sizes.get("hidden", cls.hidden)
        return {"maxout": max(1, hidden // 2), **sizes}


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderSettings(_ReadoutSettings):
    """Sizes and choices of the RNN Encoder-Decoder; defaults from section 4.1.1 of Cho et al."""

    unit: UnitName = "gated"  # the hidden unit of section 2.3, a plain tanh layer, or an LSTM
    # whether the decoder sees the summary c of the source at every step or only at its start
    context: ContextName = "every-step"
    formulation: Formulation = "code"  # as in the authors' program, or as in the paper's appendix
    kind: Literal["rnn-encoder-decoder"] = "rnn-encoder-decoder"


@dataclass(frozen=True, kw_only=True)
class FeedForwardPhraseSettings(ModelSettings):
    """Sizes of the feed-forward phrase model."""

    hidden: Size = 500  # units of each of the two hidden layers
    embedding: Size = 100  # size of a word's vector
    rank: Size = 100  # inner size of the output layer at each position of the target phrase
    phrase_length: Size = 7  # maximum number of words of a phrase, on both sides
    kind: Literal["feed-forward-phrase"] = "feed-forward-phrase"


@dataclass(frozen=True, kw_only=True)
class FeedForwardLmSettings(ModelSettings):
    """Sizes of the feed-forward language model; defaults from section 4.1.2 of Cho et al."""

    # length n of the n-grams: each word is predicted from the n - 1 words before it
    order: Annotated[int, Between(2, _MAX)] = 7
    embedding: Size = 512  # size of a word's vector
    hidden: Size = 1536  # units of the first hidden layer
    second_hidden: Size = 1024  # units of the second hidden layer
    # weight of (ln Z)^2 in the loss (Devlin et al., 2014)
    self_normalise: Annotated[float, Between(0, math.inf, below=True)] = 0.0
    source_vocabulary: NoWords = 0
    kind: Literal["feed-forward-lm"] = "feed-forward-lm"

    @property
    def is_self_normalised(self) -> bool:
        """See :attr:`ModelSettings.is_self_normalised`."""
        return self.self_normalise > 0


@dataclass(frozen=True, kw_only=True)
class RnnLmSettings(_ReadoutSettings):
    """Sizes of the recurrent language model; the defaults are as in EncoderDecoderSettings."""

    unit: UnitName = "gated"  # the hidden unit of Cho et al., a plain tanh layer, or an LSTM
    source_vocabulary: NoWords = 0
    kind: Literal["rnn-lm"] = "rnn-lm"


@dataclass(frozen=True, kw_only=True)
class _SentenceModelSettings(_ReadoutSettings):
    """Settings of RNNencdec and RNNsearch; defaults from Bahdanau et al. (2014), A.2.3 and B.2."""

    embedding: Size = 620  # size of a word's vector, both sides
    rank: Size = 620  # inner size of the factored output layer, as in the authors' program
    formulation: Reading = "code"  # as in the authors' program, or as in section 3.1


@dataclass(frozen=True, kw_only=True)
class RnnEncdecSettings(_SentenceModelSettings):
    """Sizes of RNNencdec, the encoder-decoder on sentences (Bahdanau et al., 2014)."""

    kind: Literal["rnn-encdec"] = "rnn-encdec"


@dataclass(frozen=True, kw_only=True)
class RnnSearchSettings(_SentenceModelSettings):
    """Sizes of RNNsearch, the model with attention (Bahdanau et al., 2014)."""

    alignment: Size = 1000  # units of the alignment model
    kind: Literal["rnn-search"] = "rnn-search"

    @classmethod
    def completed(cls, sizes: Mapping[str, int]) -> dict[str, object]:
        """Return the settings by name; by default, ``alignment`` is ``hidden``, as in the paper."""
        hidden = sizes.get("hidden", cls.hidden)
        return {"alignment": hidden, **super().completed(sizes)}
