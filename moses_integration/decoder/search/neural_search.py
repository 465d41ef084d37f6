"""Searches with neural language models: hypotheses wait for scores before they enter their stacks.

A network scores a thousand words in little more time than one word. Therefore the search defers
hypotheses until enough of them wait, or until a stack must be complete. Deferred phrases are scored
word by word: the first words of all deferred hypotheses, then the second words of the hypotheses
that may still enter their stacks, and so on. If no weight is negative, a further word never raises
the score. (Unnormalised ln p may slightly exceed 0; the search ignores this.) So if a hypothesis
scores too low for its stack after its first word, its later words are never scored.

Stack decoding fills one stack after the other. It first scores the options whose estimated totals
are highest; these estimates use an n-gram model instead of the networks. Once the stack has these
hypotheses, its threshold rejects most other options, often before a model scores them. Cube pruning
scores the hypotheses that it pops in groups. The threshold after a group rejects most of the next
hypotheses. The few others mostly enter the stack, so the scores of all their words are requested
together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.neural import Histories, NeuralTerms, has_room, walk
from moses_integration.decoder.search.coverage import find_steps
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_ROOM,
    NEEDS_SCORES,
    SentenceSearch,
    begin_search,
    score_option,
    sort_stack,
    step_score,
    within_distortion,
)
from moses_integration.decoder.search.stacks import HEAP_ENTRY, NONE, prune, push, put, replace_best
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined
from phrasescore.words.hashing import with_room

ENOUGH = 4096  # how many hypotheses to score together: larger matrix products save hardly any time
_FIRST_WAITING = 2 * ENOUGH

DEFERRED = np.dtype(
    [
        ("score", np.float64),  # the score, including the words whose scores are known
        ("estimate", np.float64),  # the future cost
        ("lm_state", np.int64),
        ("history", np.int32),  # the node in `Histories` after the words with known scores
        ("words", np.int32),  # how many words have known scores
        ("edge", np.int32),  # the edge in `Histories` whose score is awaited, -1 for none
        ("previous", np.int32),
        ("option", np.int32),
        ("coverage", np.int32),
        ("covered", np.int32),
        ("start", np.int16),
        ("end", np.int16),
    ],
    align=True,
)

# a hypothesis and a span that may be translated next, with all options of the span
EXPANSION = np.dtype(
    [
        ("base", np.float64),  # the part of the score that all options share (`step_score`)
        ("number", np.int32),  # the hypothesis
        ("step", np.int32),
        ("turn", np.int32),  # the orientation
        ("option", np.int32),  # the first option that is not scored yet
        ("next", np.int32),  # the next expansion into the same stack
    ],
    align=True,
)
_COLLECT, _BEST, _REST = range(3)  # the phases of a stack with neural language models
# How many options to score first, for each hypothesis that fits into the stack. Many
# hypotheses recombine, and only an overfull stack gets a threshold from its size.
_FIRST_OPTIONS = 4


class Waiting(NamedTuple):
    """The deferred hypotheses of a search with neural language models.

    Functions take this object as a separate argument. Without neural models it is ``None``, and
    numba leaves out the branches that use it.

    Attributes:
        neural: The data of the neural language models.
        histories: The graph of histories whose scores are requested.
        deferred: The deferred hypotheses.
        expansions: The expansions of all complete stacks (stack decoding).
        heads: The first expansion into each stack, shape (stacks,).
        used: Two numbers: how many hypotheses are deferred, and how many expansions there are.
    """

    neural: NeuralTerms
    histories: Histories
    deferred: Records
    expansions: Records
    heads: NDArray[np.int32]
    used: NDArray[np.int64]

    @classmethod
    def new(cls, neural: NeuralTerms, histories: Histories, longest_sentence: int) -> Waiting:
        """Make room for the first deferred hypotheses of sentences of up to this many words."""
        return cls(
            neural,
            histories,
            deferred=np.empty(_FIRST_WAITING, DEFERRED),
            expansions=np.empty(_FIRST_WAITING, EXPANSION),
            heads=np.empty(longest_sentence + 1, np.int32),
            used=np.zeros(2, np.int64),
        )

    def with_room(self, hypotheses: int, expansions: int) -> Waiting:
        """Return the same with room for this many more hypotheses and expansions."""
        deferred, begun = self.used.tolist()
        return self._replace(
            deferred=with_room(self.deferred, deferred + hypotheses),
            expansions=with_room(self.expansions, begun + expansions),
        )


@inlined
def can_wait(waiting: Waiting, options: int) -> bool:
    """Return whether there is room for ``options`` more deferred hypotheses and all their words."""
    room = waiting.used[0] + options <= waiting.deferred.size
    return room and has_room(waiting.histories, options * (waiting.neural.longest + 1))


@inlined
def _word_of(search: SentenceSearch, waiting: Waiting, at: int, stop: int) -> int:
    """Return the number of a target word; after the last word, the number of the sentence end."""
    if at < stop:
        return np.int64(waiting.neural.numbers[search.model.words[at]])
    return np.int64(waiting.neural.boundary)


@compiled
def _goes_on(search: SentenceSearch, waiting: Waiting, one: Record) -> bool:
    """Add the known scores of a hypothesis's words; return whether it may still enter its stack.

    If so, ``edge`` of the hypothesis is now the next edge without a known score, or -1.
    """
    search, waiting = borrowed((search, waiting))
    histories, first = waiting.histories, search.model.language.phrases.first
    begin, stop = first[one.option], first[one.option + 1]  # its target words
    ends = one.covered == search.sentence.length and begin < stop  # then </s> is one word more
    while begin + one.words < stop + ends:
        # no weight is negative: further words can only lower the score
        if search.model.lowers and one.score + one.estimate < search.stacks.worst[one.covered]:
            return False
        if one.edge == NONE:
            word = _word_of(search, waiting, begin + one.words, stop)
            one.edge = walk(histories, one.history, word, waiting.neural.boundary)
        if one.edge >= histories.used[0].scored:  # not scored yet: wait
            return True
        edge = histories.edges[one.edge]
        one.score += edge.score
        one.history = edge.next  # the last n - 1 words, as a node
        one.words += 1
        one.edge = NONE
    return True


@compiled
def _wait_for_scores(
    search: SentenceSearch,
    waiting: Waiting,
    step: Record,
    scored: tuple[int, int, float, int],
    ahead: bool,
) -> bool:
    """Defer a hypothesis unless its known score is already too low; return whether it waits.

    Args:
        search: The search.
        waiting: The deferred hypotheses.
        step: The step whose span the option translates.
        scored: Four values: the previous hypothesis, the option, the score without neural language
            models, and the state of the n-gram models.
        ahead: Whether to request the scores of all words now, although some may not be needed.
    """
    search, waiting = borrowed((search, waiting))
    new = waiting.deferred[waiting.used[0]]
    number, option, score, lm_state = scored
    new.previous, new.option, new.score, new.lm_state = number, option, score, lm_state
    new.history, new.words, new.edge = search.stacks.records[number].history, 0, NONE
    new.estimate, new.coverage, new.covered = step.estimate, step.coverage, step.covered
    new.start, new.end = step.start, step.end
    if not _goes_on(search, waiting, new):
        return False
    waiting.used[0] += 1  # otherwise the next one overwrites it
    if ahead and new.edge != NONE:
        edges, first = waiting.histories.edges, search.model.language.phrases.first
        # the next words' edges are requested along the same path, scored or not
        node = edges[new.edge].next
        begin, stop = first[option] + new.words + 1, first[option + 1]
        for at in range(begin, stop + (new.covered == search.sentence.length)):
            word = _word_of(search, waiting, at, stop)
            node = edges[walk(waiting.histories, node, word, waiting.neural.boundary)].next
    return True


@inlined
def defer(
    search: SentenceSearch,
    waiting: Waiting,
    step: Record,
    expanded: tuple[int, int, float, int],
    ahead: bool,
) -> bool:
    """Extend a hypothesis by an option; defer the result unless its score is already too low.

    There must be room (`can_wait`).

    Args:
        search: The search.
        waiting: The deferred hypotheses.
        step: The step whose span the option translates.
        expanded: Four values: the hypothesis, the option, the shared part of the score, and the
            orientation (`step_score`).
        ahead: Whether to request the scores of all words now, although some may not be needed.

    Returns:
        Whether the new hypothesis waits.
    """
    number, option, base, turn = expanded
    record, last = search.stacks.records[number], step.covered == search.sentence.length
    # most options are rejected here, before a model scores them
    known = base + search.model.options.score[turn, option] + step.estimate
    if search.model.lowers and known < search.stacks.worst[step.covered]:
        return False
    score, state = score_option(search, record, option, base, turn, last)
    return _wait_for_scores(search, waiting, step, (number, option, score, state), ahead)


@compiled
def settle(search: SentenceSearch, waiting: Waiting) -> None:
    """Put fully scored hypotheses into their stacks; request the next word of other hypotheses.

    The edges that hypotheses wait for must have scores, and there must be room for one more edge
    for each hypothesis. Cube pruning has already counted every deferred hypothesis in ``entries``
    of its coverage; this function subtracts the hypotheses that are rejected or recombined.
    """
    search, waiting = borrowed((search, waiting))
    stacks = search.stacks
    kept = 0
    for at in range(waiting.used[0]):
        one = waiting.deferred[at]
        hopeful = _goes_on(search, waiting, one)
        if hopeful and one.edge != NONE:
            waiting.deferred[kept] = one  # close the gaps of those that left
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
            new.forward_class = search.model.options.forward_class[one.option]
            is_new = put(stacks, np.int64(one.covered), search.limits)
        search.coverages.records[one.coverage].entries -= not is_new
    waiting.used[0] = kept


@compiled
def _collect(search: SentenceSearch, waiting: Waiting) -> int:
    """Collect the expansions of the hypotheses of a complete stack."""
    search, waiting = borrowed((search, waiting))
    stacks, coverages, progress = search.stacks, search.coverages, search.progress[0]
    size = sort_stack(search)
    while progress.expanded < size:
        number = stacks.numbers[progress.expanded]
        record = stacks.records[number]
        if not find_steps(coverages, record.coverage, search.sentence, search.limits.distortion):
            return NEEDS_ROOM
        coverage = coverages.records[record.coverage]
        if waiting.used[1] + coverage.last_step - coverage.first_step > waiting.expansions.size:
            return NEEDS_ROOM
        for at in range(coverage.first_step, coverage.last_step):
            step = coverages.steps[at]
            if within_distortion(search, record, step):
                new = waiting.expansions[waiting.used[1]]
                new.base, new.turn = step_score(search.model, record, step.start, step.end)
                new.number, new.step, new.option = number, at, step.begin
                new.next = waiting.heads[step.covered]
                waiting.heads[step.covered] = waiting.used[1]
                waiting.used[1] += 1
        progress.expanded += 1
    return DONE


@compiled
def _floor(search: SentenceSearch, waiting: Waiting, stack: int) -> float:
    """Return the estimated total that a stack's options need to be scored first."""
    search, waiting = borrowed((search, waiting))
    wanted, future = _FIRST_OPTIONS * search.limits.stack, search.model.options.future
    # the `wanted` highest totals so far, the lowest of them on top
    lowest_first = np.empty(wanted, HEAP_ENTRY)  # a heap of negated totals
    size = 0
    at = np.int64(waiting.heads[stack])
    while at != NONE:
        one = waiting.expansions[at]
        step = search.coverages.steps[one.step]
        for option in range(step.begin, step.stop):
            total = one.base + future[option] + step.estimate
            if size < wanted:
                push(lowest_first, size, -total, 0)
                size += 1
            elif size > 0 and total > -lowest_first[0].total:
                replace_best(lowest_first, size, -total, 0)
            else:  # the options of a span are sorted by future score
                break
        at = np.int64(one.next)
    if size < wanted:
        return -np.inf
    return -lowest_first[0].total if size > 0 else np.inf


@compiled
def _defer_options(search: SentenceSearch, waiting: Waiting) -> int:
    """Defer the options of a phase; start with the expansion ``progress.expanded``."""
    search, waiting = borrowed((search, waiting))
    progress, options = search.progress[0], search.model.options
    while progress.expanded != NONE:
        one = waiting.expansions[progress.expanded]
        step = search.coverages.steps[one.step]
        if waiting.used[0] >= ENOUGH:  # one large product is faster than many small ones
            return NEEDS_SCORES
        progress.records = step.stop - step.begin + 1
        if not can_wait(waiting, progress.records):
            return NEEDS_ROOM
        while one.option < step.stop:
            option = np.int64(one.option)
            estimate = one.base + options.future[option] + step.estimate
            # the rest comes in the second phase
            if progress.phase == _BEST and estimate < progress.floor:
                break
            one.option += 1  # before `defer`: after a pause, go on with the next option
            new = (np.int64(one.number), option, np.float64(one.base), np.int64(one.turn))
            defer(search, waiting, step, new, progress.phase == _BEST)
        progress.expanded = one.next
    return DONE


@compiled
def search_with_networks(search: SentenceSearch, waiting: Waiting) -> int:
    """Search for the best translations of a sentence, with neural language models.

    Returns:
        ``DONE``, or the need that the caller must meet before the next call.
    """
    search, waiting = borrowed((search, waiting))
    progress = search.progress[0]
    if begin_search(search):
        waiting.heads[:] = NONE
        waiting.used[1] = 0
    while progress.stack < search.sentence.length:
        stack = progress.stack + 1
        if progress.phase == _COLLECT:
            status = _collect(search, waiting)
            if status != DONE:
                return status
            progress.floor = _floor(search, waiting, stack)
            progress.phase, progress.expanded = _BEST, waiting.heads[stack]
            continue
        status = _defer_options(search, waiting)
        if status != DONE:
            return status
        if waiting.used[0] > 0:
            return NEEDS_SCORES
        if progress.phase == _BEST:
            prune(search.stacks, stack, search.limits)
            progress.phase, progress.expanded = _REST, waiting.heads[stack]
        else:
            progress.phase, progress.expanded = _COLLECT, 0
            progress.stack = stack
    sort_stack(search)  # the complete hypotheses
    return DONE
