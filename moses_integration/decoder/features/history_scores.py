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
from moses_integration.language_model.neural.network import InputNetwork
from phrasescore.compiled import leaf

_KEPT_BYTES = 64 << 20  # of vectors, for each model
_NONE = -1


class _KeptVectors:
    """What one network made of the histories of a sentence."""

    def __init__(self, network: InputNetwork) -> None:
        self._network = network
        self._rows = 1 << 12
        self._most = max(self._rows, _KEPT_BYTES // (4 * network.width))
        self._make(self._rows)
        self._row_of = np.empty(0, np.int32)
        self.used = self.read = 0

    def _make(self, rows: int) -> None:
        self._vectors = np.empty((rows, self._network.width), np.float32)
        self._normalisers = np.empty(rows, np.float32)
        self._rows = rows

    def clear(self) -> None:
        """Forget all histories; count from 0."""
        self._row_of[:] = _NONE
        self.used = self.read = 0

    def score(self, histories: Histories, first: int, out: NDArray[np.float32]) -> None:
        """Score the edges of a graph from ``first`` on; ``out`` has a place for each of them."""
        if len(self._row_of) < len(histories.contexts):
            more = np.full(len(histories.contexts) - len(self._row_of), _NONE, np.int32)
            self._row_of = np.concatenate([self._row_of, more])
        edges = histories.edges[first : first + len(out)]
        new = self._unread(edges["node"])
        if self.used + len(new) > self._rows:
            new = self._with_room(edges["node"], new)
        rows = slice(self.used, self.used + len(new))
        self._row_of[new] = np.arange(rows.start, rows.stop, dtype=np.int32)
        vectors, normalisers = self._vectors[rows], self._normalisers[rows]
        self._network.read(histories.contexts[new], vectors, normalisers)
        self.used += len(new)
        self.read += len(new)
        wanted, words = self._row_of[edges["node"]], np.ascontiguousarray(edges["word"])
        self._network.score(self._vectors, self._normalisers, wanted, words, out)

    def _unread(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        unread = np.zeros(len(self._row_of), np.bool_)
        unread[nodes] = True
        unread &= self._row_of < 0
        return np.flatnonzero(unread).astype(np.int32)

    def _with_room(
        self, nodes: NDArray[np.int32], new: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Make room for new histories; where there is no more, forget all that were read before.

        Returns:
            The histories that have to be read.
        """
        vectors, normalisers, used = self._vectors, self._normalisers, self.used
        if used + len(new) > self._most:
            self._row_of[:] = _NONE
            self.used = used = 0
            new = self._unread(nodes)
        if used + len(new) > self._rows:
            self._make(1 << (used + len(new) - 1).bit_length())
            self._vectors[:used], self._normalisers[:used] = vectors[:used], normalisers[:used]
        return new


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
        self.histories.used["path"] = 0
        steps = np.zeros(len(derivations) + 1, np.int64)
        _walk_derivations(
            self.histories, derivations.offsets, ends, words[places], self._models.boundary, steps
        )
        self.score(np.zeros(len(self._kept)))
        path = self.histories.path[: steps[-1]]
        sums = np.zeros((len(self._kept), len(path) + 1))
        np.cumsum(self._values[:, path], axis=1, dtype=np.float64, out=sums[:, 1:])
        return (sums[:, steps[1:]] - sums[:, steps[:-1]]).T


@leaf
def _walk_derivations(
    histories: Histories,
    phrases: NDArray[np.int64],
    ends: NDArray[np.int64],
    words: NDArray[np.int32],
    boundary: int,
    steps: NDArray[np.int64],
) -> None:
    """Walk along the words of derivations; write where each has its steps in the path.

    Args:
        histories: The graph.
        phrases: Where the phrases of each derivation begin, shape (N + 1,).
        ends: Where the words of each phrase begin, shape (phrases + 1,).
        words: The words of all phrases.
        boundary: The number of the sentence's end.
        steps: Filled, shape (N + 1,).
    """
    for number in range(phrases.size - 1):
        node = 0
        for at in range(ends[phrases[number]], ends[phrases[number + 1]]):
            node = histories.edges[walk(histories, node, words[at], boundary)].next
        last = phrases[number + 1] - 1
        if phrases[number] <= last and ends[last] < ends[last + 1]:
            walk(histories, node, boundary, boundary)
        steps[number + 1] = histories.used[0].path
