"""The n-grams of references as one trie in arrays, and the compiled loop that clips matches.

Every sentence has its own root; a node is an n-gram of one of its references and holds the
largest number of times one reference has it, which is what matches are clipped to. Children are
found by hashing (node, word id).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from phrasescore.byte_scanning import LINE_FEED, SPACE_ONLY, Bytes, find_byte
from phrasescore.hashing import splitmix
from phrasescore.words.word_table import WordArrays, number_words

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


@njit(cache=True, nogil=True)
def _slot(keys: Any, key: Any) -> int:
    """Return the slot that holds ``key``, or the free one where it would go."""
    mask = len(keys) - 1
    slot = np.int64(splitmix(np.uint64(key)) & np.uint64(mask))
    while keys[slot] != _FREE and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _add_reference(
    ngrams: ReferenceNgrams, used: Any, size: int, root: int, tokens: Any, touched: Any
) -> int:
    """Add the n-grams of one reference of one sentence; return the new number of nodes."""
    count = 0
    for start in range(len(tokens)):
        node = root
        for place in range(start, min(start + ORDERS, len(tokens))):
            key = (np.int64(node) << _WORD_BITS) + tokens[place]
            slot = _slot(ngrams.keys, key)
            if ngrams.keys[slot] == _FREE:
                ngrams.keys[slot] = key
                ngrams.nodes[slot] = size
                size += 1
            node = ngrams.nodes[slot]
            used[node] += 1
            touched[count] = node
            count += 1
    for i in range(count):
        node = touched[i]
        ngrams.limits[node] = max(ngrams.limits[node], used[node])
        used[node] = 0
    return size


@njit(cache=True, nogil=True)
def _add_references(
    ngrams: ReferenceNgrams, used: Any, size: int, tokens: Any, offsets: Any
) -> int:
    longest = 0
    for root in range(len(offsets) - 1):
        longest = max(longest, offsets[root + 1] - offsets[root])
    touched = np.empty(ORDERS * longest, np.int32)
    for root in range(len(offsets) - 1):
        words = tokens[offsets[root] : offsets[root + 1]]
        size = _add_reference(ngrams, used, size, root, words, touched)
    return size


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
        size = _add_references(ngrams, used, size, tokens, offsets)
    return ngrams._replace(limits=ngrams.limits[:size].copy())


@njit(cache=True, nogil=True)
def count_matches(
    ngrams: ReferenceNgrams, sentences: Any, tokens: Any, offsets: Any, matches: Any
) -> None:
    """Count the clipped n-gram matches of N candidates.

    Args:
        ngrams: The references.
        sentences: (N,) Which sentence each candidate translates.
        tokens: Word ids of all candidates, -1 for a word no reference has.
        offsets: (N + 1,) Where each candidate begins in ``tokens``.
        matches: (N, 4) zeros, filled.
    """
    used = np.zeros(len(ngrams.limits), np.int32)
    longest = 0
    for i in range(len(sentences)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    touched = np.empty(ORDERS * longest, np.int32)
    for i in range(len(sentences)):
        count = 0
        for start in range(offsets[i], offsets[i + 1]):
            node = np.int32(sentences[i])
            for place in range(start, min(start + ORDERS, offsets[i + 1])):
                if tokens[place] == UNKNOWN:
                    break
                key = (np.int64(node) << _WORD_BITS) + tokens[place]
                slot = _slot(ngrams.keys, key)
                if ngrams.keys[slot] == _FREE:
                    break
                node = ngrams.nodes[slot]
                if used[node] < ngrams.limits[node]:
                    used[node] += 1
                    matches[i, place - start] += 1
                    touched[count] = node
                    count += 1
        for j in range(count):
            used[touched[j]] = 0


@njit(cache=True, nogil=True)
def _encode(words: WordArrays, data: Bytes, grow: bool, tokens: Any, offsets: Any) -> None:
    at = count = 0
    for line in range(1, len(offsets)):
        end = find_byte(data, at, len(data), LINE_FEED)
        count = number_words(words, data, at, end, SPACE_ONLY, grow, tokens, count)
        offsets[line] = count
        at = end + 1


def encode(
    words: WordArrays, data: Bytes, lines: int, *, grow: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the word ids of lines that each end in a line feed, and where each line begins.

    Args:
        words: The vocabulary.
        data: The lines' bytes; words are separated by spaces alone.
        lines: How many lines there are.
        grow: Whether to add new words (room for them must have been reserved); -1 otherwise.
    """
    # a word takes a byte, and so does what ends it
    tokens = np.empty(len(data) // 2, np.int32)
    offsets = np.zeros(lines + 1, np.int64)
    _encode(words, data, grow, tokens, offsets)
    return tokens[: offsets[-1]].copy(), offsets
