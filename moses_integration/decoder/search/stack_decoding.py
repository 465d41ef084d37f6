"""Stack decoding (Koehn et al. 2003), compiled: what Moses does with -search-algorithm 0.

Hypotheses that cover equally many source words share a stack. Stacks are expanded in turn, the best
hypothesis first, with every option of every span that may come next.

With neural language models, hypotheses wait for scores before they enter their stacks. A network
answers a thousand questions in little more time than one, so a search does not ask as it goes: it
puts hypotheses aside until there are enough, or until a stack must be whole. A phrase is asked word
by word: the first words of all, then the second words of those that may still reach their stack,
and so on. With no negative weight a word cannot raise a score, so a hypothesis that is hopeless
after its first word is not asked for the others. Cube pruning, which drops little of what it took,
asks for all words at once.
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

NEEDS_ROOM, NEEDS_EDGES, NEEDS_SCORES, DONE = range(4)  # why a search returns
ENOUGH = 4096  # hypotheses to score together: their products are fast by then

DEFERRED = np.dtype(
    [
        ("score", np.float64),  # with the words whose scores are known
        ("estimate", np.float64),
        ("lm_state", np.int64),
        ("history", np.int32),  # behind the words whose scores are known
        ("words", np.int32),  # how many these are
        ("edge", np.int32),  # the one whose score it waits for, -1 for none
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
    """What the search asks, for one input and one set of weights.

    Attributes:
        options: The translation options.
        words: The target words of all options; those of option i begin at ``phrases.first[i]``.
        phrases: The target phrase of each option, as the language models see it.
        models: The language models.
        lm_weights: Weight of each model's ln probability, shape (models,).
        lowers: Whether no language model can raise the model score: no weight is negative.
        distortion_weight: Weight of minus the distance jumped.
        neural: What there is to know of neural language models; ``None`` where none has a weight.
    """

    options: Options
    words: NDArray[np.int32]
    phrases: PhraseWords
    models: LanguageModels
    lm_weights: NDArray[np.float64]
    lowers: bool
    distortion_weight: float
    neural: NeuralTerms | None


# where a search stands, which may pause for more room
PROGRESS = np.dtype(
    [
        ("stack", np.int64),  # the stack that is expanded
        ("phase", np.int64),  # what cube pruning does with it
        ("expanded", np.int64),  # hypotheses of it that are done
        ("hypotheses", np.int64),  # all that it has
        ("pops", np.int64),  # of cube pruning, for the next stack
        ("records", np.int64),  # that there must be room for
        ("begun", np.int64),  # whether the memory of the sentence before was cleared
    ]
)


class SentenceSearch(NamedTuple):
    """The search of one sentence.

    Attributes:
        model: What things score.
        sentence: The options of its spans.
        limits: The bounds of the search.
        language: The language models and the target words of all options.
        stacks: The stacks; afterwards those that cover the sentence are in ``numbers``, sorted.
        coverages: The coverages.
        progress: One record, where the search stands; zeros at first.
    """

    model: Model
    sentence: SentenceSpans
    limits: Limits
    language: PhraseScorer
    stacks: Stacks
    coverages: Coverages
    progress: Records


class Waiting(NamedTuple):
    """What a search with neural language models has beside; searches without compile none of it.

    Attributes:
        neural: What there is to know of the models.
        histories: What they are asked.
        deferred: The hypotheses that wait for them.
        used: One number, how many hypotheses wait.
        first: First target word of each option, shape (options + 1,).
        words: The target words of all options.
        lowers: Whether no word can raise a score.
        length: Words of the sentence.
    """

    neural: NeuralTerms
    histories: Histories
    deferred: Records
    used: NDArray[np.int64]
    first: NDArray[np.int64]
    words: NDArray[np.int32]
    lowers: bool
    length: int


@inlined
def step_score(model: Model, record: Record, start: int, end: int) -> tuple[float, int]:
    """Return what all options of a span add alike after a hypothesis, and their orientation."""
    turn = orientation(record.start, record.end, start, end)
    score = record.score - model.distortion_weight * abs(record.end + 1 - start)
    return with_forward(model, score, record.option, turn), turn


@inlined
def with_forward(model: Model, score: float, option: int, turn: int) -> float:
    """Add what an option, if there is one, adds to the score of the phrase after it."""
    if option >= 0:
        score += model.options.forward[turn, option]
    return score


@inlined
def score_option(
    search: SentenceSearch, record: Record, option: int, base: float, turn: int, last: bool
) -> tuple[float, int]:
    """Return the score of a hypothesis with one more option, and its language model state."""
    model = search.model
    lm_score, state = score_after(search.language, model.lm_weights, option, record.lm_state, last)
    return base + model.options.score[turn, option] + lm_score, state


@inlined
def can_wait(waiting: Waiting, options: int, words: int) -> bool:
    """Return whether there is room for ``options`` hypotheses of ``words`` words each to wait."""
    room = waiting.used[0] + options <= waiting.deferred.size
    return room and has_room(waiting.histories, options * words)


@inlined
def _word_of(waiting: Waiting, at: int, stop: int) -> int:
    """Return the number of a target word, or of the end of the sentence behind the last one."""
    if at < stop:
        return np.int64(waiting.neural.numbers[waiting.words[at]])
    return np.int64(waiting.neural.boundary)


@compiled
def _goes_on(one: Record, waiting: Waiting, worst: float) -> bool:
    """Score words of a hypothesis as far as scores are known; return whether it is not hopeless.

    Args:
        one: The hypothesis; afterwards its edge is the one to wait for, if any.
        waiting: What is known and asked.
        worst: Totals below are not let into its stack.
    """
    waiting = borrowed(waiting)
    histories, boundary = waiting.histories, waiting.neural.boundary
    first, stop = waiting.first[one.option], waiting.first[one.option + 1]
    ends = one.covered == waiting.length and first < stop
    while first + one.words < stop + ends:
        if waiting.lowers and one.score + one.estimate < worst:
            return False
        if one.edge == NONE:
            word = _word_of(waiting, first + one.words, stop)
            one.edge = walk(histories, one.history, word, boundary)
        if one.edge >= histories.used[0].scored:
            return True
        edge = histories.edges[one.edge]
        one.score += edge.score
        one.history = edge.next
        one.words += 1
        one.edge = NONE
    return True


@compiled
def _ask_ahead(one: Record, waiting: Waiting) -> None:
    """Walk along the words behind the one that is waited for, so that they are asked too."""
    waiting = borrowed(waiting)
    histories, boundary = waiting.histories, waiting.neural.boundary
    first, stop = waiting.first[one.option], waiting.first[one.option + 1]
    node = histories.edges[one.edge].next
    for at in range(first + one.words + 1, stop + (one.covered == waiting.length)):
        word = _word_of(waiting, at, stop)
        node = histories.edges[walk(histories, node, word, boundary)].next


@compiled
def defer(
    waiting: Waiting,
    stacks: Stacks,
    step: Record,
    expanded: tuple[int, int, float, int],
    ahead: bool,
) -> None:
    """Put a hypothesis aside, unless what is known of it makes it hopeless; there must be room.

    Args:
        waiting: What waits.
        stacks: The stacks.
        step: The span of the option.
        expanded: The hypothesis before, the option, the score without neural language models, and
            the state of n-gram models.
        ahead: Whether all words are asked at once, though some may be in vain.
    """
    waiting, stacks = borrowed((waiting, stacks))
    new = waiting.deferred[waiting.used[0]]
    number, option, score, lm_state = expanded
    new.previous, new.option, new.score, new.lm_state = number, option, score, lm_state
    new.history, new.words, new.edge = stacks.records[number].history, 0, NONE
    new.estimate, new.coverage, new.covered = step.estimate, step.coverage, step.covered
    new.start, new.end = step.start, step.end
    if _goes_on(new, waiting, stacks.worst[step.covered]):
        waiting.used[0] += 1
        if ahead and new.edge != NONE:
            _ask_ahead(new, waiting)


@compiled
def settle(waiting: Waiting, search: SentenceSearch) -> None:
    """Put into their stacks what waits for no more words; the others wait for their next one.

    All edges that are waited for must have scores, and there must be room for one more of each. A
    coverage's entries, which cube pruning counted when it put hypotheses aside, are counted down
    for those that do not enter.
    """
    waiting, search = borrowed((waiting, search))
    stacks = search.stacks
    kept = 0
    for at in range(waiting.used[0]):
        one = waiting.deferred[at]
        worst = stacks.worst[one.covered]
        hopeful = _goes_on(one, waiting, worst)
        if hopeful and one.edge != NONE:
            waiting.deferred[kept] = one
            kept += 1
            continue
        total = one.score + one.estimate
        is_new = False
        if hopeful and total >= worst and total != -np.inf:
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
    """Expand a hypothesis with all options of one span. There must be room for as many."""
    model, stacks = search.model, search.stacks
    record = stacks.records[number]
    options, covered = model.options, np.int64(step.covered)
    last = covered == search.sentence.length
    base, turn = step_score(model, record, step.start, step.end)
    for option in range(step.begin, step.stop):
        worst = stacks.worst[covered]
        # language models can only lower it: most options end here, with all behind them
        if model.lowers:
            if base + options.reach[turn, option] + step.estimate < worst:
                break
            if base + options.score[turn, option] + step.estimate < worst:
                continue
        score, state = score_option(search, record, option, base, turn, last)
        if waiting is not None:
            defer(waiting, stacks, step, (number, option, score, state), False)
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
    """Return what the search lacks before ``options`` more hypotheses are made, or ``DONE``."""
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
    """Forget the sentence before, unless that is done; return whether it was not."""
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
    """Leave the best hypotheses that cover the sentence, sorted, in ``stacks.numbers``."""
    prune(search.stacks, search.sentence.length, search.limits)
    sort_members(search.stacks, search.sentence.length)


@compiled
def search_stacks(search: SentenceSearch, waiting: Waiting | None) -> int:
    """Search for the best translations of a sentence.

    Returns:
        ``DONE``, or what there must be more room of before this is called again.
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
