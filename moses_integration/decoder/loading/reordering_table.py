"""Lexicalised reordering scores of table entries, found by source and target phrase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import OrientationPlaces
from moses_integration.decoder.features.reordering_feature import ReorderingFeature
from moses_integration.decoder.loading.table_loading import TableEntries
from phrasescore.compiled import borrowed, compiled

_NONE = -1


class PhrasePairKeys(NamedTuple):
    """What phrase pairs are found by: the number of the source phrase, and the target words.

    Attributes:
        phrases: Source phrase of each pair, shape (pairs,).
        offsets: Where its target begins in ``words``, shape (pairs + 1,).
        words: Target words.
    """

    phrases: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: NDArray[np.int32]


@compiled
def _digest(phrase: int, words: NDArray[np.int32]) -> np.uint64:
    digest = np.uint64(phrase) * np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        digest = (digest ^ np.uint64(word)) * np.uint64(0xBF58476D1CE4E5B9)
        digest ^= digest >> np.uint64(32)
    return digest


@compiled
def _find_rows(
    table: PhrasePairKeys,
    wanted: PhrasePairKeys,
    heads: NDArray[np.int64],
    chain: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    table, wanted, heads, chain, found = borrowed((table, wanted, heads, chain, found))
    mask = np.uint64(heads.size - 1)
    for row in range(table.phrases.size):
        words = table.words[table.offsets[row] : table.offsets[row + 1]]
        bucket = _digest(table.phrases[row], words) & mask
        chain[row] = heads[bucket]
        heads[bucket] = row
    for pair in range(found.size):
        target = wanted.words[wanted.offsets[pair] : wanted.offsets[pair + 1]]
        # the latest row comes first in its chain
        row = heads[_digest(wanted.phrases[pair], target) & mask]
        while row != _NONE:
            same = table.phrases[row] == wanted.phrases[pair]
            same = same and table.offsets[row + 1] - table.offsets[row] == target.size
            at = 0
            while same and at < target.size:
                same = table.words[table.offsets[row] + at] == target[at]
                at += 1
            if same:
                found[pair] = row
                break
            row = chain[row]


def find_rows(table: PhrasePairKeys, wanted: PhrasePairKeys) -> NDArray[np.int64]:
    """Find for every wanted phrase pair the last row of a table that has it, -1 for none.

    Args:
        table: The pairs of the table; the word -1 is one that no wanted pair has.
        wanted: The wanted pairs.
    """
    rows = table.phrases.size
    heads = np.full(1 << max(10, (2 * rows - 1).bit_length()), _NONE, np.int64)
    found = np.full(wanted.phrases.size, _NONE, np.int64)
    _find_rows(table, wanted, heads, np.empty(rows, np.int64), found)
    return found


def reordering_scores(
    feature: ReorderingFeature, table: TableEntries, rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the scores of entries: those of their row, or the default.

    Args:
        feature: The model.
        table: Its table.
        rows: The row of each entry, -1 for none, shape (E,).

    Returns:
        ln scores, shape (E, columns).
    """
    missing = np.array(feature.default_ln or (0.0,) * feature.columns, np.float32)
    scores = np.tile(missing, (rows.size, 1))
    scores[rows >= 0] = table.scores[rows[rows >= 0]]
    return scores


def forward_classes(
    features: Sequence[ReorderingFeature],
    scores: Sequence[NDArray[np.float32]],
    rows: Sequence[NDArray[np.int64]],
    entries: int,
) -> NDArray[np.int32]:
    """Number the entries so that those with equal forward scores get equal numbers.

    Hypotheses recombine only if what the models will say of the next phrase is equal; an entry
    that is missing equals only another missing one.
    """
    columns = [np.zeros((entries, 1), np.float32)]
    for feature, values, found in zip(features, scores, rows, strict=True):
        if feature.forward:
            used = sorted(set(feature.forward_columns()))
            columns += [values[:, used], (found >= 0)[:, None].astype(np.float32)]
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, classes = np.unique(keys, return_inverse=True)
    return classes.astype(np.int32)


def add_weighted(
    totals: NDArray[np.float32],
    values: NDArray[np.float32],
    weights: NDArray[np.float64],
    places: OrientationPlaces,
) -> None:
    """Add what all reordering models say of entries after each class of orientation.

    Args:
        totals: Where to add, shape (classes, E).
        values: ln scores of the entries, shape (E, columns).
        weights: The weights of all features.
        places: Which of the scores count, and which weights they take.
    """
    for columns, components in zip(*places, strict=True):
        for turn, (column, component) in enumerate(zip(columns, components, strict=True)):
            if column >= 0:
                totals[turn] += (values[:, column] * weights[component]).astype(np.float32)
