"""The k best derivations of a sentence, found through the hypotheses that recombined in the search.

A derivation is a final hypothesis with its predecessors. The arcs of a hypothesis are the
hypotheses that recombined into it. A new derivation deviates from an earlier derivation at one
hypothesis, which an arc replaces. Deviations are tried from the highest total down, and so are the
arcs of a hypothesis. Therefore the list equals the list of Moses's Manager::CalcNBest.
"""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.stacks import INITIAL, NONE, sort_by_total
from moses_integration.decoder.settings import NBestSettings
from phrasescore.compiled import Records, borrowed, compiled, inlined

# the fields of a path: the total, the path that it deviates from, the position of the deviation
# (counted from the last hypothesis), and the arc at this position; if a path deviates from no other
# path, the last field is the rank of the final hypothesis
_Path: TypeAlias = tuple[float, int, int, int]


@compiled
def _best_arc(
    records: Records, number: int, is_sorted: NDArray[np.bool_], scratch: NDArray[np.int32]
) -> int:
    """Chain a hypothesis's arcs from the highest total down; return the first arc, or -1.

    Args:
        records: All hypotheses.
        number: The index of the hypothesis.
        is_sorted: Whether the arcs of each hypothesis are chained in this order already.
        scratch: Scratch memory for the indexes of all hypotheses.
    """
    records, is_sorted, scratch = borrowed((records, is_sorted, scratch))
    if not is_sorted[number]:
        size = 0
        arc = records[number].arcs
        while arc != NONE:
            scratch[size] = arc
            size += 1
            arc = records[arc].next_arc
        sort_by_total(records, scratch[:size])
        following = NONE
        for at in range(size - 1, -1, -1):
            records[scratch[at]].next_arc = following
            following = scratch[at]
        records[number].arcs = following
        is_sorted[number] = True
    return np.int64(records[number].arcs)


@inlined
def _push(paths: list[_Path], heap: list[tuple[float, int]], path: _Path) -> None:
    # the index of the path breaks ties: the older path comes first
    heapq.heappush(heap, (-path[0], len(paths)))
    paths.append(path)


@compiled
def _hash_words(
    records: Records,
    nodes: list[int],
    begin: int,
    first: NDArray[np.int64],
    words: NDArray[np.int32],
) -> np.uint64:
    """Hash the target words of the path whose hypotheses are ``nodes[begin:]`` to 64 bits."""
    records, first, words = borrowed((records, first, words))
    digest = np.uint64(1469598103934665603)
    for at in range(len(nodes) - 1, begin - 1, -1):  # nodes hold the last phrase first
        option = records[nodes[at]].option
        for word in range(first[option], first[option + 1]):
            digest = (digest ^ np.uint64(words[word])) * np.uint64(0x9E3779B97F4A7C15)
            digest ^= digest >> np.uint64(32)
    return digest


@compiled
def _write_nodes(
    records: Records, complete: NDArray[np.int32], path: _Path, shared: int, nodes: list[int]
) -> None:
    """Append the hypotheses of a path to ``nodes``, the last one first.

    Args:
        records: All hypotheses.
        complete: The hypotheses that cover the sentence.
        path: The path.
        shared: Where the path from which ``path`` deviates starts in ``nodes``.
        nodes: The hypotheses of all paths popped so far.
    """
    records, complete = borrowed((records, complete))
    _, parent, place, arc = path
    for at in range(place):  # the part that both paths share
        nodes.append(nodes[shared + at])
    node = np.int64(complete[arc]) if parent == NONE else arc  # a deviation begins with its arc
    while node != INITIAL:
        nodes.append(node)
        node = np.int64(records[node].previous)


@compiled
def best_paths(
    records: Records,
    complete: NDArray[np.int32],
    first: NDArray[np.int64],
    words: NDArray[np.int32],
    settings: NBestSettings,
    pops: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """List the derivations with the highest totals.

    Args:
        records: The hypotheses that are in use.
        complete: The hypotheses that cover the sentence, the highest total first.
        first: The first target word of each option, shape (options + 1,).
        words: The target words of all options.
        settings: The settings of the list.
        pops: The maximum number of derivations to examine.

    Returns:
        The start of each derivation in the hypotheses, shape (N + 1,); the hypotheses, first to
        last within each derivation; and the totals.
    """
    is_sorted = np.zeros(records.size, np.bool_)  # arcs are sorted when first needed
    scratch = np.empty(records.size, np.int32)
    best = records[complete[0]].total if complete.size > 0 else 0.0
    paths = [(best, np.int64(NONE), np.int64(NONE), np.int64(0))]
    heap = [(-best, 0)]
    offsets = [np.int64(0)]
    # numba infers the type of a list or set from its first entry, so each begins with a dummy
    nodes, hypotheses = [np.int64(NONE)], [np.int32(NONE)]
    totals, seen = [best], {np.uint64(0)}
    begins = {0: 0}  # path -> where it starts in `nodes`
    while complete.size > 0 and len(totals) <= settings.size and len(heap) > 0 and pops > 0:
        pops -= 1
        number = heapq.heappop(heap)[1]  # the best derivation not listed yet
        total, parent, place, arc = paths[number]
        shared, begin = begins[max(parent, 0)], len(nodes)
        if parent != NONE:
            following = np.int64(records[arc].next_arc)
            if following != NONE:
                gain = records[following].total - records[nodes[shared + place]].total
                _push(paths, heap, (paths[parent][0] + gain, parent, place, following))
        elif arc + 1 < complete.size:
            _push(paths, heap, (records[complete[arc + 1]].total, parent, place, arc + 1))
        _write_nodes(records, complete, paths[number], shared, nodes)
        begins[number] = begin
        # earlier places were deviated from by the parent, so no derivation is found twice
        for at in range(place + 1, len(nodes) - begin):
            node = nodes[begin + at]
            deviation = _best_arc(records, node, is_sorted, scratch)
            if deviation != NONE:
                gain = records[deviation].total - records[node].total
                _push(paths, heap, (total + gain, number, at, deviation))
        if settings.distinct:
            # 64 bits of the words
            digest = _hash_words(records, nodes, begin, first, words)
            if digest in seen:
                continue
            seen.add(digest)
        for at in range(len(nodes) - 1, begin - 1, -1):
            hypotheses.append(np.int32(nodes[at]))
        offsets.append(np.int64(len(hypotheses) - 1))
        totals.append(total)
    return np.array(offsets), np.array(hypotheses[1:]), np.array(totals[1:])
