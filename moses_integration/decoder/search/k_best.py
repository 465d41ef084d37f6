"""The best derivations of a sentence, from the hypotheses that recombined during the search.

A derivation is a final hypothesis and what leads to it; another one deviates from it in one place,
where it takes a hypothesis that recombined there. Deviations are tried in the order of their total,
each place's arcs in the order of theirs, so that the list is that of Moses's Manager::CalcNBest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.runs import offsets_of
from moses_integration.decoder.search.heap import pop, push, sort_by_total
from moses_integration.decoder.search.hypotheses import INITIAL, NONE
from moses_integration.decoder.settings import NBestSettings
from phrasescore.compiled import Records, borrowed, compiled

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


class OptionWords(NamedTuple):
    """The target words of all options; those of option i are ``words[first[i] : first[i + 1]]``."""

    first: NDArray[np.int64]
    words: NDArray[np.int32]


_USED = np.dtype([(name, np.int64) for name in ("paths", "heap", "nodes", "arcs", "kept", "pops")])


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
        used: One record, how many of each are in use, and the pops so far.
    """

    paths: Records
    heap: NDArray[np.int32]
    nodes: NDArray[np.int32]
    arcs: NDArray[np.int32]
    first_arc: NDArray[np.int32]
    arc_count: NDArray[np.int32]
    kept: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    used: Records


@compiled
def _push(lists: _Lists, total: float, parent: int, place: int, rank: int) -> None:
    lists = borrowed(lists)
    used = lists.used[0]
    path = lists.paths[used.paths]
    path.total, path.parent, path.place, path.rank = total, parent, place, rank
    push(lists.paths, lists.heap, used.heap, used.paths)
    used.paths += 1
    used.heap += 1


@compiled
def _sort_arcs(lists: _Lists, records: Records, number: int) -> int:
    """Sort the arcs of a hypothesis, if that has not been done; return how many it has."""
    lists, records = borrowed((lists, records))
    if lists.first_arc[number] == NONE:
        begin = end = lists.used[0].arcs
        arc = records[number].arcs
        while arc != NONE:
            lists.arcs[end] = arc
            end += 1
            arc = records[arc].next_arc
        sort_by_total(records, lists.arcs[begin:end])
        lists.first_arc[number], lists.arc_count[number] = begin, end - begin
        lists.used[0].arcs = end
    return np.int64(lists.arc_count[number])


@compiled
def _push_arc(lists: _Lists, records: Records, parent: int, place: int, rank: int) -> None:
    """Think of the path that takes an arc in one place of another path, if there is that arc."""
    lists, records = borrowed((lists, records))
    number = lists.nodes[lists.paths[parent].nodes + place]
    if rank < _sort_arcs(lists, records, number):
        arc = lists.arcs[lists.first_arc[number] + rank]
        gain = records[arc].total - records[number].total
        _push(lists, lists.paths[parent].total + gain, parent, place, rank)


@compiled
def _write_nodes(lists: _Lists, records: Records, complete: NDArray[np.int32], number: int) -> None:
    """Write down the hypotheses of a path."""
    lists, records, complete = borrowed((lists, records, complete))
    path = lists.paths[number]
    end = path.nodes = lists.used[0].nodes
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
    lists.used[0].nodes = end


@compiled
def _hash_words(lists: _Lists, records: Records, number: int, target: OptionWords) -> np.uint64:
    """Hash the target words of a path that was taken last, 64 bits."""
    lists, records, target = borrowed((lists, records, target))
    digest = np.uint64(1469598103934665603)
    for at in range(lists.used[0].nodes - 1, lists.paths[number].nodes - 1, -1):
        option = records[lists.nodes[at]].option
        for word in range(target.first[option], target.first[option + 1]):
            digest = (digest ^ np.uint64(target.words[word])) * np.uint64(0x9E3779B97F4A7C15)
            digest ^= digest >> np.uint64(32)
    return digest


@compiled
def _is_new(lists: _Lists, digest: np.uint64) -> bool:
    """Whether no kept path has this hash; note that one has now."""
    lists = borrowed(lists)
    mask = lists.hashes.size - 1
    digest |= np.uint64(1)  # 0 is free
    slot = np.int64((digest >> np.uint64(8)) & np.uint64(mask))
    while lists.hashes[slot] != 0:
        if lists.hashes[slot] == digest:
            return False
        slot = (slot + 1) & mask
    lists.hashes[slot] = digest
    return True


@compiled
def _enumerate(
    lists: _Lists,
    records: Records,
    complete: NDArray[np.int32],
    target: OptionWords,
    settings: NBestSettings,
    pops: int,
    length: int,
) -> bool:
    """Take paths in order; return whether it is done, or needs more room."""
    lists, records, complete, target = borrowed((lists, records, complete, target))
    used = lists.used[0]
    if used.pops == 0:
        _push(lists, records[complete[0]].total, NONE, NONE, 0)
    while used.kept < settings.size and used.heap > 0 and used.pops < pops:
        room = used.paths + length + 2 <= lists.paths.size
        if not room or used.nodes + length > lists.nodes.size:
            return False
        number = pop(lists.paths, lists.heap, used.heap)
        used.heap -= 1
        used.pops += 1
        path = lists.paths[number]
        if path.parent != NONE:
            _push_arc(lists, records, path.parent, path.place, path.rank + 1)
        elif path.rank + 1 < complete.size:
            _push(lists, records[complete[path.rank + 1]].total, NONE, NONE, path.rank + 1)
        _write_nodes(lists, records, complete, number)
        for place in range(path.place + 1, used.nodes - path.nodes):
            _push_arc(lists, records, number, place, 0)
        digest = np.uint64(0)
        if settings.distinct:
            digest = _hash_words(lists, records, number, target)
        if not settings.distinct or _is_new(lists, digest):
            lists.kept[used.kept] = number
            used.kept += 1
    return True


def best_paths(
    records: Records,
    complete: NDArray[np.int32],
    target: OptionWords,
    settings: NBestSettings,
    length: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """List the best derivations.

    Args:
        records: The hypotheses that are in use.
        complete: Those that cover the sentence, the best first, at least one.
        target: The target words of all options.
        settings: What list is wanted.
        length: Words of the sentence.

    Returns:
        Where each derivation begins among the hypotheses, shape (N + 1,), the hypotheses in the
        order they were applied, and the totals.
    """
    room = min(settings.pops, _MOST_POPS)
    lists = _Lists(
        paths=np.empty(room * 4 + length + 2, PATH),
        heap=np.empty(room * 4 + length + 2, np.int32),
        nodes=np.empty(room * min(length, 16) + length, np.int32),
        arcs=np.empty(len(records), np.int32),
        first_arc=np.full(len(records), NONE, np.int32),
        arc_count=np.empty(len(records), np.int32),
        kept=np.empty(settings.size, np.int32),
        hashes=np.zeros(1 << (2 * settings.size).bit_length(), np.uint64),
        used=np.zeros(1, _USED),
    )
    while not _enumerate(lists, records, complete, target, settings, settings.pops, length):
        arrays = {name: getattr(lists, name) for name in ("paths", "heap", "nodes")}
        lists = lists._replace(
            **{name: np.concatenate([a, np.empty_like(a)]) for name, a in arrays.items()}
        )
    kept = lists.paths[lists.kept[: lists.used["kept"][0]]]
    nodes = lists.nodes[: lists.used["nodes"][0]]
    return *_hypotheses(records, nodes, kept["nodes"]), kept["total"]


def _hypotheses(
    records: Records, nodes: NDArray[np.int32], begins: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the hypotheses of paths that begin at ``begins``, the first applied one first."""
    lasts = np.flatnonzero(records["previous"][nodes] == INITIAL)
    ends = lasts[np.searchsorted(lasts, begins)]
    offsets = offsets_of(ends + 1 - begins)
    places = np.repeat(ends + offsets[:-1], np.diff(offsets)) - np.arange(offsets[-1])
    return offsets, nodes[places]


def path_to(records: Records, number: int) -> NDArray[np.int32]:
    """Return the hypotheses from the first applied phrase to ``number``."""
    path, previous = [], records["previous"]
    while number != INITIAL:
        path.append(number)
        number = previous.item(number)
    return np.array(path[::-1], np.int32)
