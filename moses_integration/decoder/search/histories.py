"""The histories that a neural language model is asked about, as a graph that grows with the search.

A node is a history, the last words of a hypothesis; an edge is a word after it, and leads to the
history that the word makes. Hypotheses walk along edges without knowing their scores; what new
edges score is worked out for many at once (``features/history_scores.py``). Node 0 is the beginning
of the sentence. Words have the numbers of `NeuralTerms`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, borrowed, compiled, inlined

_NONE = -1
_FIRST_NODES, _FIRST_EDGES = 1 << 13, 1 << 14
_SLOTS_PER_ENTRY = 2  # a power of two; hash tables are half full at most
_MIX = np.uint64(0x9E3779B97F4A7C15)

EDGE = np.dtype(
    [
        ("node", np.int32),
        ("word", np.int32),
        ("next", np.int32),
        ("score", np.float32),  # weighted, over all models, once it is known
    ]
)
HISTORIES_USED = np.dtype(
    [
        ("nodes", np.int64),
        ("edges", np.int64),
        ("scored", np.int64),  # edges whose scores are known: the first so many
        ("asked", np.int64),  # words that were asked for, known ones included
    ]
)


class Histories(NamedTuple):
    """The graph of one sentence.

    Attributes:
        contexts: The words of each node, the oldest first, shape (nodes, C).
        node_slots: Hash table of nodes.
        edges: One record for each edge.
        edge_slots: Hash table of edges.
        used: One record, how many of each are in use.
    """

    contexts: NDArray[np.int32]
    node_slots: NDArray[np.int32]
    edges: Records
    edge_slots: NDArray[np.int32]
    used: Records


def new_histories(context: int) -> Histories:
    """Make room for histories of so many words; `clear_histories` makes them ready.

    Args:
        context: C, the most words of a history that any model looks at; 0 where there is none.
    """
    nodes, edges = (_FIRST_NODES, _FIRST_EDGES) if context else (1, 1)
    return Histories(
        contexts=np.empty((nodes, context), np.int32),
        node_slots=np.empty(_SLOTS_PER_ENTRY * nodes, np.int32),
        edges=np.empty(edges, EDGE),
        edge_slots=np.empty(_SLOTS_PER_ENTRY * edges, np.int32),
        used=np.zeros(1, HISTORIES_USED),
    )


@compiled
def clear_histories(histories: Histories, boundary: int) -> None:
    """Forget all but the beginning of the sentence.

    Args:
        histories: The graph.
        boundary: The number of the sentence's boundary, which fills the first history.
    """
    used = histories.used[0]
    used.nodes, used.edges, used.scored, used.asked = 1, 0, 0, 0
    histories.contexts[0] = boundary
    _fill_slots(histories)


@compiled
def _fill_slots(histories: Histories) -> None:
    """Make the hash tables from what is there."""
    histories.node_slots[:] = _NONE
    for node in range(histories.used[0].nodes):
        slot = _node_slot(histories, histories.contexts[node])
        histories.node_slots[slot] = node
    histories.edge_slots[:] = _NONE
    for number in range(histories.used[0].edges):
        edge = histories.edges[number]
        histories.edge_slots[_edge_slot(histories, edge.node, edge.word)] = number


@inlined
def has_room(histories: Histories, words: int) -> bool:
    """Whether so many words may be walked along."""
    used = histories.used[0]
    return (
        used.nodes + words <= histories.contexts.shape[0]
        and used.edges + words <= histories.edges.size
    )


def with_room(histories: Histories, words: int) -> Histories:
    """Return the graph, in longer arrays where so many more words would not fit."""
    if has_room(histories, words):
        return histories
    used = histories.used[0]
    arrays = {
        name: _longer(getattr(histories, name), int(used[count]) + words)
        for name, count in (("contexts", "nodes"), ("edges", "edges"))
    }
    larger = histories._replace(
        **arrays,
        node_slots=np.empty(_SLOTS_PER_ENTRY * len(arrays["contexts"]), np.int32),
        edge_slots=np.empty(_SLOTS_PER_ENTRY * len(arrays["edges"]), np.int32),
    )
    _fill_slots(larger)
    return larger


def _longer(array: Records, needed: int) -> Records:
    """Return an array of a power of two, at least as long as needed."""
    if needed <= len(array):
        return array
    longer = np.empty((1 << (needed - 1).bit_length(), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def _node_slot(histories: Histories, words: NDArray[np.int32]) -> int:
    """Return the slot of the node of these words, or the free one where it belongs."""
    histories, words = borrowed((histories, words))
    mask = histories.node_slots.size - 1
    key = np.uint64(words.size)
    for word in words:
        key = (key ^ np.uint64(word)) * _MIX
        key ^= key >> np.uint64(29)
    slot = np.int64(key & np.uint64(mask))
    while histories.node_slots[slot] != _NONE:
        there = histories.contexts[histories.node_slots[slot]]
        same = True
        for at in range(words.size):
            same &= there[at] == words[at]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def _edge_slot(histories: Histories, node: int, word: int) -> int:
    """Return the slot of an edge, or the free one where it belongs."""
    histories = borrowed(histories)
    mask = histories.edge_slots.size - 1
    key = (np.uint64(node) << np.uint64(32) | np.uint64(word)) * _MIX
    slot = np.int64((key >> np.uint64(32)) & np.uint64(mask))
    while histories.edge_slots[slot] != _NONE:
        edge = histories.edges[histories.edge_slots[slot]]
        if edge.node == node and edge.word == word:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def _node_after(histories: Histories, node: int, word: int) -> int:
    """Return the node of a history with one more word, which is made if need be."""
    histories = borrowed(histories)
    used = histories.used[0]
    words = histories.contexts[used.nodes]
    for at in range(words.size - 1):
        words[at] = histories.contexts[node, at + 1]
    words[words.size - 1] = word
    slot = _node_slot(histories, words)
    if histories.node_slots[slot] == _NONE:
        histories.node_slots[slot] = used.nodes
        used.nodes += 1
    return np.int64(histories.node_slots[slot])


@compiled
def walk(histories: Histories, node: int, word: int, boundary: int) -> int:
    """Walk from a node along a word; there must be room for it.

    Args:
        histories: The graph.
        node: Where from.
        word: Which word.
        boundary: The number of the sentence's end, behind which all histories are one.

    Returns:
        The edge.
    """
    histories = borrowed(histories)
    used = histories.used[0]
    slot = _edge_slot(histories, node, word)
    number = np.int64(histories.edge_slots[slot])
    if number == _NONE:
        number = np.int64(used.edges)
        edge = histories.edges[number]
        edge.node, edge.word = node, word
        edge.next = 0 if word == boundary else _node_after(histories, node, word)
        histories.edge_slots[slot] = number
        used.edges += 1
    used.asked += 1
    return number
