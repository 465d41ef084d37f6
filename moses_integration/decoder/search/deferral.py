"""Hypotheses that wait for the scores of neural language models, and then enter their stacks.

A network answers a thousand questions in little more time than one, so a search does not ask as it
goes: it puts hypotheses aside until there are enough, or until a stack must be whole. A phrase is
asked word by word: the first words of all, then the second words of those that may still reach
their stack, and so on. With no negative weight a word cannot raise a score, so what is hopeless
after its first word is not asked for the others. Cube pruning, which drops little of what it took,
asks for all words at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moses_integration.decoder.features.neural_models import NeuralTerms
from moses_integration.decoder.search.coverage import Coverages
from moses_integration.decoder.search.histories import Histories, has_room, walk
from moses_integration.decoder.search.hypotheses import Limits, Stacks
from moses_integration.decoder.search.options import Options
from moses_integration.decoder.search.recombination import put
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined

ENOUGH = 4096  # hypotheses to score together: their products are fast by then
_FIRST_WAITING = 2 * ENOUGH
_NONE = -1

WAITING = np.dtype(
    [
        ("score", np.float64),  # with the words whose scores are known
        ("estimate", np.float64),
        ("lm_state", np.int64),
        ("history", np.int32),  # behind the words whose scores are known
        ("words", np.int32),  # how many these are
        ("edge", np.int32),  # the one it waits for, -1 if it waits for none
        ("previous", np.int32),
        ("option", np.int32),
        ("coverage", np.int32),
        ("covered", np.int32),
        ("start", np.int16),
        ("end", np.int16),
    ],
    align=True,
)


class Deferral(NamedTuple):
    """Hypotheses that wait.

    Attributes:
        waiting: One record for each.
        used: How many there are, shape (1,).
    """

    waiting: Records
    used: Records


def new_deferral() -> Deferral:
    """Make room for hypotheses that wait."""
    return Deferral(np.empty(_FIRST_WAITING, WAITING), np.zeros(1, np.int64))


def with_room(deferral: Deferral, extra: int) -> Deferral:
    """Return what waits, in a longer array where ``extra`` more would not fit."""
    waiting = deferral.waiting
    missing = int(deferral.used[0]) + extra - waiting.size
    if missing > 0:
        waiting = np.concatenate([waiting, np.empty(missing + waiting.size, WAITING)])
    return Deferral(waiting, deferral.used)


@inlined
def can_defer(deferral: Deferral, histories: Histories, options: int, words: int) -> bool:
    """Whether so many hypotheses more may be put aside, which ask for so many words each."""
    room = deferral.used[0] + options <= deferral.waiting.size
    return room and has_room(histories, options * words)


@compiled
def _goes_on(
    one: Record,
    histories: Histories,
    neural: NeuralTerms,
    worst: float,
    lowers: bool,
    length: int,
) -> bool:
    """Score words of a hypothesis as far as scores are known; return whether it is not hopeless.

    Args:
        one: The hypothesis; afterwards its edge is the one to wait for, if any.
        histories: What is asked.
        neural: The words of its option.
        worst: Totals below are not let into its stack.
        lowers: Whether no word can raise a score.
        length: Words of the sentence.
    """
    histories, neural = borrowed((histories, neural))
    first, stop = neural.first[one.option], neural.first[one.option + 1]
    ends = one.covered == length and first < stop
    while first + one.words < stop + ends:
        if lowers and one.score + one.estimate < worst:
            return False
        if one.edge == _NONE:
            at = first + one.words
            word = np.int64(neural.words[at]) if at < stop else np.int64(neural.boundary)
            one.edge = walk(histories, one.history, word, neural.boundary)
        if one.edge >= histories.used[0].scored:
            return True
        edge = histories.edges[one.edge]
        one.score += edge.score
        one.history = edge.next
        one.words += 1
        one.edge = _NONE
    return True


@compiled
def _ask_ahead(one: Record, histories: Histories, neural: NeuralTerms, length: int) -> None:
    """Walk along the words behind the one that is waited for, so that they are asked too."""
    histories, neural = borrowed((histories, neural))
    first, stop = neural.first[one.option], neural.first[one.option + 1]
    node = histories.edges[one.edge].next
    for at in range(first + one.words + 1, stop + (one.covered == length)):
        word = np.int64(neural.words[at]) if at < stop else np.int64(neural.boundary)
        node = histories.edges[walk(histories, node, word, neural.boundary)].next


@compiled
def defer(
    deferral: Deferral,
    histories: Histories,
    neural: NeuralTerms,
    stacks: Stacks,
    step: Record,
    expanded: tuple[int, int, float, int],
    lowers: bool,
    length: int,
    ahead: bool,
) -> None:
    """Put a hypothesis aside, unless what is known of it makes it hopeless; there must be room.

    Args:
        deferral: What waits.
        histories: What is asked.
        neural: The words of all options.
        stacks: The stacks.
        step: The span of the option.
        expanded: The hypothesis before, the option, the score without neural language models, and
            the state of n-gram models.
        lowers: Whether no word can raise a score.
        length: Words of the sentence.
        ahead: Whether all words are asked at once, though some may be in vain.
    """
    deferral, histories, neural, stacks = borrowed((deferral, histories, neural, stacks))
    new = deferral.waiting[deferral.used[0]]
    number, option, score, lm_state = expanded
    new.previous, new.option, new.score, new.lm_state = number, option, score, lm_state
    new.history, new.words, new.edge = stacks.records[number].history, 0, _NONE
    new.estimate, new.coverage, new.covered = step.estimate, step.coverage, step.covered
    new.start, new.end = step.start, step.end
    worst = stacks.worst[step.covered]
    if _goes_on(new, histories, neural, worst, lowers, length):
        deferral.used[0] += 1
        if ahead and new.edge != _NONE:
            _ask_ahead(new, histories, neural, length)


@compiled
def settle(
    deferral: Deferral,
    histories: Histories,
    neural: NeuralTerms,
    stacks: Stacks,
    coverages: Coverages,
    limits: Limits,
    options: Options,
    lowers: bool,
    length: int,
) -> None:
    """Put into their stacks what waits for no more words; the others wait for their next one.

    All edges that are waited for must have scores, and there must be room for one more of each. A
    coverage's entries, which cube pruning counted when it put hypotheses aside, are counted down
    for those that do not enter.
    """
    deferral, histories, neural = borrowed((deferral, histories, neural))
    stacks, coverages, options = borrowed((stacks, coverages, options))
    kept = 0
    for at in range(deferral.used[0]):
        one = deferral.waiting[at]
        hopeful = _goes_on(one, histories, neural, stacks.worst[one.covered], lowers, length)
        if hopeful and one.edge != _NONE:
            deferral.waiting[kept] = one
            kept += 1
            continue
        total = one.score + one.estimate
        is_new = False
        if hopeful and total >= stacks.worst[one.covered] and total != -np.inf:
            new = stacks.records[stacks.used[0]]
            new.score, new.total = one.score, total
            new.lm_state, new.history = one.lm_state, one.history
            new.previous, new.option, new.coverage = one.previous, one.option, one.coverage
            new.start, new.end = one.start, one.end
            new.forward_class = options.forward_class[one.option]
            is_new = put(stacks, np.int64(one.covered), limits)
        coverages.records[one.coverage].entries -= not is_new
    deferral.used[0] = kept
