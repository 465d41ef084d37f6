"""Stack decoding (Koehn et al. 2003), compiled; the search of Moses's -search-algorithm 0.

Hypotheses that cover the same number of source words share a stack. They compete by total: score
plus future cost (the estimated score of the uncovered words). The search expands one stack after
the other. Within a stack it expands hypotheses from the highest total down, each with every
translation option of every span that may be translated next. The recurrence is

    score(h + option) = score(h) + distortion + reordering + option score + language model score

An expansion covers more words, so a stack is complete when all earlier stacks are expanded.

With neural language models, hypotheses wait for scores before they enter their stacks. A network
scores a thousand words in little more time than one word, so the search defers hypotheses until
enough of them wait, or until a stack must be complete. Phrases are scored word by word: the first
words of all deferred hypotheses, then the second words of the hypotheses that may still enter their
stacks, and so on. If no weight is negative, a word cannot raise a score. Therefore, if a hypothesis
scores too low for its stack after its first word, its later words are never scored. Cube pruning
drops few of the hypotheses that it pops, so it requests the scores of all their words together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import (
    LanguageModels,
    PhraseScorer,
    PhraseWords,
    score_after,
)
from moses_integration.decoder.features.neural import Histories, NeuralTerms, has_room, walk
from moses_integration.decoder.features.reordering import orientation
from moses_integration.decoder.search.coverage import (
    Coverages,
    SentenceSpans,
    clear_coverages,
    find_steps,
)
from moses_integration.decoder.search.options import Options
from moses_integration.decoder.search.stacks import (
    NONE,
    Limits,
    Stacks,
    clear_stacks,
    prune,
    put,
    sort_members,
)
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined

NEEDS_ROOM, NEEDS_EDGES, NEEDS_SCORES, DONE = range(4)  # the reasons why a search returns
ENOUGH = 4096  # how many hypotheses to score together: larger matrix products save hardly any time

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


class Model(NamedTuple):
    """The weighted model of one input and one set of weights.

    Attributes:
        options: The translation options.
        words: The target words of all options; option i begins at ``phrases.first[i]``.
        phrases: The target phrase of each option, in the word ids of the language models.
        models: The language models.
        lm_weights: The weight of each model's ln probability, shape (models,).
        lowers: Whether language models can only lower the model score, because none of their
            weights is negative.
        distortion_weight: The weight of the distortion feature, which is minus the distance of a
            jump.
        neural: The neural language models; ``None`` if all their weights are 0.
    """

    options: Options
    words: NDArray[np.int32]
    phrases: PhraseWords
    models: LanguageModels
    lm_weights: NDArray[np.float64]
    lowers: bool
    distortion_weight: float
    neural: NeuralTerms | None


# the state of a search, which may pause for room or scores
PROGRESS = np.dtype(
    [
        ("stack", np.int64),  # the stack that is expanded
        ("phase", np.int64),  # the phase of cube pruning
        ("expanded", np.int64),  # how many hypotheses of the stack are expanded
        ("hypotheses", np.int64),  # how many hypotheses the stack has
        ("pops", np.int64),  # how many cells cube pruning popped and used for the next stack
        ("records", np.int64),  # how many more records a paused search needs room for
        ("begun", np.int64),  # whether the memory of the previous sentence was cleared
    ]
)


class SentenceSearch(NamedTuple):
    """The search of one sentence.

    Attributes:
        model: The weighted model.
        sentence: The options of the spans.
        limits: The limits of the search.
        language: The language models and the target words of all options.
        stacks: The stacks; after the search, ``numbers`` has the complete hypotheses, sorted.
        coverages: The coverages.
        progress: One record, the state of the search; zeros at first.
    """

    model: Model
    sentence: SentenceSpans
    limits: Limits
    language: PhraseScorer
    stacks: Stacks
    coverages: Coverages
    progress: Records


class Waiting(NamedTuple):
    """The deferred hypotheses of a search with neural language models.

    Functions take this object as a separate argument. Without neural models it is ``None``, and
    numba leaves out the branches that use it.

    Attributes:
        neural: The data of the neural language models.
        histories: The graph of histories whose scores are requested.
        deferred: The deferred hypotheses.
        used: One number: how many hypotheses are deferred.
    """

    neural: NeuralTerms
    histories: Histories
    deferred: Records
    used: NDArray[np.int64]


@inlined
def step_score(model: Model, record: Record, start: int, end: int) -> tuple[float, int]:
    """Return the part of the score that all options of a span share, and the orientation.

    The shared part is the hypothesis's score plus distortion and forward reordering.
    """
    turn = orientation(record.start, record.end, start, end)
    score = record.score - model.distortion_weight * abs(record.end + 1 - start)
    return with_forward(model, score, record.option, turn), turn


@inlined
def with_forward(model: Model, score: float, option: int, turn: int) -> float:
    """Add the forward reordering score of the previous option, if there is one."""
    if option >= 0:
        score += model.options.forward[turn, option]
    return score


@inlined
def score_option(
    search: SentenceSearch, record: Record, option: int, base: float, turn: int, last: bool
) -> tuple[float, int]:
    """Return the score and the language model state of a hypothesis extended by an option."""
    model = search.model
    lm_score, state = score_after(search.language, model.lm_weights, option, record.lm_state, last)
    return base + model.options.score[turn, option] + lm_score, state


@inlined
def can_wait(waiting: Waiting, options: int, words: int) -> bool:
    """Return whether there is room to defer ``options`` hypotheses of ``words`` words each."""
    room = waiting.used[0] + options <= waiting.deferred.size
    return room and has_room(waiting.histories, options * words)


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
    histories, first = waiting.histories, search.model.phrases.first
    begin, stop = first[one.option], first[one.option + 1]
    ends = one.covered == search.sentence.length and begin < stop
    while begin + one.words < stop + ends:
        if search.model.lowers and one.score + one.estimate < search.stacks.worst[one.covered]:
            return False
        if one.edge == NONE:
            word = _word_of(search, waiting, begin + one.words, stop)
            one.edge = walk(histories, one.history, word, waiting.neural.boundary)
        if one.edge >= histories.used[0].scored:
            return True
        edge = histories.edges[one.edge]
        one.score += edge.score
        one.history = edge.next
        one.words += 1
        one.edge = NONE
    return True


@compiled
def defer(
    search: SentenceSearch,
    waiting: Waiting,
    step: Record,
    expanded: tuple[int, int, float, int],
    ahead: bool,
) -> None:
    """Defer a hypothesis unless its known score is already too low; there must be room.

    Args:
        search: The search.
        waiting: The deferred hypotheses.
        step: The step whose span the option translates.
        expanded: Four values: the previous hypothesis, the option, the score without neural
            language models, and the state of the n-gram models.
        ahead: Whether to request the scores of all words now, although some may not be needed.
    """
    search, waiting = borrowed((search, waiting))
    new = waiting.deferred[waiting.used[0]]
    number, option, score, lm_state = expanded
    new.previous, new.option, new.score, new.lm_state = number, option, score, lm_state
    new.history, new.words, new.edge = search.stacks.records[number].history, 0, NONE
    new.estimate, new.coverage, new.covered = step.estimate, step.coverage, step.covered
    new.start, new.end = step.start, step.end
    if not _goes_on(search, waiting, new):
        return
    waiting.used[0] += 1
    if ahead and new.edge != NONE:
        edges, stop = waiting.histories.edges, search.model.phrases.first[option + 1]
        node = edges[new.edge].next
        begin = search.model.phrases.first[option] + new.words + 1
        for at in range(begin, stop + (new.covered == search.sentence.length)):
            word = _word_of(search, waiting, at, stop)
            node = edges[walk(waiting.histories, node, word, waiting.neural.boundary)].next


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
            waiting.deferred[kept] = one
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


@inlined
def _expand(search: SentenceSearch, waiting: Waiting | None, number: int, step: Record) -> None:
    """Expand a hypothesis with all options of one span; there must be room for all of them."""
    model, stacks = search.model, search.stacks
    record = stacks.records[number]
    options, covered = model.options, np.int64(step.covered)
    last = covered == search.sentence.length
    base, turn = step_score(model, record, step.start, step.end)
    for option in range(step.begin, step.stop):
        worst = stacks.worst[covered]
        # language models can only lower the score, so most options are rejected here without being
        # scored
        if model.lowers and base + options.score[turn, option] + step.estimate < worst:
            continue
        score, state = score_option(search, record, option, base, turn, last)
        if waiting is not None:
            defer(search, waiting, step, (number, option, score, state), False)
            continue
        total = score + step.estimate
        if total < worst or total == -np.inf:
            continue
        new = stacks.records[stacks.used[0]]
        new.score, new.total, new.lm_state, new.history = score, total, state, 0
        new.previous, new.option, new.coverage = number, option, step.coverage
        new.start, new.end, new.forward_class = step.start, step.end, options.forward_class[option]
        put(stacks, covered, search.limits)


@inlined
def _needs(search: SentenceSearch, waiting: Waiting | None, options: int) -> int:
    """Return what the search lacks to make ``options`` more hypotheses, ``DONE`` if nothing."""
    search.progress[0].records = options + 1
    if waiting is not None:
        if waiting.used[0] >= ENOUGH:
            return NEEDS_SCORES
        fits = can_wait(waiting, options, 1)
    else:
        fits = search.stacks.used[0] + options < search.stacks.records.size
    return DONE if fits else NEEDS_ROOM


@inlined
def begin_search(search: SentenceSearch) -> bool:
    """Clear the memory of the previous sentence; return whether this is the start of a search."""
    progress, sentence = search.progress[0], search.sentence
    is_new = progress.begun == 0
    if is_new:
        estimate = sentence.estimates[0, sentence.length - 1]
        state = search.model.models.begin_state[0]
        clear_coverages(search.coverages, sentence)
        clear_stacks(search.stacks, sentence.length, state, estimate)
        progress.begun = 1
    return is_new


@inlined
def finish_search(search: SentenceSearch) -> None:
    """Prune the complete hypotheses; write them to ``stacks.numbers``, highest total first."""
    prune(search.stacks, search.sentence.length, search.limits)
    sort_members(search.stacks, search.sentence.length)


@compiled
def search_stacks(search: SentenceSearch, waiting: Waiting | None) -> int:
    """Search for the best translations of a sentence.

    Returns:
        ``DONE``, or the need that the caller must meet before the next call.
    """
    search = borrowed(search)
    stacks, coverages, progress = search.stacks, search.coverages, search.progress[0]
    distortion = search.limits.distortion
    begin_search(search)
    while progress.stack < search.sentence.length:
        if progress.expanded == 0:
            prune(stacks, progress.stack, search.limits)
            progress.hypotheses = sort_members(stacks, progress.stack)
        while progress.expanded < progress.hypotheses:
            number = stacks.numbers[progress.expanded]
            record = stacks.records[number]
            if not find_steps(coverages, record.coverage, search.sentence, distortion):
                return NEEDS_ROOM
            coverage = coverages.records[record.coverage]
            needed = _needs(search, waiting, coverage.options)
            if needed != DONE:
                return needed
            for at in range(coverage.first_step, coverage.last_step):
                step = coverages.steps[at]
                if not 0 <= distortion < abs(record.end + 1 - step.start):
                    _expand(search, waiting, number, step)
            progress.expanded += 1
        if waiting is not None and waiting.used[0] > 0:
            return NEEDS_SCORES
        progress.stack += 1
        progress.expanded = 0
    finish_search(search)
    return DONE
