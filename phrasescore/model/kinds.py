"""The kinds of model: what ``train --kind`` and ``config.json`` call each, and its settings.

Another kind is a line here, a file with its network beside this one, and its settings in
``model_settings``. Imports no torch until a network is built.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phrasescore.closed_settings import from_mapping
from phrasescore.errors import SettingsError, did_you_mean
from phrasescore.model.model_settings import (
    EncoderDecoderSettings,
    FeedForwardPhraseSettings,
    ModelSettings,
)

if TYPE_CHECKING:
    from phrasescore.model.sequence_model import SequenceModel


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    Attributes:
        option: What ``train --kind`` calls it.
        name: What ``config.json`` calls it.
        inputs: What ``train`` reads, in the words of its help; MODEL/ follows.
        settings: Its closed settings.
        network: ``module:class`` of the :class:`SequenceModel`, made from the settings.
        reads_source: Whether it has a source and so two vocabularies; a language model has none.
    """

    option: str
    name: str
    inputs: tuple[str, ...]
    settings: type[ModelSettings]
    network: str
    reads_source: bool = True


KINDS = (
    Kind(
        "phrase",
        "rnn-encoder-decoder",
        ("PHRASE-TABLE",),
        EncoderDecoderSettings,
        "phrasescore.model.encoder_decoder:EncoderDecoder",
    ),
    Kind(
        "feed-forward-phrase",
        "feed-forward-phrase",
        ("PHRASE-TABLE",),
        FeedForwardPhraseSettings,
        "phrasescore.model.feed_forward_phrase:FeedForwardPhrase",
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
        f"{name!r} is not a kind of model that this version knows{did_you_mean(name, known)}",
        remedy=f"the kinds are: {', '.join(known)}",
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
