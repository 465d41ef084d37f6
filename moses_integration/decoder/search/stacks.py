"""Hypotheses in stacks, as arrays: recombination, histogram and beam pruning.

A hypothesis is one record in a growing array, and its number is its index. A stack is a hash table
whose buckets are chains of records, so records never move. The rules are those of Moses's
HypothesisStackNormal and HypothesisStackCubePruning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import Record, Records, borrowed, compiled, inlined
from phrasescore.words.hashing import with_room

NONE = -1
_FIRST_RECORDS = 1 << 14
_UNLIMITED_BUCKETS = 1 << 16
INITIAL = 0  # the hypothesis that has translated nothing

HYPOTHESIS = np.dtype(
    [
        ("score", np.float64),  # model score so far
        ("total", np.float64),  # score plus the future cost of the words that are not covered
        ("lm_state", np.int64),
        ("history", np.int32),  # its node in `Histories`; 0 without neural language models
        ("previous", np.int32),
        ("option", np.int32),
        ("coverage", np.int32),
        ("start", np.int16),  # source span of the last phrase, inclusive; -1 for none
        ("end", np.int16),
        ("arcs", np.int32),  # the first hypothesis that recombined into this hypothesis
        ("next_arc", np.int32),  # the next hypothesis that recombined into the same hypothesis
        ("chain", np.int32),  # the next hypothesis in the same bucket
        ("member", np.int32),  # the next hypothesis in the same stack
        ("forward_class", np.int32),  # the forward class of its option
    ],
    align=True,
)


class Limits(NamedTuple):
    """The limits of the search.

    Attributes:
        stack: The maximum number of hypotheses to expand per stack; 0 for no limit.
        beam_ln: The minimum of a hypothesis's total minus the best total of its stack (negative, in
            ln).
        distortion: The maximum distance in words between the end of a phrase and the start of the
            next; -1 for no limit.
        keep_arcs: Whether recombined hypotheses are kept, for n-best lists.
        joins_by_end: Whether hypotheses recombine only if their last phrases end at the same word.
        joins_by_span: Whether hypotheses recombine only if their last phrases also have equal
            starts and forward classes (lexicalised reordering).
        pop_limit: The number of hypotheses that cube pruning pops for each stack.
        diversity: The minimum number of hypotheses per coverage in a stack of cube pruning.
    """

    stack: int
    beam_ln: float
    distortion: int
    keep_arcs: bool
    joins_by_end: bool
    joins_by_span: bool
    pop_limit: int
    diversity: int


class Stacks(NamedTuple):
    """All stacks of a sentence; stack t holds the hypotheses that cover t source words.

    Attributes:
        records: The hypotheses.
        heads: The first hypothesis of each bucket, shape (stacks, buckets).
        members: The first hypothesis of each stack, shape (stacks,).
        size: The number of hypotheses in each stack, shape (stacks,).
        best: The highest total of any hypothesis that entered each stack, shape (stacks,).
        worst: The minimum total to enter each stack, shape (stacks,).
        numbers: The hypotheses of one stack, sorted by `sort_members`.
        used: One number: how many records are in use.
    """

    records: Records
    heads: NDArray[np.int32]
    members: NDArray[np.int32]
    size: NDArray[np.int64]
    best: NDArray[np.float64]
    worst: NDArray[np.float64]
    numbers: NDArray[np.int32]
    used: NDArray[np.int64]

    @classmethod
    def new(cls, longest_sentence: int, stack_size: int) -> Stacks:
        """Make room for the stacks of sentences of up to this many words.

        Args:
            longest_sentence: The maximum number of words in a sentence.
            stack_size: The maximum number of hypotheses to expand per stack; 0 for no limit.
        """
        count = longest_sentence + 1
        # a power of two, because a mask picks the bucket; a stack is pruned at twice its size
        buckets = 1 << (2 * stack_size - 1).bit_length() if stack_size > 0 else _UNLIMITED_BUCKETS
        return cls(
            records=np.empty(_FIRST_RECORDS, HYPOTHESIS),
            heads=np.empty((count, buckets), np.int32),  # a hash table for each stack
            members=np.empty(count, np.int32),
            size=np.empty(count, np.int64),
            best=np.empty(count),
            worst=np.empty(count),
            numbers=np.empty(_FIRST_RECORDS, np.int32),
            used=np.zeros(1, np.int64),
        )

    def with_room(self, extra: int) -> Stacks:
        """Return the stacks with room for ``extra`` more records."""
        needed = int(self.used[0]) + extra
        return self._replace(
            records=with_room(self.records, needed), numbers=with_room(self.numbers, needed)
        )


@compiled
def clear_stacks(stacks: Stacks, length: int, lm_state: int, estimate: float) -> None:
    """Empty the stacks, except for the initial hypothesis that has translated nothing.

    Args:
        stacks: The stacks.
        length: The number of words of the sentence.
        lm_state: The language model state before the first word.
        estimate: Future cost of the whole sentence.
    """
    for stack in range(length + 1):
        for bucket in range(stacks.heads.shape[1]):
            stacks.heads[stack, bucket] = NONE
        stacks.members[stack], stacks.size[stack] = NONE, 0
        stacks.best[stack] = stacks.worst[stack] = -np.inf  # anything may enter
    record = stacks.records[INITIAL]
    record.score, record.total, record.lm_state, record.history = 0.0, estimate, lm_state, 0
    record.previous, record.option, record.coverage = NONE, NONE, 0
    record.start, record.end, record.forward_class = -1, -1, NONE
    record.arcs, record.next_arc, record.chain, record.member = NONE, NONE, NONE, NONE
    stacks.members[0] = INITIAL
    stacks.size[0] = 1
    stacks.best[0] = estimate
    stacks.used[0] = 1  # the initial hypothesis


# An entry of a heap, with a copy of the total: comparisons that read the record's total would
# wait for memory most of the time.
HEAP_ENTRY = np.dtype([("total", np.float64), ("number", np.int32)], align=True)


@inlined
def _precedes(total: float, number: int, other: Record) -> bool:
    """Return whether an entry ranks above another: first by higher total, then by lower number."""
    # without branches, because the processor could not predict them
    return (total > other.total) | ((total >= other.total) & (number < other.number))


@compiled
def push(heap: Records, size: int, total: float, number: int) -> None:
    """Add an entry to the ``size`` entries of a heap."""
    heap = borrowed(heap)
    at = size
    while at > 0 and _precedes(total, number, heap[(at - 1) // 2]):  # sift up
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at].total, heap[at].number = total, number


@compiled
def replace_best(heap: Records, size: int, total: float, number: int) -> None:
    """Replace the top entry of a heap of ``size`` entries with another entry."""
    heap = borrowed(heap)
    at = 0
    while 2 * at + 1 < size:  # sift down
        child = 2 * at + 1
        if child + 1 < size:
            right = heap[child + 1]
            child += _precedes(right.total, right.number, heap[child])  # the better child
        if _precedes(total, number, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at].total, heap[at].number = total, number


@compiled
def remove_best(heap: Records, size: int) -> None:
    """Remove the top entry of a heap of ``size`` entries, at least one."""
    heap = borrowed(heap)
    last = heap[size - 1]
    replace_best(heap, size - 1, np.float64(last.total), np.int64(last.number))


@compiled
def sort_by_total(records: Records, numbers: NDArray[np.int32]) -> None:
    """Sort indexes of records in place, the highest total first."""
    records, numbers = borrowed((records, numbers))
    if numbers.size < 2:
        return
    heap = np.empty(numbers.size, HEAP_ENTRY)
    # a heap sort: its order is total, because ties go by number, so it needs no stable sort
    for at in range(numbers.size):
        push(heap, at, records[numbers[at]].total, numbers[at])
    for at in range(numbers.size):
        numbers[at] = heap[0].number
        remove_best(heap, numbers.size - at)


@compiled
def _members(stacks: Stacks, stack: int) -> NDArray[np.int32]:
    """Return the hypotheses of a stack."""
    stacks = borrowed(stacks)
    members = np.empty(stacks.size[stack], np.int32)
    member = stacks.members[stack]
    for at in range(members.size):
        members[at] = member
        member = stacks.records[member].member
    return members


@compiled
def sort_members(stacks: Stacks, stack: int, limits: Limits) -> None:
    """Prune a stack, and write its hypotheses to ``stacks.numbers``, best first."""
    stacks = borrowed(stacks)
    prune(stacks, stack, limits)
    numbers = stacks.numbers[: stacks.size[stack]]
    numbers[:] = _members(stacks, stack)
    sort_by_total(stacks.records, numbers)


@compiled
def _bucket(record: Record, limits: Limits, buckets: int) -> int:
    # the parts of the state times odd constants with random bits: equal states meet in one bucket,
    # others rarely do; the last lines mix the high bits into the number of the bucket
    key = np.uint64(record.lm_state) * np.uint64(0x9E3779B97F4A7C15)
    key += np.uint64(record.coverage) * np.uint64(0xC2B2AE3D27D4EB4F)
    key += np.uint64(record.history) * np.uint64(0x94D049BB133111EB)
    if limits.joins_by_end:
        key += np.uint64(record.end) * np.uint64(0x165667B19E3779F9)
    if limits.joins_by_span:
        key += np.uint64(record.start) * np.uint64(0x27D4EB2F165667C5)
        key += np.uint64(record.forward_class) * np.uint64(0x85EBCA77C2B2AE63)
    key ^= key >> np.uint64(29)  # brings high bits down for the product
    key *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((key >> np.uint64(32)) & np.uint64(buckets - 1))


@compiled
def _recombines(one: Record, other: Record, limits: Limits) -> bool:
    """Return whether two hypotheses have equal feature states, so that Moses recombines them."""
    if one.coverage != other.coverage or one.lm_state != other.lm_state:
        return False
    if one.history != other.history or (limits.joins_by_end and one.end != other.end):
        return False
    if not limits.joins_by_span:
        return True
    same_span = one.start == other.start and one.end == other.end
    return same_span and one.forward_class == other.forward_class


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
    """Put a new hypothesis, which is record ``stacks.used[0]``, into a stack, or recombine it.

    There must be room for one more record. The caller has compared the hypothesis's total with
    ``stacks.worst``.

    Returns:
        Whether the stack has a new entry.
    """
    new = stacks.used[0]
    record = stacks.records[new]
    bucket = _bucket(record, limits, stacks.heads.shape[1])
    # every hypothesis with equal feature states is in this bucket's chain
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
    # pruning at twice the size costs a constant for each hypothesis
    if limits.stack > 0 and stacks.size[stack] > 2 * limits.stack - 1:
        prune(stacks, stack, limits)
    return True


@inlined
def _note_best(stacks: Stacks, stack: int, total: float, limits: Limits) -> None:
    if total > stacks.best[stack]:
        stacks.best[stack] = total
        # the beam only narrows
        stacks.worst[stack] = max(stacks.worst[stack], total + limits.beam_ln)


@inlined
def _recombine(stacks: Stacks, stack: int, rival: int, limits: Limits) -> None:
    """Keep the better of two equivalent hypotheses; the other becomes its arc if arcs are kept.

    Neither has been extended yet, because a stack is expanded only when it is complete. The
    winner can therefore move into the rival's record, which stays where it is in all chains.
    """
    new = stacks.used[0]
    record, other = stacks.records[new], stacks.records[rival]
    if record.total > other.total:
        record.score, other.score = other.score, record.score
        record.total, other.total = other.total, record.total
        record.previous, other.previous = other.previous, record.previous
        record.option, other.option = other.option, record.option
        # coverage and language model state are equal, or they would not recombine
        record.start, other.start = other.start, record.start
        record.end, other.end = other.end, record.end
        record.forward_class, other.forward_class = other.forward_class, record.forward_class
        _note_best(stacks, stack, other.total, limits)
    if limits.keep_arcs:
        record.arcs = NONE
        record.next_arc = other.arcs
        other.arcs = new
        stacks.used[0] = new + 1


@compiled
def prune(stacks: Stacks, stack: int, limits: Limits) -> None:
    """Histogram and beam pruning: cut an overfull stack to the highest totals within the beam."""
    stacks = borrowed(stacks)
    size = stacks.size[stack]
    if limits.stack == 0 or size <= limits.stack:
        return
    members = _members(stacks, stack)
    totals = stacks.records["total"][members]
    # the lowest total that fits; `ties` is how many hypotheses with exactly this total fit
    kth = size - limits.stack  # in ascending order
    threshold = np.partition(totals, kth)[kth]
    lowest = stacks.best[stack] + limits.beam_ln
    ties = limits.stack - np.sum(totals > threshold)  # above it, all fit
    # a hypothesis cannot be removed from a chain: empty the stack, and link the survivors again
    for bucket in range(stacks.heads.shape[1]):
        stacks.heads[stack, bucket] = NONE
    stacks.members[stack] = NONE
    stacks.size[stack] = 0
    for i in range(size):
        keeps = totals[i] > threshold
        if totals[i] == threshold and ties > 0:
            ties -= 1
            keeps = True
        if keeps and totals[i] > lowest:
            bucket = _bucket(stacks.records[members[i]], limits, stacks.heads.shape[1])
            _link(stacks, stack, members[i], bucket)
    if stacks.size[stack] == limits.stack:
        stacks.worst[stack] = threshold
