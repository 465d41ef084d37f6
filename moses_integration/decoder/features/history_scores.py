"""Scores of what a search asked neural language models, worked out for many histories at once.

A history goes through a network once, however many words are asked after it and however often:
what the output layer sees of it is kept as long as there is room.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.neural_models import NeuralModels
from moses_integration.decoder.runs import taken_runs
from moses_integration.decoder.search.histories import (
    Histories,
    clear_histories,
    new_histories,
    walk,
    with_room,
)
from moses_integration.language_model.neural import InputNetwork
from phrasescore.compiled import Records, compiled

_FIRST_KEPT = 1 << 12  # histories
_KEPT_BYTES = 64 << 20  # of their vectors at most, for each model
_NONE = -1


class _KeptVectors:
    """What one network made of the histories of a sentence."""

    def __init__(self, network: InputNetwork) -> None:
        self._network = network
        self._most = max(_FIRST_KEPT, _KEPT_BYTES // (4 * network.width))
        self._row_of = np.empty(0, np.int32)  # of each node, -1 for none
        self._make(_FIRST_KEPT)
        self._used = self.read = 0

    def _make(self, rows: int) -> None:
        self._vectors = np.empty((rows, self._network.width), np.float32)
        self._normalisers = np.empty(rows, np.float32)

    def clear(self) -> None:
        """Forget all histories; count from 0."""
        self._row_of[:] = _NONE
        self._used = self.read = 0

    def score(self, histories: Histories, first: int, out: NDArray[np.float32]) -> None:
        """Score the edges of a graph from ``first`` on; ``out`` has a place for each of them."""
        if len(self._row_of) < len(histories.contexts):
            more = np.full(len(histories.contexts) - len(self._row_of), _NONE, np.int32)
            self._row_of = np.concatenate([self._row_of, more])
        edges = histories.edges[first : first + len(out)]
        self._make_room(len(edges))
        rows, words = np.empty(len(edges), np.int32), np.empty(len(edges), np.int32)
        new = np.empty((len(edges), histories.contexts.shape[1]), np.int32)
        count = _find_rows(edges, histories.contexts, self._row_of, self._used, rows, words, new)
        part = slice(self._used, self._used + count)
        self._network.read(new[:count], self._vectors[part], self._normalisers[part])
        self._used += count
        self.read += count
        self._network.score(self._vectors, self._normalisers, rows, words, out)

    def _make_room(self, rows: int) -> None:
        """Make room for so many new histories, or else forget all that were read before."""
        needed = self._used + rows
        if needed <= len(self._vectors):
            return
        vectors, normalisers = self._vectors, self._normalisers
        if needed > self._most:
            self._row_of[:] = _NONE
            self._used, needed = 0, rows
        if needed > len(vectors):
            self._make(1 << (needed - 1).bit_length())
            self._vectors[: self._used] = vectors[: self._used]
            self._normalisers[: self._used] = normalisers[: self._used]


@compiled
def _find_rows(
    edges: Records,
    contexts: NDArray[np.int32],
    row_of: NDArray[np.int32],
    used: int,
    rows: NDArray[np.int32],
    words: NDArray[np.int32],
    new: NDArray[np.int32],
) -> int:
    """Find where the histories of edges are kept; give those that are not there the next rows.

    Args:
        edges: The edges, shape (M,).
        contexts: The words of each node, shape (nodes, C).
        row_of: The row of each node, -1 for none; filled where there was none.
        used: Rows in use.
        rows: Filled, shape (M,).
        words: Filled with the words of the edges, shape (M,).
        new: Filled with the words of the new histories, shape (M, C).

    Returns:
        How many histories are new.
    """
    count = 0
    for at in range(edges.size):
        node = edges[at].node
        words[at] = edges[at].word
        if row_of[node] == _NONE:
            row_of[node] = used + count
            for place in range(contexts.shape[1]):
                new[count, place] = contexts[node, place]
            count += 1
        rows[at] = row_of[node]
    return count


class HistoryScores:
    """The graph of one sentence's histories, with scores; one object for each thread.

    Args:
        models: The models, with their input.
    """

    def __init__(self, models: NeuralModels) -> None:
        self._models = models
        self.histories = new_histories(models.context)
        self._kept = [_KeptVectors(network) for network in models.networks]
        self._values = np.empty((len(models.networks), 0), np.float32)
        self.clear()

    def clear(self) -> None:
        """Forget what was asked."""
        if self._kept:
            clear_histories(self.histories, self._models.boundary)
        for kept in self._kept:
            kept.clear()

    @property
    def asked(self) -> int:
        """Words that were asked for, those asked before included."""
        return int(self.histories.used["asked"][0])

    @property
    def read(self) -> int:
        """Histories that went through a network, over all models."""
        return sum(kept.read for kept in self._kept)

    def make_room(self, words: int) -> None:
        """Make room for so many more words."""
        self.histories = with_room(self.histories, words)

    def score(self, weights: NDArray[np.float64]) -> None:
        """Work out the scores of all edges that have none.

        Args:
            weights: Of each model, shape (models,).
        """
        used = self.histories.used
        first, last = int(used["scored"][0]), int(used["edges"][0])
        if first == last:
            return
        if self._values.shape[1] < last:
            more = np.empty((len(self._kept), len(self.histories.edges)), np.float32)
            more[:, :first] = self._values[:, :first]
            self._values = more
        for kept, values in zip(self._kept, self._values, strict=True):
            kept.score(self.histories, first, values[first:last])
        weighted = weights @ self._values[:, first:last].astype(np.float64)
        self.histories.edges["score"][first:last] = weighted
        used["scored"] = last

    def values(
        self, derivations: Derivations, words: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the score of whole derivations by every model, shape (N, models).

        The end of the sentence counts, unless the last phrase is empty.

        Args:
            derivations: N derivations of one sentence.
            words: The target words of all entries, by number.
            offsets: Where those of each entry begin, shape (E + 1,).
        """
        ends, places = taken_runs(offsets, derivations.entries)
        self.make_room(len(places) + len(derivations))
        sums = np.zeros((len(derivations), len(self._kept)))
        phrases = (derivations.offsets, ends, words[places], self._models.boundary)
        unknown = np.empty((len(self._kept), 0), np.float32)
        _walk_derivations(self.histories, *phrases, unknown, sums)
        self.score(np.zeros(len(self._kept)))
        _walk_derivations(self.histories, *phrases, self._values, sums)
        return sums


@compiled
def _walk_derivations(
    histories: Histories,
    phrases: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: NDArray[np.int32],
    boundary: int,
    values: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Walk along the words of derivations, and add up what is known.

    Args:
        histories: The graph.
        phrases: Where the phrases of each derivation begin, shape (N + 1,).
        ends: Where the words of each phrase begin, shape (phrases + 1,).
        words: The words of all phrases.
        boundary: The number of the sentence's end.
        values: The score of each edge by every model, shape (models, edges); without edges they
            are not known yet.
        sums: Added to, shape (N, models).
    """
    for number in range(phrases.size - 1):
        node = np.int64(0)
        begin, stop = ends[phrases[number]], ends[phrases[number + 1]]
        last = phrases[number + 1] - 1
        closed = phrases[number] <= last and ends[last] < ends[last + 1]
        for at in range(begin, stop + closed):
            word = np.int64(words[at]) if at < stop else np.int64(boundary)
            edge = walk(histories, node, word, boundary)
            node = np.int64(histories.edges[edge].next)
            for model in range(sums.shape[1] if values.shape[1] else 0):
                sums[number, model] += values[model, edge]
