"""The best derivations of a sentence, from the hypotheses that recombined during the search.

A derivation is a final hypothesis and what leads to it; another one deviates from it in one place,
where it takes a hypothesis that recombined there. Deviations are tried in the order of their total,
each place's arcs in the order of theirs, so that the list is that of Moses's Manager::CalcNBest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.hypotheses import INITIAL, NONE, sort_by_total
from phrasescore.compiled import Records, leaf

_UNLIMITED_FACTOR = 1000  # what Moses takes for n-best-factor 0
_MOST_POPS = 1 << 16  # before more room is made

PATH = np.dtype(
    [
        ("total", np.float64),
        ("parent", np.int32),  # the path it deviates from, -1 for none
        ("place", np.int32),  # where, counted from the last hypothesis
        ("rank", np.int32),  # which of the arcs there, or which final hypothesis
        ("nodes", np.int32),  # where its hypotheses begin, once it was taken
    ],
    align=True,
)


@dataclass(frozen=True)
class NBestSettings:
    """What list is wanted.

    Args:
        size: Most derivations.
        distinct: Whether no two may have the same words.
        factor: Derivations looked at for each one wanted, at most; 0 for a thousand.
    """

    size: int
    distinct: bool = True
    factor: int = 20

    @property
    def pops(self) -> int:
        """How many derivations are looked at."""
        if not self.distinct:
            return self.size
        return self.size * (self.factor or _UNLIMITED_FACTOR)


class _Lists(NamedTuple):
    """The memory of an enumeration.

    Attributes:
        paths: Paths that were thought of.
        heap: Those that were not taken, the best on top.
        nodes: The hypotheses of paths that were taken, the last one first.
        arcs: Sorted arcs of hypotheses.
        first_arc: Where the arcs of a hypothesis begin in ``arcs``, -1 if not sorted yet.
        arc_count: How many a hypothesis has.
        kept: The paths of the list.
        hashes: Of the words of these paths.
        used: Paths, heap, nodes, arcs, kept paths and pops so far.
    """

    paths: Records
    heap: NDArray[np.int32]
    nodes: NDArray[np.int32]
    arcs: NDArray[np.int32]
    first_arc: NDArray[np.int32]
    arc_count: NDArray[np.int32]
    kept: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    used: NDArray[np.int64]


_PATHS, _HEAP, _NODES, _ARCS, _KEPT, _POPS = range(6)


@leaf
def _is_better(lists: _Lists, one: int, other: int) -> bool:
    if lists.paths[one].total != lists.paths[other].total:
        return lists.paths[one].total > lists.paths[other].total
    return one < other


@leaf
def _push(lists: _Lists, total: float, parent: int, place: int, rank: int) -> None:
    number = lists.used[_PATHS]
    lists.used[_PATHS] += 1
    path = lists.paths[number]
    path.total, path.parent, path.place, path.rank = total, parent, place, rank
    at = lists.used[_HEAP]
    lists.used[_HEAP] += 1
    while at > 0 and _is_better(lists, number, lists.heap[(at - 1) // 2]):
        lists.heap[at] = lists.heap[(at - 1) // 2]
        at = (at - 1) // 2
    lists.heap[at] = number


@leaf
def _pop(lists: _Lists) -> int:
    top = lists.heap[0]
    lists.used[_HEAP] -= 1
    size = lists.used[_HEAP]
    last = lists.heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_better(lists, lists.heap[child + 1], lists.heap[child]):
            child += 1
        if not _is_better(lists, lists.heap[child], last):
            break
        lists.heap[at] = lists.heap[child]
        at = child
    lists.heap[at] = last
    return np.int64(top)


@leaf
def _sort_arcs(lists: _Lists, records: Records, number: int) -> int:
    """Sort the arcs of a hypothesis, if that has not been done; return how many it has."""
    if lists.first_arc[number] == NONE:
        begin = end = lists.used[_ARCS]
        arc = records[number].arcs
        while arc != NONE:
            lists.arcs[end] = arc
            end += 1
            arc = records[arc].next_arc
        sort_by_total(records, lists.arcs[begin:end])
        lists.first_arc[number], lists.arc_count[number] = begin, end - begin
        lists.used[_ARCS] = end
    return np.int64(lists.arc_count[number])


@leaf
def _push_arc(lists: _Lists, records: Records, parent: int, place: int, rank: int) -> None:
    """Think of the path that takes an arc in one place of another path, if there is that arc."""
    number = lists.nodes[lists.paths[parent].nodes + place]
    if rank < _sort_arcs(lists, records, number):
        arc = lists.arcs[lists.first_arc[number] + rank]
        gain = records[arc].total - records[number].total
        _push(lists, lists.paths[parent].total + gain, parent, place, rank)


@leaf
def _write_nodes(lists: _Lists, records: Records, complete: NDArray[np.int32], number: int) -> None:
    """Write down the hypotheses of a path."""
    path = lists.paths[number]
    end = path.nodes = lists.used[_NODES]
    if path.parent == NONE:
        node = complete[path.rank]
    else:
        shared = lists.paths[path.parent].nodes
        for place in range(path.place):
            lists.nodes[end] = lists.nodes[shared + place]
            end += 1
        node = lists.arcs[lists.first_arc[lists.nodes[shared + path.place]] + path.rank]
    while node != INITIAL:
        lists.nodes[end] = node
        end += 1
        node = records[node].previous
    lists.used[_NODES] = end


@leaf
def _hash_words(
    lists: _Lists,
    records: Records,
    number: int,
    first_word: NDArray[np.int64],
    words: NDArray[np.int32],
) -> np.uint64:
    """Hash the target words of a path that was taken last, 64 bits."""
    digest = np.uint64(1469598103934665603)
    for at in range(lists.used[_NODES] - 1, lists.paths[number].nodes - 1, -1):
        option = records[lists.nodes[at]].option
        for word in range(first_word[option], first_word[option + 1]):
            digest = (digest ^ np.uint64(words[word])) * np.uint64(0x9E3779B97F4A7C15)
            digest ^= digest >> np.uint64(32)
    return digest


@leaf
def _is_new(lists: _Lists, digest: np.uint64) -> bool:
    """Whether no kept path has this hash; note that one has now."""
    mask = lists.hashes.size - 1
    digest |= np.uint64(1)  # 0 is free
    slot = np.int64((digest >> np.uint64(8)) & np.uint64(mask))
    while lists.hashes[slot] != 0:
        if lists.hashes[slot] == digest:
            return False
        slot = (slot + 1) & mask
    lists.hashes[slot] = digest
    return True


@leaf
def _enumerate(
    lists: _Lists,
    records: Records,
    complete: NDArray[np.int32],
    first_word: NDArray[np.int64],
    words: NDArray[np.int32],
    distinct: bool,
    size: int,
    pops: int,
    length: int,
) -> bool:
    """Take paths in order; return whether it is done, or needs more room."""
    if lists.used[_POPS] == 0:
        _push(lists, records[complete[0]].total, NONE, NONE, 0)
    while lists.used[_KEPT] < size and lists.used[_HEAP] > 0 and lists.used[_POPS] < pops:
        room = lists.used[_PATHS] + length + 2 <= lists.paths.size
        if not room or lists.used[_NODES] + length > lists.nodes.size:
            return False
        number = _pop(lists)
        lists.used[_POPS] += 1
        path = lists.paths[number]
        if path.parent != NONE:
            _push_arc(lists, records, path.parent, path.place, path.rank + 1)
        elif path.rank + 1 < complete.size:
            _push(lists, records[complete[path.rank + 1]].total, NONE, NONE, path.rank + 1)
        _write_nodes(lists, records, complete, number)
        for place in range(path.place + 1, lists.used[_NODES] - path.nodes):
            _push_arc(lists, records, number, place, 0)
        digest = np.uint64(0)
        if distinct:
            digest = _hash_words(lists, records, number, first_word, words)
        if not distinct or _is_new(lists, digest):
            lists.kept[lists.used[_KEPT]] = number
            lists.used[_KEPT] += 1
    return True


def best_paths(
    records: Records,
    complete: NDArray[np.int32],
    words: tuple[NDArray[np.int64], NDArray[np.int32]],
    settings: NBestSettings,
    length: int,
) -> tuple[list[NDArray[np.int32]], NDArray[np.float64]]:
    """List the best derivations.

    Args:
        records: The hypotheses that are in use.
        complete: Those that cover the sentence, the best first, at least one.
        words: Where the target words of each option begin, and the words.
        settings: What list is wanted.
        length: Words of the sentence.

    Returns:
        The hypotheses of each derivation, in the order they were applied, and the totals.
    """
    pops = settings.pops
    room = min(pops, _MOST_POPS)
    lists = _Lists(
        np.empty(room * 4 + length + 2, PATH),
        np.empty(room * 4 + length + 2, np.int32),
        np.empty(room * min(length, 16) + length, np.int32),
        np.empty(len(records), np.int32),
        np.full(len(records), NONE, np.int32),
        np.empty(len(records), np.int32),
        np.empty(settings.size, np.int32),
        np.zeros(1 << (2 * settings.size).bit_length(), np.uint64),
        np.zeros(6, np.int64),
    )
    first_word, all_words = words
    distinct, size = settings.distinct, settings.size
    while not _enumerate(
        lists, records, complete, first_word, all_words, distinct, size, pops, length
    ):
        lists = lists._replace(
            paths=np.concatenate([lists.paths, np.empty_like(lists.paths)]),
            heap=np.concatenate([lists.heap, np.empty_like(lists.heap)]),
            nodes=np.concatenate([lists.nodes, np.empty_like(lists.nodes)]),
        )
    kept = lists.paths[lists.kept[: lists.used[_KEPT]]]
    return [_path(records, lists.nodes, int(begin)) for begin in kept["nodes"]], kept["total"]


def _path(records: Records, nodes: NDArray[np.int32], begin: int) -> NDArray[np.int32]:
    """Return the hypotheses of a path, the first applied one first."""
    end = begin + 1
    while records[nodes[end - 1]]["previous"] != INITIAL:
        end += 1
    return nodes[begin:end][::-1]


def path_to(records: Records, number: int) -> NDArray[np.int32]:
    """Return the hypotheses from the first applied phrase to ``number``."""
    path = []
    while number != INITIAL:
        path.append(number)
        number = int(records[number]["previous"])
    return np.array(path[::-1], np.int32)
