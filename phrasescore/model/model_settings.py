"""What a model is: everything its shape and its meaning depend on, as stored in ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from phrasescore.errors import SettingsError

Formulation = Literal["code", "appendix"]
Reading = Literal["code", "paper"]
Direction = Literal["source-target", "target-source"]
UnitName = Literal["gated", "tanh", "lstm"]
ContextName = Literal["every-step", "once"]

_MOST = 100_000_000  # of any size: a product of two, in bytes, is still a number that torch counts


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What models of every kind have; each kind adds its sizes and choices.

    Attributes:
        kind: Its name in ``config.json``.
        source_vocabulary: Words it reads, </s> and <unk> included; 0 for a kind without a source.
        target_vocabulary: Words it predicts, </s> and <unk> included.
        direction: Which side of a pair it reads.
        factor: Which factor of a factored token it reads and predicts.
    """

    kind: str
    source_vocabulary: int
    target_vocabulary: int
    direction: Direction = "source-target"
    factor: int = 0

    @classmethod
    def completed(cls, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings by name, with those that follow from the ones given."""
        return dict(sizes)

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        if not 0 <= self.factor <= _MOST:
            raise SettingsError(
                f"factor is {self.factor}; factors are counted from 0, and there are few"
            )
        self._at_least(2, ("target_vocabulary",), ": </s> and <unk> alone are 2")

    def _at_least(self, least: int, names: tuple[str, ...], why: str = "") -> None:
        for name in names:
            value = getattr(self, name)
            if value < least:
                raise SettingsError(f"the model's {name} is {value}, below {least}{why}")
            if value > _MOST:
                raise SettingsError(f"the model's {name} is {value}, above {_MOST:,}")


@dataclass(frozen=True, kw_only=True)
class _ReadoutSettings(ModelSettings):
    """Sizes of the models whose decoder ends in maxout units and a factored output layer."""

    _reads: ClassVar[bool] = True  # whether there is a source
    hidden: int = 1000
    embedding: int
    maxout: int = 500
    rank: int

    @classmethod
    def completed(cls, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings by name; half as many maxout units as hidden ones, as in the papers."""
        hidden = sizes.get("hidden", cls.hidden)
        return {"maxout": max(1, hidden // 2), **sizes}

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        super().__post_init__()
        if self._reads:
            self._at_least(2, ("source_vocabulary",), ": </s> and <unk> alone are 2")
        self._at_least(1, ("hidden", "embedding", "maxout", "rank"))


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderSettings(_ReadoutSettings):
    """Sizes and choices of the RNN Encoder-Decoder; the defaults are section 4.1.1 of the paper."""

    hidden: int = 1000  # units of the encoder and of the decoder
    embedding: int = 100  # size of a word's vector, both sides
    maxout: int = 500  # maxout units, each the larger of two readout units
    rank: int = 100  # inner size of the factored output layer
    unit: UnitName = "gated"  # the hidden unit of section 2.3, a plain tanh layer, or an LSTM
    context: ContextName = "every-step"  # where the decoder sees the summary c; once: at its start
    formulation: Formulation = "code"  # what the authors ran, or the paper's appendix
    kind: Literal["rnn-encoder-decoder"] = "rnn-encoder-decoder"


@dataclass(frozen=True, kw_only=True)
class FeedForwardPhraseSettings(ModelSettings):
    """Sizes of the feed-forward phrase model."""

    hidden: int = 500  # units of each of the two hidden layers
    embedding: int = 100  # size of a word's vector
    rank: int = 100  # inner size of the output layer, for each place
    phrase_length: int = 7  # the most words that it reads and writes
    kind: Literal["feed-forward-phrase"] = "feed-forward-phrase"

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        super().__post_init__()
        self._at_least(2, ("source_vocabulary",), ": </s> and <unk> alone are 2")
        self._at_least(1, ("hidden", "embedding", "rank", "phrase_length"))


@dataclass(frozen=True, kw_only=True)
class FeedForwardLmSettings(ModelSettings):
    """Sizes of the feed-forward language model; the defaults are section 4.1.2 of Cho et al."""

    order: int = 7  # of the n-grams: a word is predicted from so many words before it, less one
    embedding: int = 512  # size of a word's vector
    hidden: int = 1536  # units of the first hidden layer
    second_hidden: int = 1024  # units of the second
    self_normalise: float = 0.0  # weight of (ln Z)^2 in the loss (Devlin et al., 2014); 0: none
    source_vocabulary: int = 0
    kind: Literal["feed-forward-lm"] = "feed-forward-lm"

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        super().__post_init__()
        self._at_least(2, ("order",), ": an n-gram is a word and at least one before it")
        self._at_least(1, ("embedding", "hidden", "second_hidden"))
        if not 0 <= self.self_normalise < float("inf"):
            raise SettingsError(
                f"self_normalise is {self.self_normalise}; it must be 0, which is off, or more"
            )


@dataclass(frozen=True, kw_only=True)
class RnnLmSettings(_ReadoutSettings):
    """Sizes of the recurrent language model; the defaults are those of EncoderDecoderSettings."""

    _reads: ClassVar[bool] = False
    hidden: int = 1000  # hidden units
    embedding: int = 100  # size of a word's vector
    maxout: int = 500  # maxout units, each the larger of two readout units
    rank: int = 100  # inner size of the factored output layer
    unit: UnitName = "gated"  # the hidden unit of Cho et al., a plain tanh layer, or an LSTM
    source_vocabulary: int = 0
    kind: Literal["rnn-lm"] = "rnn-lm"


@dataclass(frozen=True, kw_only=True)
class _SentenceModelSettings(_ReadoutSettings):
    """What RNNencdec and RNNsearch share; the defaults are appendix A.2.3 and B.2 of the paper."""

    hidden: int = 1000  # units of each direction of the encoder, and of the decoder
    embedding: int = 620  # size of a word's vector, both sides
    maxout: int = 500  # maxout units, each the larger of two readout units
    rank: int = 620  # inner size of the factored output layer (the authors' program)
    formulation: Reading = "code"  # what the authors ran, or section 3.1 of the paper


@dataclass(frozen=True, kw_only=True)
class RnnEncdecSettings(_SentenceModelSettings):
    """Sizes of RNNencdec, the encoder-decoder on sentences (Bahdanau et al., 2014)."""

    kind: Literal["rnn-encdec"] = "rnn-encdec"


@dataclass(frozen=True, kw_only=True)
class RnnSearchSettings(_SentenceModelSettings):
    """Sizes of RNNsearch, the model with attention (Bahdanau et al., 2014)."""

    alignment: int = 1000  # units of the alignment model
    kind: Literal["rnn-search"] = "rnn-search"

    @classmethod
    def completed(cls, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings by name; as many alignment units as hidden ones, as in the paper."""
        hidden = sizes.get("hidden", cls.hidden)
        return {"alignment": hidden, **super().completed(sizes)}

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        super().__post_init__()
        self._at_least(1, ("alignment",))
