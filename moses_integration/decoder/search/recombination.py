"""What happens to a hypothesis in its stack: recombination, histogram and beam pruning.

The rules are those of Moses's HypothesisStackNormal and HypothesisStackCubePruning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.hypotheses import NONE, Limits, Stacks
from phrasescore.compiled import Record, borrowed, compiled, inlined


@compiled
def _bucket(record: Record, limits: Limits, buckets: int) -> int:
    key = np.uint64(record.lm_state) * np.uint64(0x9E3779B97F4A7C15)
    key += np.uint64(record.coverage) * np.uint64(0xC2B2AE3D27D4EB4F)
    key += np.uint64(record.history) * np.uint64(0x94D049BB133111EB)
    if limits.joins_by_end:
        key += np.uint64(record.end) * np.uint64(0x165667B19E3779F9)
    if limits.joins_by_span:
        key += np.uint64(record.start) * np.uint64(0x27D4EB2F165667C5)
        key += np.uint64(record.forward_class) * np.uint64(0x85EBCA77C2B2AE63)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((key >> np.uint64(32)) & np.uint64(buckets - 1))


@compiled
def _recombines(one: Record, other: Record, limits: Limits) -> bool:
    """Whether two hypotheses have equal futures: Moses's equality of all feature states."""
    if one.coverage != other.coverage or one.lm_state != other.lm_state:
        return False
    if one.history != other.history:
        return False
    if limits.joins_by_end and one.end != other.end:
        return False
    if not limits.joins_by_span:
        return True
    return (
        one.start == other.start
        and one.end == other.end
        and one.forward_class == other.forward_class
    )


@inlined
def _link(stacks: Stacks, stack: int, member: int, bucket: int) -> None:
    record = stacks.records[member]
    record.chain = stacks.heads[stack, bucket]
    stacks.heads[stack, bucket] = member
    record.member = stacks.members[stack]
    stacks.members[stack] = member
    stacks.size[stack] += 1


@inlined
def put(stacks: Stacks, stack: int, limits: Limits) -> bool:
    """Put the record after the last one in use into a stack, or recombine it.

    There must be room for one more record. The caller has compared its total with
    ``stacks.worst``.

    Returns:
        Whether it is a new entry of the stack.
    """
    new = stacks.used[0]
    record = stacks.records[new]
    bucket = _bucket(record, limits, stacks.heads.shape[1])
    rival = stacks.heads[stack, bucket]
    while rival != NONE:
        if _recombines(record, stacks.records[rival], limits):
            _recombine(stacks, stack, rival, limits)
            return False
        rival = stacks.records[rival].chain
    record.arcs = NONE
    record.next_arc = NONE
    stacks.used[0] = new + 1
    _link(stacks, stack, new, bucket)
    _note_best(stacks, stack, record.total, limits)
    if limits.stack > 0 and stacks.size[stack] > 2 * limits.stack - 1:
        prune(stacks, stack, limits)
    return True


@inlined
def _note_best(stacks: Stacks, stack: int, total: float, limits: Limits) -> None:
    if total > stacks.best[stack]:
        stacks.best[stack] = total
        stacks.worst[stack] = max(stacks.worst[stack], total + limits.beam_ln)


@inlined
def _recombine(stacks: Stacks, stack: int, rival: int, limits: Limits) -> None:
    """Let the better of two hypotheses take the place in the stack, the other become its arc.

    Nothing has been expanded from either, so the winner may move into the rival's record.
    """
    new = stacks.used[0]
    record, other = stacks.records[new], stacks.records[rival]
    if record.total > other.total:
        for_score, for_total, previous = record.score, record.total, record.previous
        option, start, end = record.option, record.start, record.end
        forward_class = record.forward_class
        record.score, record.total, record.previous = other.score, other.total, other.previous
        record.option, record.start, record.end = other.option, other.start, other.end
        record.forward_class = other.forward_class
        other.score, other.total, other.previous = for_score, for_total, previous
        other.option, other.start, other.end = option, start, end
        other.forward_class = forward_class
        _note_best(stacks, stack, for_total, limits)
    if limits.keep_arcs:
        record.arcs = NONE
        record.next_arc = other.arcs
        other.arcs = new
        stacks.used[0] = new + 1


@compiled
def _kth_largest(values: NDArray[np.float64], size: int, k: int) -> float:
    """Return the k-th largest of the first ``size`` values, k from 1; they are reordered."""
    low, high = 0, size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return values[k - 1]
    return values[k - 1]


@compiled
def prune(stacks: Stacks, stack: int, limits: Limits) -> None:
    """Cut a stack that is too large down to its best hypotheses, and these to the beam."""
    stacks = borrowed(stacks)
    size = stacks.size[stack]
    if limits.stack == 0 or size <= limits.stack:
        return
    member = stacks.members[stack]
    for i in range(size):
        stacks.pruned[i] = member
        stacks.totals[i] = stacks.records[member].total
        member = stacks.records[member].member
    threshold = _kth_largest(stacks.totals, size, limits.stack)
    lowest = stacks.best[stack] + limits.beam_ln
    ties = limits.stack
    for i in range(size):
        ties -= stacks.records[stacks.pruned[i]].total > threshold
    for bucket in range(stacks.heads.shape[1]):
        stacks.heads[stack, bucket] = NONE
    stacks.members[stack] = NONE
    stacks.size[stack] = 0
    for i in range(size):
        record = stacks.records[stacks.pruned[i]]
        keeps = record.total > threshold
        if record.total == threshold and ties > 0:
            ties -= 1
            keeps = True
        if keeps and record.total > lowest:
            bucket = _bucket(record, limits, stacks.heads.shape[1])
            _link(stacks, stack, stacks.pruned[i], bucket)
    if stacks.size[stack] == limits.stack:
        stacks.worst[stack] = threshold
