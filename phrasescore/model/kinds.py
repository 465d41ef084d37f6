"""The kinds of model: their settings, as in ``config.json``, their names, and their networks.

The settings of a model are all that determines its shape and meaning. To add a kind, write its
settings, a line in ``KINDS``, and a file in ``networks``. This module does not import torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from phrasescore.closed_settings import Between, check_bounds, from_mapping
from phrasescore.errors import SettingsError, did_you_mean

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
        return {"maxout": max(1, sizes.get("hidden", cls.hidden) // 2), **sizes}


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
        return {"alignment": sizes.get("hidden", cls.hidden), **super().completed(sizes)}


_LONGEST = 80  # maximum number of characters of a name in an error

# the material that a kind learns from: phrase pairs, sentence pairs, or text of one language
Material = Literal["phrases", "sentences", "text"]


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Attributes:
        option: Name in ``train --kind``.
        inputs: Names of the files that ``train`` reads, as shown in its help.
        settings: Class of its settings.
        network: ``module:class`` of the :class:`SequenceModel` in ``networks``.
        feature: Name of its scores in an n-best list, without the index that follows.
        reads_source: Whether it reads a source and so has two vocabularies; a language model does
            not.
        of_sentences: Whether it learns from and scores whole sentences, with optional dropout and
            label smoothing; otherwise it learns from and scores phrases.
        aligns: Whether it has alignments to source words (``AttentionModel.alignments``).
        summarises: Whether it encodes a source into one vector c (``SequenceModel.summaries``).
        fast_sizes: Sizes for the recipe ``fast``, where they differ from the defaults of
            ``settings``. The latter are from the papers, where training took days.
    """

    option: str
    inputs: tuple[str, ...]
    settings: type[ModelSettings]
    network: str
    feature: str = "PhraseModel"
    reads_source: bool = True
    of_sentences: bool = False
    aligns: bool = False
    summarises: bool = False
    fast_sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name in ``config.json``."""
        return self.settings.kind

    @property
    def learns_from(self) -> Material:
        """The kind of material that the model learns from."""
        if not self.of_sentences:
            return "phrases"
        return "sentences" if self.reads_source else "text"

    @property
    def translates(self) -> bool:
        """Whether it learns to translate sentences."""
        return self.learns_from == "sentences"


_TABLE, _TEXTS, _TEXT = ("PHRASE-TABLE",), ("SOURCE-TEXT", "TARGET-TEXT"), ("TEXT",)
_SENTENCE_SIZES = {"hidden": 512, "embedding": 256, "rank": 256}

KINDS = (
    Kind(
        "phrase", _TABLE, EncoderDecoderSettings, "encoder_decoder:EncoderDecoder", summarises=True
    ),
    Kind(
        "feed-forward-phrase",
        _TABLE,
        FeedForwardPhraseSettings,
        "feed_forward_phrase:FeedForwardPhrase",
    ),
    Kind(
        "search",
        _TEXTS,
        RnnSearchSettings,
        "attention_model:AttentionModel",
        feature="AttentionModel",
        of_sentences=True,
        aligns=True,
        fast_sizes=_SENTENCE_SIZES,
    ),
    Kind(
        "encdec",
        _TEXTS,
        RnnEncdecSettings,
        "attention_model:AttentionModel",
        feature="AttentionModel",
        of_sentences=True,
        summarises=True,
        fast_sizes=_SENTENCE_SIZES,
    ),
    Kind(
        "feed-forward-lm",
        _TEXT,
        FeedForwardLmSettings,
        "feed_forward_lm:FeedForwardLm",
        feature="NeuralLM",
        reads_source=False,
        of_sentences=True,
        fast_sizes={"embedding": 128, "hidden": 256, "second_hidden": 128},
    ),
    Kind(
        "rnn-lm",
        _TEXT,
        RnnLmSettings,
        "rnn_lm:RnnLm",
        feature="NeuralLM",
        reads_source=False,
        of_sentences=True,
        fast_sizes={"hidden": 256, "embedding": 128, "rank": 128},
    ),
)


def kind_named(name: str) -> Kind:
    """Return the kind of this name in ``train --kind`` or ``config.json``.

    Raises:
        SettingsError: There is no such kind.
    """
    for kind in KINDS:
        if name in (kind.option, kind.name):
            return kind
    known = [kind.name for kind in KINDS]
    raise SettingsError(
        f"{name[:_LONGEST]!r} is not a kind of model that this version knows"
        f"{did_you_mean(name[:_LONGEST], known)}",
        remedy=f"the kinds are: {', '.join(known)}",
    )


def read_settings(values: dict[str, object], *, where: str) -> ModelSettings:
    """Return the settings of a model from values by name; without ``kind``, of a phrase model.

    Raises:
        SettingsError: The kind or a setting is unknown, or a setting is missing or invalid.
    """
    kind = kind_named(str(values.get("kind", KINDS[0].name)))
    return from_mapping(kind.settings, values, where=where)
