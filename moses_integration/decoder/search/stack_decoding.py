"""Stack decoding (Koehn et al. 2003), compiled: what Moses does with -search-algorithm 0.

Hypotheses that cover equally many source words share a stack. Stacks are expanded in turn, the best
hypothesis first, with every option of every span that may come next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import (
    LanguageModels,
    PhraseWords,
    score_after,
)
from moses_integration.decoder.features.neural_models import NeuralTerms
from moses_integration.decoder.features.reordering_feature import orientation
from moses_integration.decoder.search.coverage import (
    Coverages,
    SentenceSpans,
    clear_coverages,
    find_steps,
)
from moses_integration.decoder.search.deferral import ENOUGH, Deferral, can_defer, defer
from moses_integration.decoder.search.histories import Histories
from moses_integration.decoder.search.hypotheses import Limits, Stacks, clear_stacks, sort_members
from moses_integration.decoder.search.options import Options
from moses_integration.decoder.search.recombination import prune, put
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined

NEEDS_RECORDS, NEEDS_COVERAGES, NEEDS_EDGES, NEEDS_DEFERRAL, NEEDS_SCORES, DONE = range(6)


class Model(NamedTuple):
    """What the search asks, for one input and one set of weights.

    Attributes:
        options: The translation options.
        phrases: The target phrase of each option, as the language models see it.
        models: The language models.
        lm_weights: Weight of each model's ln probability, shape (models,).
        lowers: Whether no language model can raise the model score: no weight is negative.
        distortion_weight: Weight of minus the distance jumped.
        neural: What there is to know of neural language models; ``None`` where none has a weight.
    """

    options: Options
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
        recent: Scratch memory for answers of language models.
        stacks: The stacks; afterwards those that cover the sentence are in ``numbers``, sorted.
        coverages: The coverages.
        progress: One record, where the search stands; zeros at first.
    """

    model: Model
    sentence: SentenceSpans
    limits: Limits
    recent: Records
    stacks: Stacks
    coverages: Coverages
    progress: Records


class Waiting(NamedTuple):
    """What a search with neural language models has beside; searches without compile none of it.

    Attributes:
        neural: What there is to know of the models.
        deferral: The hypotheses that wait for them, none at first.
        histories: What they are asked.
    """

    neural: NeuralTerms
    deferral: Deferral
    histories: Histories


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
def can_wait(waiting: Waiting, options: int, words: int) -> bool:
    """Whether so many hypotheses more may wait, which ask for so many words each."""
    return can_defer(waiting.deferral, waiting.histories, options, words)


@inlined
def put_aside(
    search: SentenceSearch,
    waiting: Waiting,
    step: Record,
    expanded: tuple[int, int, float, int],
    ahead: bool,
) -> None:
    """Let a hypothesis wait for neural language models; see `defer`."""
    defer(
        waiting.deferral,
        waiting.histories,
        waiting.neural,
        search.stacks,
        step,
        expanded,
        search.model.lowers,
        search.sentence.length,
        ahead,
    )


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
        score = base + options.score[turn, option]
        lm_score, state = score_after(
            model.models,
            model.phrases,
            model.lm_weights,
            search.recent,
            option,
            record.lm_state,
            last,
        )
        score += lm_score
        if waiting is not None:
            put_aside(search, waiting, step, (number, option, score, state), False)
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
    """Return what there must be more room of before so many options are tried, or ``DONE``."""
    search.progress[0].records = options + 1
    if waiting is not None:
        if waiting.deferral.used[0] >= ENOUGH:
            return NEEDS_SCORES
        return DONE if can_wait(waiting, options, 1) else NEEDS_DEFERRAL
    fits = search.stacks.used[0] + options < search.stacks.records.size
    return DONE if fits else NEEDS_RECORDS


@inlined
def begin_search(search: SentenceSearch) -> bool:
    """Forget the sentence before, unless that is done; return whether it was not."""
    progress, sentence = search.progress[0], search.sentence
    is_new = progress.begun == 0
    if is_new:
        estimate, state = (
            sentence.estimates[0, sentence.length - 1],
            search.model.models.begin_state[0],
        )
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
                return NEEDS_COVERAGES
            coverage = coverages.records[record.coverage]
            needed = _needs(search, waiting, coverage.options)
            if needed != DONE:
                return needed
            for at in range(coverage.first_step, coverage.last_step):
                step = coverages.steps[at]
                if not 0 <= distortion < abs(record.end + 1 - step.start):
                    _expand(search, waiting, number, step)
            progress.expanded += 1
        if waiting is not None and waiting.deferral.used[0] > 0:
            return NEEDS_SCORES
        progress.stack += 1
        progress.expanded = 0
    finish_search(search)
    return DONE
