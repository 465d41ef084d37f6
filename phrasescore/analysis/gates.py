"""What the gates of a hidden unit do over a phrase, word by word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from phrasescore.analysis.phrases import PhraseList
from phrasescore.errors import ModelError
from phrasescore.model.folder import LoadedModel
from phrasescore.model.kinds import kind_named
from phrasescore.model.networks.encoder_decoder import EncoderDecoder
from phrasescore.words.vocabulary import EOS

# a gate below the one is called shut, above the other open
SHUT, OPEN = 0.1, 0.9
_QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Gate:
    """One gate of one recurrence over a phrase.

    Args:
        side: ``encoder`` or ``decoder``.
        name: ``reset`` or ``update``; of an LSTM ``input``, ``forget`` or ``output``.
        words: L words, in the order in which they are read.
        values: ``(L, H)`` how far it is open at each word in each unit, from 0 to 1. An update gate
            that is open keeps the old state.
    """

    side: str
    name: str
    words: tuple[bytes, ...]
    values: NDArray[np.float32]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield for each word what its units do, by name."""
        low, middle, high = np.quantile(self.values, _QUANTILES, axis=1)
        for at, (word, units) in enumerate(zip(self.words, self.values, strict=True)):
            yield {
                "side": self.side,
                "gate": self.name,
                "position": at + 1,
                "word": word,
                "mean": float(units.mean()),
                "p10": float(low[at]),
                "median": float(middle[at]),
                "p90": float(high[at]),
                "shut": float((units < SHUT).mean()),
                "open": float((units > OPEN).mean()),
            }


def find_gates(
    loaded: LoadedModel, folder: str | Path, source: PhraseList, target: PhraseList | None
) -> list[Gate]:
    """Read a phrase, and find how far each gate is open at each of its words.

    Args:
        loaded: The model.
        folder: Its folder, for errors.
        source: The phrase that the encoder reads; its </s> follows.
        target: The one that the decoder reads as its own words, if that is asked for.

    Raises:
        ModelError: It is no phrase model with a recurrence, or its unit has no gates.
    """
    model = loaded.model
    if not isinstance(model, EncoderDecoder):
        option = kind_named(model.settings.kind).option
        raise ModelError(
            f"a model of kind {option} has no encoder of phrases whose gates could be shown",
            path=folder,
            remedy="name one of kind phrase",
        )
    names = model.encoder.gate_names
    if not names:
        raise ModelError(
            f"its {model.settings.unit} unit has no gates",
            path=folder,
            remedy="name a model trained with --unit gated or --unit lstm",
        )
    with torch.inference_mode():
        read = _ids(source)
        words = [*source.words_of(0), EOS]
        found = list(_split("encoder", names, words, model.encoder_gates(read)))
        if target is not None:
            values = model.decoder_gates(model.summaries(read), _ids(target))
            words = target.words_of(0)
            # in the appendix's formulation a step without a word comes first
            words = [b""] * (len(values) - len(words)) + words
            found += _split("decoder", names, words, values)
    return found


def _ids(phrase: PhraseList) -> Tensor:
    return torch.from_numpy(phrase.ids[0].astype(np.int64))[None]


def _split(
    side: str, names: Sequence[str], words: Sequence[bytes], values: Tensor
) -> Iterator[Gate]:
    """Yield the gates of a unit, those of section 2.3 in the paper's order, reset first."""
    parts = dict(zip(names, values[:, 0].chunk(len(names), dim=1), strict=True))
    for name in sorted(names, key=lambda each: each == "update"):
        yield Gate(side, name, tuple(words), parts[name].numpy())
