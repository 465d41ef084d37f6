"""The n-grams of references as one trie in arrays, and the compiled loop that clips matches.

Every sentence has its own root; a node is an n-gram of one of its references and holds the
largest number of times one reference has it, which is what matches are clipped to. Children are
found by hashing (node, word id).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import compiled
from phrasescore.table.byte_scanning import LINE_FEED, SPACE, Bytes
from phrasescore.words.hashing import splitmix
from phrasescore.words.word_table import WordTable

ORDERS = 4
UNKNOWN = -1
_FREE = -1
_WORD_BITS = np.int64(32)


class ReferenceNgrams(NamedTuple):
    """What compiled functions see of the references' n-grams.

    Attributes:
        keys: Open addressing: parent node times 2^32 plus word id, or -1 where free.
        nodes: (slots,) The node of each taken slot.
        limits: (nodes,) How often one reference has the n-gram at most; nodes 0 to S - 1 are the
            roots of the S sentences.
    """

    keys: NDArray[np.int64]
    nodes: NDArray[np.int32]
    limits: NDArray[np.int32]


@compiled
def _slot(keys: NDArray[np.int64], key: int) -> int:
    """Return the slot that holds ``key``, or the free one where it would go."""
    mask = keys.size - 1
    slot = np.int64(splitmix(np.uint64(key)) & np.uint64(mask))
    while keys[slot] != _FREE and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def _add_references(
    keys: NDArray[np.int64],
    nodes: NDArray[np.int32],
    limits: NDArray[np.int32],
    size: int,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    used: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> int:
    """Add the n-grams of one reference of each sentence; return the new number of nodes.

    Args:
        keys: As in ``ReferenceNgrams``, and the next two.
        nodes: The same.
        limits: The same.
        size: How many nodes there are.
        tokens: Word ids, one sentence after the other.
        offsets: (S + 1,) where sentences begin.
        used: (nodes,) zeros, and zeros again at the end.
        touched: Room for four times the words of any sentence.
    """
    for root in range(offsets.size - 1):
        count = 0
        for start in range(offsets[root], offsets[root + 1]):
            node = np.int32(root)
            for place in range(start, min(start + ORDERS, offsets[root + 1])):
                key = (np.int64(node) << _WORD_BITS) + tokens[place]
                slot = _slot(keys, key)
                if keys[slot] == _FREE:
                    keys[slot], nodes[slot] = key, size
                    size += 1
                node = nodes[slot]
                used[node] += 1
                touched[count] = node
                count += 1
        for i in range(count):
            limits[touched[i]] = max(limits[touched[i]], used[touched[i]])
            used[touched[i]] = 0
    return size


def _room(offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return room for the nodes that one line touches."""
    return np.empty(ORDERS * int(np.diff(offsets).max(initial=0)), np.int32)


def build(references: list[tuple[NDArray[np.int32], NDArray[np.int64]]]) -> ReferenceNgrams:
    """Build the trie of R references of each of S sentences.

    Args:
        references: For each of the R: its word ids, one sentence after the other, and the (S + 1,)
            offsets at which sentences begin.
    """
    sentences = len(references[0][1]) - 1
    most = ORDERS * sum(len(tokens) for tokens, _ in references)
    slots = 1 << max(2 * most - 1, 1).bit_length()
    ngrams = ReferenceNgrams(
        np.full(slots, _FREE, np.int64),
        np.zeros(slots, np.int32),
        np.zeros(sentences + most, np.int32),
    )
    used = np.zeros(sentences + most, np.int32)
    size = sentences
    for tokens, offsets in references:
        size = _add_references(*ngrams, size, tokens, offsets, used, _room(offsets))
    return ngrams._replace(limits=ngrams.limits[:size].copy())


@compiled
def _count_matches(
    keys: NDArray[np.int64],
    nodes: NDArray[np.int32],
    limits: NDArray[np.int32],
    sentences: NDArray[np.int64],
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    used: NDArray[np.int32],
    touched: NDArray[np.int32],
    matches: NDArray[np.int32],
) -> None:
    for i in range(sentences.size):
        count = 0
        for start in range(offsets[i], offsets[i + 1]):
            node = np.int32(sentences[i])
            for place in range(start, min(start + ORDERS, offsets[i + 1])):
                if tokens[place] == UNKNOWN:
                    break
                key = (np.int64(node) << _WORD_BITS) + tokens[place]
                slot = _slot(keys, key)
                if keys[slot] == _FREE:
                    break
                node = nodes[slot]
                if used[node] < limits[node]:
                    used[node] += 1
                    matches[i, place - start] += 1
                    touched[count] = node
                    count += 1
        for j in range(count):
            used[touched[j]] = 0


def count_matches(
    ngrams: ReferenceNgrams,
    sentences: NDArray[np.int64],
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return (N, 4) the clipped n-gram matches of N candidates.

    Args:
        ngrams: The references.
        sentences: (N,) Which sentence each candidate translates.
        tokens: Word ids of all candidates, -1 for a word no reference has.
        offsets: (N + 1,) Where each candidate begins in ``tokens``.
    """
    matches = np.zeros((len(sentences), ORDERS), np.int32)
    used = np.zeros_like(ngrams.limits)
    _count_matches(*ngrams, sentences, tokens, offsets, used, _room(offsets), matches)
    return matches


def encode(
    words: WordTable, data: Bytes, *, grow: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the word ids of lines that each end in a line feed, and where each line begins.

    Args:
        words: The vocabulary.
        data: The lines' bytes; words are separated by spaces alone.
        grow: Whether to add new words; -1 otherwise.
    """
    ends = np.flatnonzero(data == LINE_FEED)
    inside = np.concatenate([[False], (data != SPACE) & (data != LINE_FEED)])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    spans = (data, np.ascontiguousarray(edges[::2]), np.ascontiguousarray(edges[1::2]))
    offsets = np.concatenate([np.zeros(1, np.int64), np.searchsorted(spans[1], ends)])
    if not len(edges):
        return np.empty(0, np.int32), offsets
    return words.add_spans(*spans) if grow else words.find_spans(*spans), offsets
