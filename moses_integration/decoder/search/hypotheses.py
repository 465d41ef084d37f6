"""Hypotheses and their stacks, as arrays.

A hypothesis is one record in a growing array; its number is its index. A stack is a hash table of
chains through the records, so nothing is ever moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.search.heap import sort_by_total
from phrasescore.compiled import Records, borrowed, compiled

NONE = -1
_FIRST_RECORDS = 1 << 14
_UNLIMITED_BUCKETS = 1 << 16
INITIAL = 0  # the hypothesis that has translated nothing

HYPOTHESIS = np.dtype(
    [
        ("score", np.float64),  # model score so far
        ("total", np.float64),  # score and future cost estimate of what is not covered
        ("lm_state", np.int64),
        ("history", np.int32),  # its node in `Histories`; 0 without neural language models
        ("previous", np.int32),
        ("option", np.int32),
        ("coverage", np.int32),
        ("start", np.int16),  # source span of the last phrase, inclusive; -1 for none
        ("end", np.int16),
        ("arcs", np.int32),  # first of the hypotheses that recombined into this one
        ("next_arc", np.int32),  # the next of those that recombined into the same one
        ("chain", np.int32),  # next in the same bucket
        ("member", np.int32),  # next in the same stack
        ("forward_class", np.int32),  # of its option
    ],
    align=True,
)


class Limits(NamedTuple):
    """What bounds the search.

    Attributes:
        stack: Most hypotheses of a stack that are expanded; 0 for all.
        beam_ln: Lowest total relative to the best of the stack, a negative ln.
        distortion: Most words a phrase may start away from the end of the one before; -1 for all.
        keep_arcs: Whether recombined hypotheses are kept, for n-best lists.
        joins_by_end: Whether hypotheses must agree in the end of their last phrase to recombine.
        joins_by_span: Whether they must agree in its start too (lexicalised reordering).
        pop_limit: Hypotheses popped per stack in cube pruning.
        diversity: Hypotheses per coverage that cube pruning puts into a stack at least.
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
    """All stacks of a sentence; stack number t holds what covers t source words.

    Attributes:
        records: The hypotheses.
        heads: First hypothesis of each bucket, shape (stacks, buckets).
        members: First hypothesis of each stack, shape (stacks,).
        size: Hypotheses in each stack, shape (stacks,).
        best: Highest total each stack has seen, shape (stacks,).
        worst: Totals below are not let in, shape (stacks,).
        totals: Scratch memory for pruning, shape (2 * stack size,).
        pruned: Scratch memory for pruning, shape (2 * stack size,).
        numbers: The hypotheses of one stack, as `sort_members` leaves them.
        used: One number, how many records are in use.
    """

    records: Records
    heads: NDArray[np.int32]
    members: NDArray[np.int32]
    size: NDArray[np.int64]
    best: NDArray[np.float64]
    worst: NDArray[np.float64]
    totals: NDArray[np.float64]
    pruned: NDArray[np.int32]
    numbers: NDArray[np.int32]
    used: NDArray[np.int64]


def new_stacks(longest_sentence: int, stack_size: int) -> Stacks:
    """Make room for the stacks of sentences of up to this many words.

    Args:
        longest_sentence: In words.
        stack_size: Most hypotheses of a stack that are expanded; 0 for all.
    """
    count = longest_sentence + 1
    buckets = 1 << (2 * stack_size - 1).bit_length() if stack_size > 0 else _UNLIMITED_BUCKETS
    return Stacks(
        records=np.empty(_FIRST_RECORDS, HYPOTHESIS),
        heads=np.empty((count, buckets), np.int32),
        members=np.empty(count, np.int32),
        size=np.empty(count, np.int64),
        best=np.empty(count),
        worst=np.empty(count),
        totals=np.empty(2 * stack_size),
        pruned=np.empty(2 * stack_size, np.int32),
        numbers=np.empty(_FIRST_RECORDS, np.int32),
        used=np.zeros(1, np.int64),
    )


def with_room(stacks: Stacks, extra: int) -> Stacks:
    """Return the stacks, with a longer array of records where ``extra`` more would not fit."""
    missing = int(stacks.used[0]) + extra - stacks.records.size
    if missing <= 0:
        return stacks
    more = missing + stacks.records.size
    return stacks._replace(
        records=np.concatenate([stacks.records, np.empty(more, HYPOTHESIS)]),
        numbers=np.concatenate([stacks.numbers, np.empty(more, np.int32)]),
    )


@compiled
def clear_stacks(stacks: Stacks, length: int, lm_state: int, estimate: float) -> None:
    """Empty the stacks of a sentence, but for the hypothesis that has translated nothing.

    Args:
        stacks: The stacks.
        length: Words of the sentence.
        lm_state: The language model state before the first word.
        estimate: Future cost of the whole sentence.
    """
    for stack in range(length + 1):
        for bucket in range(stacks.heads.shape[1]):
            stacks.heads[stack, bucket] = NONE
        stacks.members[stack], stacks.size[stack] = NONE, 0
        stacks.best[stack] = stacks.worst[stack] = -np.inf
    record = stacks.records[INITIAL]
    record.score, record.total, record.lm_state, record.history = 0.0, estimate, lm_state, 0
    record.previous, record.option, record.coverage = NONE, NONE, 0
    record.start, record.end, record.forward_class = -1, -1, NONE
    record.arcs, record.next_arc, record.chain, record.member = NONE, NONE, NONE, NONE
    stacks.members[0] = INITIAL
    stacks.size[0] = 1
    stacks.best[0] = estimate
    stacks.used[0] = 1


@compiled
def sort_members(stacks: Stacks, stack: int) -> int:
    """Write the hypotheses of a stack to ``stacks.numbers``, the best first; return how many."""
    stacks = borrowed(stacks)
    member = stacks.members[stack]
    size = stacks.size[stack]
    for i in range(size):
        stacks.numbers[i] = member
        member = stacks.records[member].member
    sort_by_total(stacks.records, stacks.numbers[:size])
    return size
