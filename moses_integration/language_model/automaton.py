"""A back-off model as an automaton over arrays, so that compiled code asks it without objects.

A node is an n-gram below the highest order. A state is the node of the longest suffix of the
history that can matter for the words to come: the n-gram is the context of a longer one, or has a
back-off weight other than 0. Equal states therefore mean equal futures, and hypotheses recombine
exactly as with KenLM (Heafield 2011, section 4.1). One hash table leads from (state, word) to the
probability and the next state; only where it has no entry the model backs off. Most histories have
few words after them, so a node says of 64 classes of words which it has any of: it is seldom that
the table is asked in vain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, compiled
from phrasescore.words.hashing import PAIR_FACTOR, find_pair, pair_key

EMPTY_STATE = 0  # no history
UNKNOWN_WORD = 0  # the id of <unk>
_CLASS_SHIFT = np.uint64(58)
# of a probability or a back-off weight; sums of these times weights are within single precision
LARGEST_LOG10 = 1e9
# slots per entry; KenLM's probing tables have the same
ROOM = 1.5

SLOT = np.dtype([("key", np.uint64), ("log10", np.float32), ("next", np.int32)])


UNIGRAM = np.dtype([("log10", np.float32), ("next", np.int32)])
NODE = np.dtype(
    [
        ("backoff", np.float32),  # log10
        ("suffix", np.int32),  # the state to back off to
        ("classes", np.uint64),  # of the words that follow it, one bit for each class
    ]
)


class AutomatonTables(NamedTuple):
    """What `score` reads; float32 values are those of the ARPA file.

    Attributes:
        unigrams: log10 p(word), and the state after the word alone, shape (words,).
        nodes: Shape (nodes,); node 0 is the empty history, node 1 + w is word w.
        slots: The table of pairs (`hashing.find_pair`) from state and word to log10 probability and
            next state. The pair (`EMPTY_STATE`, <unk>) is never in it.
    """

    unigrams: Records
    nodes: Records
    slots: Records


@compiled
def class_of(word: int) -> np.uint64:
    """Return the bit of a word's class."""
    return np.uint64(1) << ((np.uint64(word) * PAIR_FACTOR) >> _CLASS_SHIFT)


@compiled
def score(tables: AutomatonTables, state: int, word: int) -> tuple[float, int]:
    """Return log10 p(word | state) and the state after the word.

    The sum over back-off weights is in float64, so it does not depend on their order.
    """
    log10 = 0.0
    own_class = class_of(word)
    while state != EMPTY_STATE:
        node = tables.nodes[state]
        if node.classes & own_class != np.uint64(0):
            key = pair_key(state, word)
            entry = tables.slots[find_pair(tables.slots, key)]
            if entry.key == key:
                return log10 + entry.log10, np.int64(entry.next)
        log10 += node.backoff
        state = np.int64(node.suffix)
    unigram = tables.unigrams[word]
    return log10 + unigram.log10, np.int64(unigram.next)


@compiled
def score_words(
    tables: AutomatonTables, state: int, words: NDArray[np.int32], log10: NDArray[np.float64]
) -> int:
    """Score ``words`` one after the other into ``log10``; return the state after the last."""
    for position in range(words.size):
        log10[position], state = score(tables, state, words[position])
    return state
