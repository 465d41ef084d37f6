"""A back-off model as an automaton in arrays, which compiled code queries without Python objects.

A node is an n-gram below the highest order. A state is what the model must remember of the history:
the node of the longest suffix that can still influence later words. A suffix can influence them if
it is the context of a longer n-gram, or has a back-off weight other than 0. Equal states therefore
give all later words equal scores, and hypotheses recombine exactly as with KenLM (Heafield 2011,
section 4.1). One hash table leads from (state, word) to the probability and the next state; if the
table has no entry, the model backs off. A hash puts every word into one of 64 classes, and each
node has 64 bits, one for each class: a bit tells whether any word of the class follows the node.
Most histories have few successors, so these bits avoid most unsuccessful lookups.

`AutomatonBuilder` takes the n-grams of a model, lowest order first. A carelessly pruned model may
lack ``b c`` although it has ``a b c``. The lookup needs every suffix, so a missing suffix is added
with its back-off probability, as in KenLM; this changes no score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Records, borrowed, compiled
from phrasescore.errors import LanguageModelError
from phrasescore.words.hashing import PAIR_FACTOR, find_pair, move_pairs, pair_key, with_room
from phrasescore.words.word_table import WordTable

EMPTY_STATE = 0  # no history
UNKNOWN_WORD = 0  # the id of <unk>
_CLASS_SHIFT = np.uint64(58)
# the limit of absolute log10 values, so that weighted sums fit into single precision
LARGEST_LOG10 = 1e9
# slots per entry, as in KenLM's probing tables
ROOM = 1.5

SLOT = np.dtype([("key", np.uint64), ("log10", np.float32), ("next", np.int32)])


UNIGRAM = np.dtype([("log10", np.float32), ("next", np.int32)])
NODE = np.dtype(
    [
        ("backoff", np.float32),  # log10
        ("suffix", np.int32),  # the state to back off to
        ("classes", np.uint64),  # one bit for each class, set if a word of the class follows
    ]
)
# a node while the automaton grows
_GROWING = np.dtype(
    [
        ("log10", np.float32),  # log10 probability of the node's n-gram
        ("backoff", np.float32),  # log10
        ("suffix", np.int32),  # the node of the n-gram without its first word
        ("extends", np.bool_),  # whether the node may be a state
    ],
    align=True,
)
_USED = np.dtype([("nodes", np.int64), ("slots", np.int64)])
_DONE, _FULL, _NO_CONTEXT = 0, 1, 2
_FIRST_SLOTS = 1 << 16
# how many rows to look ahead: their contexts are looked up together, before their insertion
_AHEAD = 128
# the maximum order; the maximum of KenLM is 6 unless it is compiled for more
HIGHEST_ORDER = 20


class AutomatonTables(NamedTuple):
    """The arrays that `score` reads; float32 values are those of the ARPA file.

    Attributes:
        unigrams: log10 p(word), and the state after the word alone, shape (words,).
        nodes: Shape (nodes,); node 0 is the empty history, node 1 + w is word w.
        slots: A hash table (`hashing.find_pair`). Its keys are pairs of a state and a word, except
            (`EMPTY_STATE`, <unk>); its values are the log10 probability and the next state.
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

    The back-off weights are added in float64.
    """
    tables = borrowed(tables)
    log10 = 0.0
    own_class = class_of(word)
    while state != EMPTY_STATE:
        node = tables.nodes[state]
        if node.classes & own_class != np.uint64(0):
            entry = tables.slots[find_pair(tables.slots, pair_key(state, word))]
            if entry.key != 0:
                return log10 + entry.log10, np.int64(entry.next)
        log10 += node.backoff
        state = np.int64(node.suffix)
    unigram = tables.unigrams[word]
    return log10 + unigram.log10, np.int64(unigram.next)


class NGrams(NamedTuple):
    """N-grams of one order, in file order.

    Attributes:
        words: Word ids, shape (rows, order); -1 for a 1-gram that was listed before.
        log10: log10 probabilities, shape (rows,).
        backoff: log10 back-off weights, shape (rows,); 0 if the file gives none.
        first_line: The 1-based line number of row 0; each further row is on the next line. 0 if the
            file has no lines.
    """

    words: NDArray[np.int32]
    log10: NDArray[np.float32]
    backoff: NDArray[np.float32]
    first_line: int = 0

    @property
    def order(self) -> int:
        """The number of words of each n-gram."""
        return self.words.shape[1]


class AutomatonBuilder:
    """Builds the automaton from the n-grams of orders 1, 2, ..., which are added in order.

    Args:
        log10: log10 probability per word id, shape (words,).
        backoff: log10 back-off weight per word id, shape (words,).
        promised: How many n-grams of orders above 1 the header promises.
        vocabulary: The words, for errors.
        unknown_is_context: Whether ``<unk>`` is a state of its own, as in KenLM if the file has no
            ``<unk>``.
    """

    def __init__(
        self,
        log10: NDArray[np.float32],
        backoff: NDArray[np.float32],
        promised: int,
        vocabulary: WordTable,
        *,
        unknown_is_context: bool = False,
    ) -> None:
        self._vocabulary = vocabulary
        self._nodes = np.zeros(log10.size + 1, _GROWING)
        self._nodes["log10"][1:], self._nodes["backoff"][1:] = log10, backoff
        self._nodes["extends"][1:] = backoff != 0
        self._nodes["extends"][1 + UNKNOWN_WORD] |= unknown_is_context
        self._used = np.zeros(1, _USED)
        self._used["nodes"] = log10.size + 1
        self._words = log10.size
        self._promised = _slots_for(promised)
        self._slots = np.zeros(min(self._promised, _FIRST_SLOTS), SLOT)

    def add(self, ngrams: NGrams, *, longest: bool) -> None:
        """Add n-grams that are not shorter than the n-grams added before.

        Of equal n-grams the first counts, as in KenLM.

        Args:
            ngrams: The n-grams.
            longest: Whether this is the highest order; its n-grams get no nodes.

        Raises:
            LanguageModelError: The context of an n-gram is not in the model.
        """
        rows, order = ngrams.words.shape
        self._reserve(rows=rows, nodes=0 if longest else rows)
        row = 0
        while True:
            row, status = _insert_rows(self._slots, self._nodes, self._used, ngrams, row, longest)
            if status == _DONE:
                return
            if status == _NO_CONTEXT:
                words = b" ".join(map(self._vocabulary.word, ngrams.words[row].tolist()))
                raise LanguageModelError(
                    f"the {order}-gram '{words.decode('utf-8', 'backslashreplace')}' cannot be "
                    f"used: the model has no {order - 1}-gram of its first {order - 1} words",
                    line=ngrams.first_line + row if ngrams.first_line else None,
                    remedy="make the file again with the tool that wrote it",
                )
            self._reserve(
                rows=max(order, self._slots.size // 2), nodes=max(order, self._nodes.size // 2)
            )

    def _reserve(self, *, rows: int, nodes: int) -> None:
        """Make room for more entries and nodes, and for a few added suffixes."""
        used_nodes, used_slots = self._used[0].tolist()
        self._nodes = with_room(self._nodes, used_nodes + nodes + 64)
        if (needed := _slots_for(used_slots + rows)) > self._slots.size:
            # a damaged header may promise any number, so allow at most four times the present size
            hoped = min(self._promised, 4 * self._slots.size)
            slots = np.zeros(max(needed, hoped, self._slots.size * 3 // 2), SLOT)
            move_pairs(self._slots, slots)
            self._slots = slots

    def finish(self) -> AutomatonTables:
        """Return the tables; no n-gram can be added after this."""
        grown = self._nodes[: int(self._used["nodes"][0])]
        state_of = np.zeros(grown.size, np.int32)
        _resolve_states(grown, state_of)
        unigrams = np.empty(self._words, UNIGRAM)
        unigrams["log10"] = grown["log10"][1 : self._words + 1]
        unigrams["next"] = state_of[1 : self._words + 1]
        nodes = np.zeros(grown.size, NODE)
        nodes["backoff"] = grown["backoff"]
        nodes["suffix"] = state_of[grown["suffix"]]
        _point_to_states(self._slots, state_of, nodes)
        return AutomatonTables(unigrams, nodes, self._slots)


def _slots_for(entries: int) -> int:
    return int(ROOM * entries) + 64


@compiled
def _insert_rows(
    slots: Records, nodes: Records, used: Records, ngrams: NGrams, row: int, longest: bool
) -> tuple[int, int]:
    """Insert n-grams from ``row`` on; return the row where the insertion stopped, and the reason.

    Args:
        slots: The table of entries.
        nodes: The nodes.
        used: One record: how many nodes and how many slots are in use.
        ngrams: The n-grams.
        row: The first row to insert.
        longest: Whether this is the highest order.
    """
    slots, nodes, used, ngrams = borrowed((slots, nodes, used, ngrams))
    contexts = np.empty(_AHEAD + 1, np.int64)
    words, log10 = ngrams.words, ngrams.log10
    order = words.shape[1]
    known = row  # the first row whose context was not looked up
    while row < words.shape[0]:
        if row == known:
            known = min(row + _AHEAD, words.shape[0])
            _look_ahead(slots, nodes, words[row:known], contexts)
            first = row
        # an n-gram adds at most one missing suffix for each of its words
        no_room = used[0].nodes + order >= nodes.size
        if no_room or (used[0].slots + order) * 5 > slots.size * 4:
            return row, _FULL
        if contexts[row - first] < 0:
            # an earlier row may have added the context as a suffix after the lookup
            _look_ahead(slots, nodes, words[row:known], contexts[row - first :])
        context = contexts[row - first]
        if context < 0:
            return row, _NO_CONTEXT
        word = np.int64(words[row, order - 1])
        slot = find_pair(slots, pair_key(context, word))
        if slots[slot].key != 0:  # the n-gram was listed before
            row += 1
            continue
        suffix = _suffix_node(slots, nodes, used, context, word)
        nodes[context].extends = True
        target = suffix
        if not longest:
            target = _new_node(nodes, used, log10[row], ngrams.backoff[row], suffix)
        _set_entry(slots, used, pair_key(context, word), log10[row], target)
        row += 1
    return row, _DONE


@compiled
def _look_ahead(
    slots: Records, nodes: Records, words: NDArray[np.int32], contexts: NDArray[np.int64]
) -> None:
    """Write the context of each row to ``contexts``, -1 if it is missing.

    The lookups of one row depend on one another, but lookups of different rows do not, so the
    processor overlaps their cache misses. The last loop prefetches the slots that `_insert_rows`
    will read.
    """
    rows, order = words.shape
    for row in range(rows):
        contexts[row] = np.int64(words[row, 0]) + 1
    for position in range(1, order - 1):
        for row in range(rows):
            if contexts[row] >= 0:
                contexts[row] = _child(slots, contexts[row], words[row, position])
    near = 0
    for row in range(rows):
        if contexts[row] >= 0:
            word = words[row, order - 1]
            near += find_pair(slots, pair_key(contexts[row], word))
            near += find_pair(slots, pair_key(nodes[contexts[row]].suffix, word))
    contexts[rows] = near  # stored only to keep the compiler from removing the prefetches


@compiled
def _child(slots: Records, context: int, word: int) -> int:
    entry = slots[find_pair(slots, pair_key(context, word))]
    return np.int64(entry.next) if entry.key != 0 else -1


@compiled
def _new_node(
    nodes: Records, used: Records, log10: np.float32, backoff: np.float32, suffix: int
) -> int:
    number = used[0].nodes
    node = nodes[number]
    node.log10, node.backoff, node.suffix, node.extends = log10, backoff, suffix, backoff != 0.0
    used[0].nodes = number + 1
    return number


@compiled
def _set_entry(
    slots: Records, used: Records, key: np.uint64, log10: np.float32, target: int
) -> None:
    slot = slots[find_pair(slots, key)]
    slot.key, slot.log10, slot.next = key, log10, target
    used[0].slots += 1


@compiled
def _suffix_node(slots: Records, nodes: Records, used: Records, context: int, word: int) -> int:
    """Return the node of (context, word) without its first word; add missing suffixes.

    The probability of an added n-gram is its suffix's probability times its context's back-off.
    """
    # walk down to the longest suffix that exists, then add the missing ones from short to long
    shorter = np.int64(nodes[context].suffix)
    missing = 0
    while shorter != EMPTY_STATE and _child(slots, shorter, word) < 0:
        missing += 1
        shorter = np.int64(nodes[shorter].suffix)
    node = word + 1 if shorter == EMPTY_STATE else _child(slots, shorter, word)
    while missing > 0:
        missing -= 1
        longer = np.int64(nodes[context].suffix)
        for _ in range(missing):
            longer = np.int64(nodes[longer].suffix)
        log10 = nodes[node].log10 + nodes[longer].backoff
        nodes[longer].extends = True
        node = _new_node(nodes, used, log10, np.float32(0.0), node)
        _set_entry(slots, used, pair_key(longer, word), log10, node)
    return node


@compiled
def _resolve_states(nodes: Records, state_of: NDArray[np.int32]) -> None:
    """Set each node's state: the node if it may be a state, or else the longest suffix that may."""
    for node in range(state_of.size):
        state = node
        while state != EMPTY_STATE and not nodes[state].extends:
            state = np.int64(nodes[state].suffix)
        state_of[node] = state


@compiled
def _point_to_states(slots: Records, state_of: NDArray[np.int32], nodes: Records) -> None:
    """Point slots to states instead of nodes, and set the word classes that follow each node."""
    slots, state_of, nodes = borrowed((slots, state_of, nodes))
    for slot in range(slots.size):
        key = slots[slot].key
        if key != 0:
            slots[slot].next = state_of[slots[slot].next]
            state, word = np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))
            nodes[state].classes |= class_of(word)
