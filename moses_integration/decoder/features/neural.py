"""Neural language models in the search: a graph of requested words, scored in batches.

Words are numbered from 0. Two words share a number if every model of a system gives both the same
id and the same share of p(<unk>). The first unused number marks the boundary of a sentence.

The requests of the search form a growing graph. A node is a history, that is, the last words of a
hypothesis. An edge is a word after a history, and leads to the history that ends in this word.
Hypotheses walk along edges before the scores of the edges are known; new edges are scored in
batches. As long as there is room, the output of the last hidden layer is kept, so a network reads a
history once for all words requested after the history. Node 0 is the beginning of the sentence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from moses_integration.decoder.features.derivations import Derivations
from moses_integration.decoder.features.features import NeuralModelFeature
from moses_integration.language_model.neural import InputNetwork
from phrasescore.compiled import Records, borrowed, compiled, inlined
from phrasescore.model.folder import LoadedModel
from phrasescore.words.hashing import (
    fill_row_slots,
    find_pair,
    find_row,
    move_pairs,
    pair_key,
    with_room,
)
from phrasescore.words.token_sequences import taken_runs
from phrasescore.words.vocabulary import UNK_ID, OutsideWords

_NONE = -1
_FIRST_EDGES = 1 << 14
_FIRST_KEPT = 1 << 12  # the initial room, in histories
_KEPT_BYTES = 64 << 20  # the maximum bytes of hidden layers to keep, for each model

EDGE = np.dtype(
    [
        ("node", np.int32),
        ("word", np.int32),
        ("next", np.int32),
        ("score", np.float32),  # the weighted sum over all models, once it is known
    ]
)
# the key of an edge combines its node + 1 with its word
_EDGE_SLOT = np.dtype([("key", np.uint64), ("edge", np.int32)])
# ``scored`` is how many edges have known scores; these edges come first
HISTORIES_USED = np.dtype([("nodes", np.int64), ("edges", np.int64), ("scored", np.int64)])


class NeuralTerms(NamedTuple):
    """The data of a search in which some neural language model has a weight other than 0.

    Attributes:
        numbers: The number that identifies each target word of the input, shape (target words,).
        boundary: The number that marks the boundary of a sentence.
        longest: The number of words of the longest option.
        stand_in: A weighted n-gram score that replaces the neural scores until these are known. The
            score covers only words whose whole history is in the option, shape (options,).
        lm_weights: The weights of the n-gram models, shape (models,). The weight of the first
            model includes the weights of the neural models, because this model stands in for them.
        weights: The weights of the neural models.
    """

    numbers: NDArray[np.int32]
    boundary: int
    longest: int
    stand_in: NDArray[np.float64]
    lm_weights: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class NeuralModels:
    """The neural language models of a system, prepared for one input.

    Args:
        networks: The networks.
        components: The index of each model in the feature vector, shape (models,).
        numbers: The number that identifies each target word of the input, shape (target words,).
        boundary: The number that marks the boundary of a sentence.
    """

    networks: tuple[InputNetwork, ...]
    components: NDArray[np.int64]
    numbers: NDArray[np.int32]
    boundary: int

    @classmethod
    def prepare(
        cls,
        features: Sequence[NeuralModelFeature],
        models: Sequence[tuple[LoadedModel, OutsideWords | None]],
        words: Sequence[bytes],
    ) -> NeuralModels:
        """Prepare models for an input.

        Args:
            features: The feature of each model in the ini.
            models: Each model with the words outside its shortlist, which share p(<unk>); ``None``
                in place of the words if each such word gets all of p(<unk>).
            words: The target words of the input.
        """
        ids = np.zeros((len(models), len(words)), np.int32)
        shares = np.zeros(ids.shape)
        for model, (stored, known) in enumerate(models):
            ids[model] = stored.target_vocabulary.encode(words)
            if known is not None:
                for word in np.flatnonzero(ids[model] == UNK_ID).tolist():
                    shares[model, word] = known.ln_share(words[word])
        # one number for all words with the same id and the same share in every model
        kinds, numbers = np.unique(np.vstack([ids, shares]), axis=1, return_inverse=True)
        networks = [
            InputNetwork(
                stored,
                kinds[model].astype(np.int32).tolist(),
                kinds[len(models) + model].tolist(),
                normalised=features[model].normalised,
            )
            for model, (stored, _) in enumerate(models)
        ]
        return cls(
            tuple(networks),
            np.array([feature.first for feature in features], np.int64),
            numbers.reshape(-1).astype(np.int32),
            kinds.shape[1],
        )


def products_on_one_core(models: NeuralModels) -> AbstractContextManager[object]:
    """Keep numpy's matrix products on one core: the search may use a thread for each core."""
    if not models.networks:
        return contextlib.nullcontext()
    return threadpool_limits(1, user_api="blas")


class Histories(NamedTuple):
    """The graph of one sentence; ``contexts`` is longer than ``edges``: it includes node 0.

    Attributes:
        contexts: The last C words of each history, the oldest first, shape (nodes, C).
        node_slots: Hash table of nodes (`hashing.find_row`), half full at most.
        edges: One record for each edge.
        edge_slots: Hash table of edges (`hashing.find_pair`), half full at most.
        used: One record: how many nodes and edges are in use.
    """

    contexts: NDArray[np.int32]
    node_slots: NDArray[np.int32]
    edges: Records
    edge_slots: Records
    used: Records

    @classmethod
    def new(cls, context: int) -> Histories:
        """Allocate a graph of histories; call `clear_histories` before use.

        Args:
            context: C, the maximum number of words of a history that a model reads; 0 without
                models.
        """
        edges = _FIRST_EDGES if context else 1
        return cls(
            contexts=np.empty((edges + 1, context), np.int32),
            node_slots=np.empty(2 * (edges + 1), np.int32),
            edges=np.empty(edges, EDGE),
            edge_slots=np.zeros(2 * edges, _EDGE_SLOT),
            used=np.zeros(1, HISTORIES_USED),
        )

    def with_room(self, words: int) -> Histories:
        """Return the graph with room for ``words`` more edges."""
        if has_room(self, words):
            return self
        edges = with_room(self.edges, int(self.used[0]["edges"]) + words)
        edge_slots = np.zeros(2 * len(edges), _EDGE_SLOT)
        move_pairs(self.edge_slots, edge_slots)
        contexts = with_room(self.contexts, len(edges) + 1)
        node_slots = np.empty(2 * len(contexts), np.int32)
        fill_row_slots(node_slots, contexts, self.used[0]["nodes"])
        return Histories(contexts, node_slots, edges, edge_slots, self.used)


@compiled
def clear_histories(histories: Histories, boundary: int) -> None:
    """Clear the graph, except for the beginning of the sentence.

    Args:
        histories: The graph.
        boundary: The number of the sentence's boundary, which fills the first history.
    """
    used = histories.used[0]
    used.nodes, used.edges, used.scored = 1, 0, 0
    histories.contexts[0] = boundary
    fill_row_slots(histories.node_slots, histories.contexts, 1)
    for slot in range(histories.edge_slots.size):
        histories.edge_slots[slot].key = np.uint64(0)


@inlined
def has_room(histories: Histories, words: int) -> bool:
    """Return whether there is room for ``words`` more edges."""
    return histories.used[0].edges + words <= histories.edges.size


@inlined
def _node_after(histories: Histories, node: int, word: int) -> int:
    """Return the node of a history extended by a word; add the node if it is missing."""
    used = histories.used[0]
    words = histories.contexts[used.nodes]
    for at in range(words.size - 1):
        words[at] = histories.contexts[node, at + 1]
    words[words.size - 1] = word
    slot = find_row(histories.node_slots, histories.contexts, words)
    if histories.node_slots[slot] == _NONE:
        histories.node_slots[slot] = used.nodes
        used.nodes += 1
    return np.int64(histories.node_slots[slot])


@inlined
def walk(histories: Histories, node: int, word: int, boundary: int) -> int:
    """Follow a word's edge from a node; add the edge if it is new, which needs room (`has_room`).

    Args:
        histories: The graph.
        node: The node to start from.
        word: The number of the word.
        boundary: The number of the sentence's end, whose edges lead to node 0.

    Returns:
        The edge.
    """
    used = histories.used[0]
    key = pair_key(node + 1, word)
    slot = histories.edge_slots[find_pair(histories.edge_slots, key)]
    if slot.key != key:
        slot.key, slot.edge = key, used.edges
        edge = histories.edges[used.edges]
        edge.node, edge.word = node, word
        edge.next = 0 if word == boundary else _node_after(histories, node, word)
        used.edges += 1
    return np.int64(slot.edge)


@compiled
def _place_histories(
    edges: Records,
    row_of: NDArray[np.int32],
    first: int,
    words: NDArray[np.int32],
    rows: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Give each history that has no row the next free row; return these histories.

    Args:
        edges: The edges to score.
        row_of: The row of each history, -1 for none; filled.
        first: The first free row.
        words: The word of each edge; filled.
        rows: The row of the history of each edge; filled.
    """
    new = np.empty(edges.size, np.int32)
    count = 0
    for at in range(edges.size):
        edge = edges[at]
        if row_of[edge.node] == _NONE:
            row_of[edge.node] = first + count
            new[count] = edge.node
            count += 1
        words[at], rows[at] = edge.word, row_of[edge.node]
    return new[:count]


class HistoryScores:
    """The graph of one sentence's histories, with scores; one object for each thread.

    Args:
        models: The models, prepared for one input.
    """

    def __init__(self, models: NeuralModels) -> None:
        self._models = models
        longest = max((network.context for network in models.networks), default=0)
        self.histories = Histories.new(longest)
        widths = [network.width for network in models.networks]
        self._max_rows = max(_FIRST_KEPT, _KEPT_BYTES // (4 * max(widths, default=1)))
        # for each network, one row for each history that it read, with the last hidden layer;
        # `_row_of` has the row of each node's history, -1 for none
        self._vectors = [np.empty((_FIRST_KEPT, width), np.float32) for width in widths]
        self._normalisers = [np.empty(_FIRST_KEPT, np.float32) for _ in widths]
        self._row_of = np.empty(0, np.int32)
        self._values = np.empty((len(widths), 0), np.float32)
        self.clear()

    def clear(self) -> None:
        """Clear the requests of the previous sentence."""
        self._row_of[:] = _NONE
        self._rows = 0
        if self._models.networks:
            clear_histories(self.histories, self._models.boundary)

    def make_room(self, words: int) -> None:
        """Make room for ``words`` more edges."""
        self.histories = self.histories.with_room(words)

    def score(self, weights: NDArray[np.float64]) -> None:
        """Compute the scores of all edges that have none.

        Args:
            weights: The weight of each model, shape (models,).
        """
        used = self.histories.used
        first, last = int(used["scored"][0]), int(used["edges"][0])
        if first == last:
            return
        edges = self.histories.edges[first:last]
        self._make_room(len(edges))
        words, rows = np.empty((2, len(edges)), np.int32)
        new = _place_histories(edges, self._row_of, self._rows, words, rows)
        part = slice(self._rows, self._rows + len(new))
        histories = self.histories.contexts[new]
        for network, vectors, normalisers, values in zip(
            self._models.networks, self._vectors, self._normalisers, self._values, strict=True
        ):
            network.read(histories, vectors[part], normalisers[part])
            network.score(vectors, normalisers, rows, words, values[first:last])
        self._rows = part.stop
        weighted = weights @ self._values[:, first:last].astype(np.float64)
        self.histories.edges["score"][first:last] = weighted
        used["scored"] = last

    def _make_room(self, rows: int) -> None:
        """Make room for ``rows`` histories; beyond the limit, drop all earlier histories."""
        nodes, edges = len(self.histories.contexts), len(self.histories.edges)
        if len(self._row_of) < nodes:
            more = (0, nodes - len(self._row_of))
            self._row_of = np.pad(self._row_of, more, constant_values=_NONE)
            self._values = np.pad(self._values, ((0, 0), (0, edges - self._values.shape[1])))
        # the limit may not depend on earlier sentences, which determine the sizes of the arrays
        if self._rows > 0 and self._rows + rows > self._max_rows:
            self._row_of[:] = _NONE
            self._rows = 0
        needed = self._rows + rows
        self._vectors = [with_room(vectors, needed) for vectors in self._vectors]
        self._normalisers = [with_room(values, needed) for values in self._normalisers]

    def values(
        self, derivations: Derivations, words: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return each model's scores of whole derivations, shape (N, models).

        The scores include the end of the sentence, unless the last phrase is empty.

        Args:
            derivations: N derivations of one sentence.
            words: The target words of all entries.
            offsets: The start of each entry's words, shape (E + 1,).
        """
        ends, places = taken_runs(offsets, derivations.entries)
        sums = np.zeros((len(derivations.offsets) - 1, len(self._values)))
        self.make_room(len(places) + len(sums))
        numbers = self._models.numbers[words[places]]
        phrases = (derivations.offsets, ends, numbers, self._models.boundary)
        _walk_derivations(self.histories, *phrases, self._values[:, :0], sums)
        self.score(np.zeros(len(self._values)))
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
    """Walk the graph along each derivation; sum the edges' scores if ``values`` has any.

    Args:
        histories: The graph.
        phrases: The start of each derivation's phrases, shape (N + 1,).
        ends: The start of each phrase's words, shape (phrases + 1,).
        words: The words of all phrases.
        boundary: The number of the sentence's end.
        values: The score of each edge by every model, shape (models, edges); an array without edges
            if the scores are not known yet.
        sums: The sums, to which the scores are added, shape (N, models).
    """
    histories, phrases, ends, words, values, sums = borrowed(
        (histories, phrases, ends, words, values, sums)
    )
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
