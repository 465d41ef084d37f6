"""The kinds of model: their names in ``train --kind`` and ``config.json``, settings and networks.

To add a kind, write a line in ``KINDS``, a file in ``networks``, and settings in
``model_settings``. This module imports torch only when it builds a network.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import ModelError, SettingsError, did_you_mean
from phrasescore.model.model_settings import (
    EncoderDecoderSettings,
    FeedForwardLmSettings,
    FeedForwardPhraseSettings,
    ModelSettings,
    RnnEncdecSettings,
    RnnLmSettings,
    RnnSearchSettings,
)

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel

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


def unsuitable(
    settings: ModelSettings, folder: str | Path, problem: str, remedy: str
) -> ModelError:
    """Return the error for a model whose kind is unsuitable for a purpose."""
    option = kind_named(settings.kind).option
    return ModelError(f"a model of kind {option} {problem}", path=folder, remedy=remedy)


def must_read_a_source(settings: ModelSettings, folder: str | Path) -> None:
    """Raise a ModelError if the model in ``folder`` is a language model, which reads no source."""
    if not kind_named(settings.kind).reads_source:
        raise unsuitable(
            settings,
            folder,
            "is a language model, which reads no source",
            "use it with score-text or nbest; ini add-language-model gives one of kind "
            "feed-forward-lm to the decoder",
        )


def must_be_of_phrases(settings: ModelSettings, folder: str | Path) -> None:
    """Raise a ModelError if the model in ``folder`` scores sentences or texts, not phrases."""
    must_read_a_source(settings, folder)
    if kind_named(settings.kind).of_sentences:
        raise unsuitable(
            settings,
            folder,
            "has learnt from sentences, but a phrase table has phrases",
            "name a phrase model; score-text and translate are for models of sentences",
        )


def must_write_targets(settings: ModelSettings, folder: str | Path) -> None:
    """Raise a ModelError if the model in ``folder`` cannot generate targets for source phrases."""
    must_be_of_phrases(settings, folder)
    if settings.direction == "target-source":
        remedy = "name a model trained with --direction source-target"
        raise unsuitable(
            settings, folder, "with --direction target-source writes source phrases", remedy
        )


def must_summarise(settings: ModelSettings, folder: str | Path) -> None:
    """Raise a ModelError if the model in ``folder`` has no summary c of a source."""
    if not kind_named(settings.kind).summarises:
        having = " and ".join(each.option for each in KINDS if each.summarises)
        remedy = f"add --words for its word vectors; models of kind {having} have summaries"
        raise unsuitable(settings, folder, "makes no summary of a phrase", remedy)


def read_settings(values: dict[str, object], *, where: str) -> ModelSettings:
    """Return the settings of a model from values by name; without ``kind``, of a phrase model.

    Raises:
        SettingsError: The kind or a setting is unknown, or a setting is missing or invalid.
    """
    kind = kind_named(str(values.get("kind", KINDS[0].name)))
    return from_mapping(kind.settings, values, where=where)


def build(settings: ModelSettings) -> SequenceModel:
    """Return an uninitialised model of the kind that the settings name."""
    module, _, name = kind_named(settings.kind).network.partition(":")
    networks = importlib.import_module(f"phrasescore.model.networks.{module}")
    network: SequenceModel = getattr(networks, name)(settings)
    return network
