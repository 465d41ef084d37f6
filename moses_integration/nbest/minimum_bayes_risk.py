"""Minimum-Bayes-risk decoding of n-best lists (Kumar and Byrne 2004), like Moses's -mbr.

The risk of a candidate ``c`` is its expected loss: p(r) (1 - BLEU(c, r)), summed over all
candidates ``r`` of the list. The probability p(r) is proportional to exp(scale * model score). BLEU
is computed for single sentences, with add-one smoothing of orders 2 to 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moses_integration.bleu import References, bleu_of_sums
from phrasescore.words.token_sequences import offsets_of

_SMOOTHED_FROM = 2  # the lowest smoothed order, as in Moses's mbr.cpp


def expected_losses(
    candidates: Sequence[bytes], scores: ArrayLike, scale: float = 1.0
) -> NDArray[np.float64]:
    """Return the risk of every candidate.

    Args:
        candidates: N translations of one sentence, words separated by spaces.
        scores: The model scores (ln, not necessarily normalised), shape (N,).
        scale: The factor of the scores; with 0, all candidates are equally probable.

    Returns:
        Expected losses, between 0 and 1, shape (N,).

    >>> expected_losses([b"a b c d", b"a b c d", b"e"], [0.0, 0.0, -100.0]).round(3).tolist()
    [0.0, 0.0, 1.0]
    """
    count = len(candidates)
    scaled = scale * np.asarray(scores, np.float64)
    weights = np.exp(scaled - scaled.max())
    weights /= weights.sum()
    references = References([candidates])
    tokens, offsets = references.encode(candidates)
    # score every candidate with each candidate as its reference
    sizes = np.tile(np.diff(offsets), count)
    pairs = references.score_tokens(
        np.repeat(np.arange(count), count), np.tile(tokens, count), offsets_of(sizes)
    )
    losses = 1.0 - bleu_of_sums(pairs, added=1.0, first_order=_SMOOTHED_FROM).reshape(count, count)
    np.fill_diagonal(losses, 0.0)
    return weights @ losses
