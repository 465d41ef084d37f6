"""The passes between the products of a feed-forward language model, compiled.

Each reads its inputs once and writes its results once, on one core and without the interpreter's
lock. N histories, C words in each, W words of an input, H and R hidden units, V words predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from phrasescore.compiled import compiled_with
from phrasescore.model.fast_math import FAST, exp, order, unorder

Array = npt.NDArray[Any]

_compiled = compiled_with(fastmath=FAST, error_model="numpy")
_ZERO = np.float32(0.0)
_LEAST_KEY = np.int32(-0x80000000)


@_compiled
def first_layer(tables: Array, bias: Array, histories: Array, out: Array) -> None:
    """Add up what each word of a history brings at its place, and rectify.

    Args:
        tables: ``(C, W, H)``, the product of each word's vector with the rows of its place.
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


@_compiled
def rectify(values: Array, bias: Array) -> None:
    """Add a bias to the rows of ``values (N, R)``, and rectify them."""
    for n in range(values.shape[0]):
        row = values[n]
        for r in range(bias.size):
            row[r] = max(row[r] + bias[r], _ZERO)


@_compiled
def ln_normalisers(logits: Array, bias: Array, out: Array) -> None:
    """Write ln of the sum of e^(logits + bias) over each row of ``logits (N, V)`` to ``out``."""
    for n in range(logits.shape[0]):
        row = logits[n]
        key = _LEAST_KEY
        for v in range(bias.size):
            row[v] += bias[v]
            key = max(key, order(row[v]))
        most = unorder(key)
        total = _ZERO
        for v in range(bias.size):
            total += exp(row[v] - most)
        out[n] = most + np.log(total)


@_compiled
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
        vectors: ``(N, R)``, what the output layer sees of each history.
        normalisers: ``(N,)``, ln Z of each; zeros where scores stay as they are.
        rows: ``(M,)`` int32, which history.
        words: ``(M,)`` int32, which word.
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
