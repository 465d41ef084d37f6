"""The kinds of model: what ``train --kind`` and ``config.json`` call each, and its settings.

Another kind is a line here, a file with its network beside this one, and its settings in
``model_settings``. Imports no torch until a network is built.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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

_LONGEST = 80  # characters of a name in an error

# pairs of phrases, pairs of sentences, or sentences of one language
Material = Literal["phrases", "sentences", "text"]


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Attributes:
        option: What ``train --kind`` calls it.
        name: What ``config.json`` calls it.
        inputs: What ``train`` reads, in the words of its help; MODEL/ follows.
        settings: Its closed settings.
        network: ``module:class`` of the :class:`SequenceModel`, made from the settings.
        feature: What its scores are called in an n-best list; a number follows.
        reads_source: Whether it has a source and so two vocabularies; a language model has none.
        of_sentences: Whether it is learned from, and scores, whole sentences, with dropout and
            smoothed labels if wanted; otherwise phrases.
        aligns: Whether it says which source words it looks at (``AttentionModel.alignments``).
        summarises: Whether it reads a source into one vector c (``summaries``).
        widths_compared: Whether several widths were compared in the same time, so that training may
            advise a narrower one.
        fast_sizes: Sizes for the recipe ``fast`` where the settings' own are those of a paper that
            trained for days.
    """

    option: str
    name: str
    inputs: tuple[str, ...]
    settings: type[ModelSettings]
    network: str
    feature: str = "PhraseModel"
    reads_source: bool = True
    of_sentences: bool = False
    aligns: bool = False
    summarises: bool = False
    widths_compared: bool = False
    fast_sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def learns_from(self) -> Material:
        """What ``train`` reads."""
        if not self.of_sentences:
            return "phrases"
        return "sentences" if self.reads_source else "text"


def _language_model(
    name: str, settings: type[ModelSettings], network: str, fast_sizes: Mapping[str, int]
) -> Kind:
    return Kind(
        name,
        name,
        ("TEXT",),
        settings,
        f"phrasescore.model.networks.{network}",
        feature="NeuralLM",
        reads_source=False,
        of_sentences=True,
        fast_sizes=fast_sizes,
    )


_TEXTS = ("SOURCE-TEXT", "TARGET-TEXT")
_FAST_SIZES = {"hidden": 512, "embedding": 256, "rank": 256}


def _sentence_kind(option: str, settings: type[ModelSettings]) -> Kind:
    return Kind(
        option,
        f"rnn-{option}",
        _TEXTS,
        settings,
        "phrasescore.model.networks.attention_model:AttentionModel",
        feature="AttentionModel",
        of_sentences=True,
        aligns=settings is RnnSearchSettings,
        summarises=settings is RnnEncdecSettings,
        fast_sizes=_FAST_SIZES,
    )


KINDS = (
    Kind(
        "phrase",
        "rnn-encoder-decoder",
        ("PHRASE-TABLE",),
        EncoderDecoderSettings,
        "phrasescore.model.networks.encoder_decoder:EncoderDecoder",
        summarises=True,
        widths_compared=True,
    ),
    Kind(
        "feed-forward-phrase",
        "feed-forward-phrase",
        ("PHRASE-TABLE",),
        FeedForwardPhraseSettings,
        "phrasescore.model.networks.feed_forward_phrase:FeedForwardPhrase",
    ),
    _sentence_kind("search", RnnSearchSettings),
    _sentence_kind("encdec", RnnEncdecSettings),
    _language_model(
        "feed-forward-lm",
        FeedForwardLmSettings,
        "feed_forward_lm:FeedForwardLm",
        {"embedding": 128, "hidden": 256, "second_hidden": 128},
    ),
    _language_model(
        "rnn-lm", RnnLmSettings, "rnn_lm:RnnLm", {"hidden": 256, "embedding": 128, "rank": 128}
    ),
)


def kind_named(name: str) -> Kind:
    """Return the kind that ``train --kind`` or ``config.json`` calls so.

    Raises:
        SettingsError: There is none.
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


def must_read_a_source(settings: ModelSettings, folder: str | Path) -> None:
    """Refuse a language model where something is translated or scored as a translation.

    Args:
        settings: The model's.
        folder: Where it is, for the error.

    Raises:
        ModelError: It is a language model.
    """
    kind = kind_named(settings.kind)
    if not kind.reads_source:
        raise ModelError(
            f"a model of kind {kind.option} is a language model, which reads no source",
            path=folder,
            remedy="use it with score-text or nbest; ini add-language-model gives one of "
            "kind feed-forward-lm to the decoder",
        )


def must_be_of_phrases(settings: ModelSettings, folder: str | Path) -> None:
    """Refuse a model of sentences where a phrase table is scored or written.

    Args:
        settings: The model's.
        folder: Where it is, for the error.

    Raises:
        ModelError: It is one of sentences, or a language model.
    """
    must_read_a_source(settings, folder)
    kind = kind_named(settings.kind)
    if kind.of_sentences:
        raise ModelError(
            f"a model of kind {kind.option} has learnt from sentences, and a phrase table has "
            "phrases",
            path=folder,
            remedy="name a phrase model; score-text and translate are for models of sentences",
        )


def must_write_targets(settings: ModelSettings, folder: str | Path) -> None:
    """Refuse a model that does not write targets for the sources of a phrase table.

    Args:
        settings: The model's.
        folder: Where it is, for the error.

    Raises:
        ModelError: It is no model of phrases, or reads the targets of a table.
    """
    must_be_of_phrases(settings, folder)
    if settings.direction == "target-source":
        raise ModelError(
            "it reads the target side of a table and writes sources",
            path=folder,
            remedy="name a model trained with --direction source-target",
        )


def must_summarise(settings: ModelSettings, folder: str | Path) -> None:
    """Refuse a model that makes no summary c of a source.

    Args:
        settings: The model's.
        folder: Where it is, for the error.

    Raises:
        ModelError: Its kind has none.
    """
    kind = kind_named(settings.kind)
    if not kind.summarises:
        having = " and ".join(each.option for each in KINDS if each.summarises)
        raise ModelError(
            f"a model of kind {kind.option} makes no summary of a phrase",
            path=folder,
            remedy=f"add --words for its word vectors; models of kind {having} have summaries",
        )


def read_settings(values: dict[str, Any], *, where: str) -> ModelSettings:
    """Build a model's settings from their names, ``kind`` among them.

    Raises:
        SettingsError: The kind, or a setting of it, is unknown, missing or mistyped.
    """
    kind = kind_named(str(values.get("kind", KINDS[0].name)))
    return from_mapping(kind.settings, values, where=where)


def build(settings: ModelSettings) -> SequenceModel:
    """Return an uninitialised model of the kind that the settings name."""
    module, _, name = kind_named(settings.kind).network.partition(":")
    network: SequenceModel = getattr(importlib.import_module(module), name)(settings)
    return network
