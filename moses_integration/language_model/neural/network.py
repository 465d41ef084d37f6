"""A feed-forward language model, prepared for the words of one input.

The first layer is linear in each word of the history, so its product with every word's vector is
made once for each place: a history costs C additions of rows there. What remains is the second
layer, and the output layer for ln Z, which a self-normalised model may leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.language_model.neural.layers import (
    first_layer,
    ln_normalisers,
    rectify,
    scores_at,
)
from phrasescore.errors import ModelError
from phrasescore.model.folder import StoredWeights, load_weights
from phrasescore.model.kinds import kind_named
from phrasescore.model.model_settings import FeedForwardLmSettings

Floats = NDArray[np.float32]
Numbers = NDArray[np.int32]

_END = 0
_CHUNK = 1024  # histories: what a product needs to be fast, and what stays in a core's cache
_LOGITS_BYTES = 8 << 20


def read_feed_forward_lm(folder: str | Path) -> StoredWeights:
    """Read the folder of a language model that can work inside decoding.

    Raises:
        ModelError: It is not a model folder, or damaged, or of another kind.
    """
    stored = load_weights(folder)
    if not isinstance(stored.settings, FeedForwardLmSettings):
        kind = kind_named(stored.settings.kind)
        remedy = "name a model that train --kind feed-forward-lm made"
        if not kind.reads_source:
            remedy += "; a model that remembers the whole sentence scores n-best lists (nbest)"
        raise ModelError(
            f"a model of kind {kind.option}, and a decoder asks models of kind feed-forward-lm",
            path=folder,
            remedy=remedy,
        )
    for name, shape in _shapes(stored.settings).items():
        found = stored.weights[name].shape if name in stored.weights else None
        if found != shape:
            raise ModelError(
                f"the weights {name} have the shape {found}, and config.json says {shape}",
                path=folder,
                remedy="copy the folder again, or train the model again",
            )
    return stored


def _shapes(settings: FeedForwardLmSettings) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a model."""
    E, H, R, V = (
        settings.embedding,
        settings.hidden,
        settings.second_hidden,
        settings.target_vocabulary,
    )
    return {
        "embedding": (V + 1, E),
        "input_weight": ((settings.order - 1) * E, H),
        "input_bias": (H,),
        "hidden_weight": (H, R),
        "hidden_bias": (R,),
        "output_words": (V, R),
        "output_bias": (V,),
    }


class InputNetwork:
    """A language model that knows the W words of an input by number.

    The number W is the boundary of a sentence: its beginning in a history, its end as a word.

    Args:
        stored: The model.
        ids: Its own id of each of the input's words, shape (W,).
        ln_shares: What is added to ln p of each of these words, shape (W,).
        normalised: Whether scores are ln p; otherwise they lack ln Z, which is near 0 in a
            self-normalised model.
    """

    def __init__(
        self,
        stored: StoredWeights,
        ids: Sequence[int],
        ln_shares: Sequence[float],
        *,
        normalised: bool,
    ) -> None:
        settings, weights = stored.settings, stored.weights
        if not isinstance(settings, FeedForwardLmSettings):
            raise TypeError(f"no feed-forward language model: {settings.kind}")
        self.context = settings.order - 1
        self.width = settings.second_hidden
        self._normalised = normalised
        start = len(weights["embedding"]) - 1
        embedding = weights["embedding"][[*ids, start]]
        places = weights["input_weight"].reshape(self.context, settings.embedding, -1)
        self._tables = np.ascontiguousarray(np.matmul(embedding[None], places))
        self._input_bias = weights["input_bias"]
        self._hidden_weight = weights["hidden_weight"]
        self._hidden_bias = weights["hidden_bias"]
        self._all_words = weights["output_words"]
        self._all_bias = weights["output_bias"]
        asked = [*ids, _END]
        self._words = self._all_words[asked]
        self._bias = self._all_bias[asked] + np.array([*ln_shares, 0.0], np.float32)
        self._normaliser_rows = max(16, _LOGITS_BYTES // self._all_bias.nbytes)

    def read(self, histories: Numbers, vectors: Floats, normalisers: Floats) -> None:
        """Work out what the output layer sees of histories.

        Args:
            histories: Numbers of the input's words, the oldest first, shape (N, C) with C at least
                the words that this model looks at.
            vectors: Filled, shape (N, width).
            normalisers: Filled with ln Z, or with 0 if scores are to lack it, shape (N,).
        """
        histories = histories[:, histories.shape[1] - self.context :]
        hidden = np.empty((min(_CHUNK, len(histories)), self._input_bias.size), np.float32)
        for first in range(0, len(histories), _CHUNK):
            rows = slice(first, min(first + _CHUNK, len(histories)))
            inner = hidden[: rows.stop - first]
            first_layer(self._tables, self._input_bias, histories[rows], inner)
            np.matmul(inner, self._hidden_weight, out=vectors[rows])
            rectify(vectors[rows], self._hidden_bias)
        if self._normalised:
            self._normalise(vectors, normalisers)
        else:
            normalisers[:] = 0.0

    def _normalise(self, vectors: Floats, normalisers: Floats) -> None:
        most = max(1, min(self._normaliser_rows, len(vectors)))
        logits = np.empty((most, self._all_bias.size), np.float32)
        for first in range(0, len(vectors), most):
            part = vectors[first : first + most]
            np.matmul(part, self._all_words.T, out=logits[: len(part)])
            ln_normalisers(logits[: len(part)], self._all_bias, normalisers[first : first + most])

    def score(
        self, vectors: Floats, normalisers: Floats, rows: Numbers, words: Numbers, out: Floats
    ) -> None:
        """Score words after histories that `read` has worked out.

        Args:
            vectors: Of histories, shape (N, width).
            normalisers: Of these, shape (N,).
            rows: Which of them, shape (M,).
            words: Which word follows, shape (M,).
            out: Filled with natural logarithms, shape (M,).
        """
        scores_at(vectors, normalisers, rows, words, self._words, self._bias, out)
