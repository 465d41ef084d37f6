"""A feed-forward language model, read without torch and prepared for the words of one input.

The first layer is linear in each word of the history. So the layer's product with every word's
vector is computed once for each position in the history, and a history of C words then costs only C
additions of rows. The second layer, and the output layer for the normaliser ln Z, are computed for
each history; a self-normalised model may omit ln Z.

The compiled functions between the matrix products read their inputs once and write their results
once, on one core and without the interpreter's lock. Shapes: N histories of C words, W words of an
input, H and R hidden units of the two layers, V words that the model can predict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.model_files import text_tables
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.compiled import compiled_fast
from phrasescore.errors import InputError, ModelError, SettingsError
from phrasescore.model.fast_math import LOWEST_KEY, exp, order, unorder
from phrasescore.model.folder import LoadedModel, load_weights
from phrasescore.model.kinds import FeedForwardLmSettings, kind_named
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.words.known_words import KnownWords, first_words, known_words

Array = NDArray[np.generic]
_ZERO = np.float32(0.0)
Floats = NDArray[np.float32]
Numbers = NDArray[np.int32]
_END = 0
# The number of histories in one matrix product: large enough for speed, small enough for the cache
# of a core.
_CHUNK = 1024
_LOGITS_BYTES = 8 << 20


@compiled_fast
def first_layer(tables: Array, bias: Array, histories: Array, out: Array) -> None:
    """Add up the contributions of the words of each history, and apply the rectifier.

    Args:
        tables: ``(C, W, H)``, for each position the product of each word's vector with the first
            layer's rows for this position.
        bias: ``(H,)``.
        histories: ``(N, C)`` int32, the oldest word first.
        out: ``(N, H)``, filled.
    """
    places, H = tables.shape[0], tables.shape[2]
    for n in range(histories.shape[0]):
        row = out[n]
        for h in range(H):
            row[h] = bias[h]
        for place in range(places - 1):
            word = tables[place, histories[n, place]]
            for h in range(H):
                row[h] += word[h]
        word = tables[places - 1, histories[n, places - 1]]
        for h in range(H):
            row[h] = max(row[h] + word[h], _ZERO)


@compiled_fast
def ln_normalisers(logits: Array, bias: Array, out: Array) -> None:
    """Write ln of the sum of e^(logits + bias) over each row of ``logits (N, V)`` to ``out``."""
    for n in range(logits.shape[0]):
        row = logits[n]
        key = LOWEST_KEY
        for v in range(bias.size):
            row[v] += bias[v]
            key = max(key, order(row[v]))
        # subtracting the maximum keeps the exponentials within single precision
        highest = unorder(key)
        total = _ZERO
        for v in range(bias.size):
            total += exp(row[v] - highest)
        out[n] = highest + np.log(total)


@compiled_fast
def scores_at(
    vectors: Array,
    normalisers: Array,
    rows: Array,
    words: Array,
    output_words: Array,
    output_bias: Array,
    out: Array,
) -> None:
    """Score words after histories.

    Args:
        vectors: ``(N, R)``, the input of the output layer for each history.
        normalisers: ``(N,)``, ln Z of each history, or zeros to leave scores unnormalised.
        rows: ``(M,)`` int32, the index of the history of each score.
        words: ``(M,)`` int32, the index of the word of each score.
        output_words: ``(W, R)``.
        output_bias: ``(W,)``.
        out: ``(M,)``, filled.
    """
    for m in range(rows.size):
        vector, word = vectors[rows[m]], output_words[words[m]]
        total = _ZERO
        for r in range(word.size):
            total += vector[r] * word[r]
        out[m] = total + output_bias[words[m]] - normalisers[rows[m]]


def read_feed_forward_lm(folder: str | Path) -> LoadedModel:
    """Read the folder of a language model that can score during decoding.

    Raises:
        ModelError: The folder is not a model folder, is damaged, or has a model of another kind.
    """
    stored = load_weights(folder)
    if not isinstance(stored.settings, FeedForwardLmSettings):
        kind = kind_named(stored.settings.kind)
        remedy = "name a model that train --kind feed-forward-lm made"
        if not kind.reads_source:
            remedy += "; this model can score n-best lists (phrasescore nbest)"
        raise ModelError(
            f"a model of kind {kind.option}, but decoding needs a model of kind feed-forward-lm",
            path=folder,
            remedy=remedy,
        )
    for name, shape in _shapes(stored.settings).items():
        found = stored.weights[name].shape if name in stored.weights else None
        if found != shape:
            raise ModelError(
                f"the weights {name} have the shape {found}, but config.json says {shape}",
                path=folder,
                remedy="copy the folder again, or train the model again",
            )
    return stored


def _shapes(settings: FeedForwardLmSettings) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a model."""
    E, H = settings.embedding, settings.hidden
    R, V = settings.second_hidden, settings.target_vocabulary
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
    """A language model whose vocabulary is the W words of an input.

    The word index W marks a sentence boundary: the beginning in a history, the end as a predicted
    word.

    Args:
        stored: The model.
        ids: The model's id of each word of the input, shape (W,).
        ln_shares: The value to add to ln p of each word, shape (W,).
        normalised: Whether scores are ln p; otherwise they omit ln Z, which is near 0 in a
            self-normalised model.
    """

    def __init__(
        self,
        stored: LoadedModel,
        ids: Sequence[int],
        ln_shares: Sequence[float],
        *,
        normalised: bool,
    ) -> None:
        # `read_feed_forward_lm` checks the kind
        settings, weights = cast(FeedForwardLmSettings, stored.settings), stored.weights
        self._weights = weights
        self.context = settings.order - 1
        self.width = settings.second_hidden
        self._normalised = normalised
        embedding = weights["embedding"][[*ids, -1]]
        places = weights["input_weight"].reshape(self.context, settings.embedding, -1)
        self._tables = np.ascontiguousarray(np.matmul(embedding[None], places))
        asked = [*ids, _END]
        self._words = weights["output_words"][asked]
        self._bias = weights["output_bias"][asked] + np.array([*ln_shares, 0.0], np.float32)
        self._normaliser_rows = max(16, _LOGITS_BYTES // weights["output_bias"].nbytes)

    def read(self, histories: Numbers, vectors: Floats, normalisers: Floats) -> None:
        """Compute the last hidden layer of histories, and their normalisers.

        Args:
            histories: Indexes of the input's words, the oldest first, shape (N, C); C is at least
                the number of words that this model reads.
            vectors: Filled with the last hidden layer, shape (N, width).
            normalisers: Filled with ln Z, or with 0 if scores omit it, shape (N,).
        """
        histories, weights = histories[:, histories.shape[1] - self.context :], self._weights
        hidden = np.empty((min(_CHUNK, len(histories)), weights["input_bias"].size), np.float32)
        for first in range(0, len(histories), _CHUNK):
            part = vectors[first : first + _CHUNK]
            inner = hidden[: len(part)]
            words = histories[first : first + _CHUNK]
            first_layer(self._tables, weights["input_bias"], words, inner)
            np.matmul(inner, weights["hidden_weight"], out=part)
            part += weights["hidden_bias"]
            np.maximum(part, _ZERO, out=part)
        if self._normalised:
            self._normalise(vectors, normalisers)
        else:
            normalisers[:] = 0.0

    def _normalise(self, vectors: Floats, normalisers: Floats) -> None:
        rows = max(1, min(self._normaliser_rows, len(vectors)))
        bias = self._weights["output_bias"]
        logits = np.empty((rows, bias.size), np.float32)
        for first in range(0, len(vectors), rows):
            part = vectors[first : first + rows]
            np.matmul(part, self._weights["output_words"].T, out=logits[: len(part)])
            ln_normalisers(logits[: len(part)], bias, normalisers[first : first + rows])

    def score(
        self, vectors: Floats, normalisers: Floats, rows: Numbers, words: Numbers, out: Floats
    ) -> None:
        """Score words after histories that `read` has computed.

        Args:
            vectors: The vectors of histories, shape (N, width).
            normalisers: The normalisers of histories, shape (N,).
            rows: The index of the history of each score, shape (M,).
            words: The index of the word of each score, shape (M,).
            out: Filled with natural logarithms, shape (M,).
        """
        scores_at(vectors, normalisers, rows, words, self._words, self._bias, out)


def read_for_ini(folder: str, *, normalised: bool) -> LoadedModel:
    """Read a model for use in decoding.

    Args:
        folder: The folder of the model.
        normalised: Whether scores will be ln p; otherwise they omit ln Z.

    Raises:
        ModelError: The folder is not a model folder, is damaged, or has a model of another kind.
        SettingsError: The scores of the model cannot omit ln Z.
    """
    if folder == STANDARD_STREAM:
        raise SettingsError("a model cannot come from standard input", remedy="name a model folder")
    stored = read_feed_forward_lm(folder)
    if not normalised and not stored.settings.is_self_normalised:
        raise SettingsError(
            f"{folder} was not trained with --self-normalise, so without ln Z its scores are not "
            "log-probabilities",
            remedy="leave out --unnormalised (normalised=false in an ini), or train the model with "
            "--self-normalise",
        )
    return stored


def checked_words(ini: MosesIni, stored: LoadedModel) -> tuple[str, ...]:
    """Compare the words of a model with the words of an ini's phrase tables.

    Returns:
        A warning, without a final full stop, for each table of which the model knows few words.

    Raises:
        ModelError: The model seems to be a model of the system's source language.
    """
    warnings = []
    for words in table_words(ini, stored):
        if words.is_swapped:
            raise ModelError(words.problem, path=stored.path, remedy=words.remedy)
        if words.problem:
            warnings.append(f"{stored.path}: {words.problem}: {words.remedy}")
    return tuple(warnings)


def table_words(ini: MosesIni, stored: LoadedModel) -> Iterator[KnownWords]:
    """For each existing text table of an ini, yield the share of its words that a model knows."""
    for path in text_tables(ini):
        with contextlib.suppress(InputError):  # other checks report faults of the table
            sides, factor = stored.sides, stored.settings.factor
            yield known_words(path, first_words(path), sides, factor)
