"""Stack decoding (Koehn et al. 2003), compiled; the search of Moses's -search-algorithm 0.

Hypotheses that cover the same number of source words share a stack. They compete by total: score
plus future cost (the estimated score of the uncovered words). The search expands one stack after
the other. Within a stack it expands hypotheses from the highest total down, each with every
translation option of every span that may be translated next. The recurrence is

    score(h + option) = score(h) + distortion + reordering + option score + language model score

An expansion covers more words, so a stack is complete when all earlier stacks are expanded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import PhraseScorer, score_after
from moses_integration.decoder.features.neural import NeuralTerms
from moses_integration.decoder.features.reordering import orientation
from moses_integration.decoder.search.coverage import (
    Coverages,
    SentenceSpans,
    clear_coverages,
    find_steps,
)
from moses_integration.decoder.search.stacks import Limits, Stacks, clear_stacks, put, sort_members
from moses_integration.decoder.search.translation_options import Options
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined

NEEDS_ROOM, NEEDS_SCORES, DONE = range(3)  # the reasons why a search returns


class Model(NamedTuple):
    """The weighted model of one input and one set of weights.

    Attributes:
        options: The translation options.
        words: The target words of all options; option i begins at ``language.phrases.first[i]``.
        language: The language models, and the target phrase of each option in their word ids.
        lm_weights: The weight of each model's ln probability, shape (models,).
        lowers: Whether language models can only lower the model score, because none of their
            weights is negative.
        distortion_weight: The weight of the distortion feature, which is minus the distance of a
            jump.
        neural: The neural language models; ``None`` if all their weights are 0.
    """

    options: Options
    words: NDArray[np.int32]
    language: PhraseScorer
    lm_weights: NDArray[np.float64]
    lowers: bool
    distortion_weight: float
    neural: NeuralTerms | None


# the state of a search, which may pause for room or scores
PROGRESS = np.dtype(
    [
        ("stack", np.int64),  # the stack that is expanded
        ("phase", np.int64),  # the phase of cube pruning, or of a search with neural models
        # how many hypotheses of the stack are expanded; with neural models, after the collection
        # of expansions, the next expansion
        ("expanded", np.int64),
        ("pops", np.int64),  # how many popped cells cube pruning used for the next stack
        ("records", np.int64),  # how many more records a paused search needs room for
        ("begun", np.int64),  # whether the memory of the previous sentence was cleared
        ("floor", np.float64),  # options with at least this estimated total come first
    ]
)


class SentenceSearch(NamedTuple):
    """The search of one sentence.

    Attributes:
        model: The weighted model.
        sentence: The options of the spans.
        limits: The limits of the search.
        language: ``model.language`` once more: through the model, numba counts references in the
            inner loop, and a search with neural models takes half as long again.
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


@inlined
def within_distortion(search: SentenceSearch, record: Record, step: Record) -> bool:
    """Return whether the jump to a step is within the distortion limit."""
    distortion = search.limits.distortion  # -1 is no limit
    return not 0 <= distortion < abs(record.end + 1 - step.start)


@inlined
def step_score(model: Model, record: Record, start: int, end: int) -> tuple[float, int]:
    """Return the part of the score that all options of a span share, and the orientation.

    The shared part is the hypothesis's score plus distortion and forward reordering.
    """
    turn = orientation(record.start, record.end, start, end)  # monotone, swap or discontinuous
    # Moses's distortion is minus the number of words jumped; the weight carries the sign
    score = record.score - model.distortion_weight * abs(record.end + 1 - start)
    return with_forward(model, score, record.option, turn), turn


@inlined
def with_forward(model: Model, score: float, option: int, turn: int) -> float:
    """Add the forward reordering score of the previous option, if there is one."""
    if option >= 0:  # the initial hypothesis has no option
        score += model.options.forward[turn, option]
    return score


@inlined
def score_option(
    search: SentenceSearch, record: Record, option: int, base: float, turn: int, last: bool
) -> tuple[float, int]:
    """Return the score and the language model state of a hypothesis extended by an option."""
    model = search.model
    scorer, weights = search.language, model.lm_weights
    lm_score, state = score_after(scorer, weights, option, record.lm_state, last)
    return base + model.options.score[turn, option] + lm_score, state


@inlined
def _expand(search: SentenceSearch, number: int, step: Record) -> None:
    """Expand a hypothesis with all options of one span; there must be room for all of them."""
    model, stacks = search.model, search.stacks
    record = stacks.records[number]
    options, covered = model.options, np.int64(step.covered)
    last = covered == search.sentence.length  # the language models also score </s>
    base, turn = step_score(model, record, step.start, step.end)
    # sorted by future score, which leaves reordering out, so a low option does not end the loop
    for option in range(step.begin, step.stop):
        worst = stacks.worst[covered]
        # if language models can only lower the score, most options are rejected here unscored
        if model.lowers and base + options.score[turn, option] + step.estimate < worst:
            continue
        # the expensive part: n-gram look-ups
        score, state = score_option(search, record, option, base, turn, last)
        total = score + step.estimate
        # `worst` of an empty stack is -inf, and -inf itself must not enter
        if total < worst or total == -np.inf:
            continue
        # written behind the last record; `put` counts the record unless it recombines and no arcs
        # are kept
        new = stacks.records[stacks.used[0]]
        new.score, new.total, new.lm_state, new.history = score, total, state, 0
        new.previous, new.option, new.coverage = number, option, step.coverage
        new.start, new.end, new.forward_class = step.start, step.end, options.forward_class[option]
        put(stacks, covered, search.limits)


@inlined
def begin_search(search: SentenceSearch) -> bool:
    """Return whether a search starts; if so, clear the memory of the previous sentence."""
    progress, sentence = search.progress[0], search.sentence
    is_new = progress.begun == 0
    if is_new:
        estimate = sentence.estimates[0, sentence.length - 1]  # of the whole sentence
        state = search.model.language.models.begin_state[0]
        clear_coverages(search.coverages, sentence)
        clear_stacks(search.stacks, sentence.length, state, estimate)
        progress.begun = 1
    return is_new


@inlined
def sort_stack(search: SentenceSearch) -> int:
    """Prune and sort the stack to expand (`sort_members`), unless begun; return its size."""
    progress = search.progress[0]
    if progress.expanded == 0:
        sort_members(search.stacks, progress.stack, search.limits)
    return search.stacks.size[progress.stack]


@compiled
def search_stacks(search: SentenceSearch) -> int:
    """Search for the best translations of a sentence, without neural language models.

    Returns:
        ``DONE``, or the need that the caller must meet before the next call.
    """
    search = borrowed(search)
    stacks, coverages, progress = search.stacks, search.coverages, search.progress[0]
    distortion = search.limits.distortion
    begin_search(search)
    # all state is in `progress`, so a call that returned early continues here
    while progress.stack < search.sentence.length:
        size = sort_stack(search)
        while progress.expanded < size:
            number = stacks.numbers[progress.expanded]  # the highest total first
            record = stacks.records[number]
            if not find_steps(coverages, record.coverage, search.sentence, distortion):
                return NEEDS_ROOM
            coverage = coverages.records[record.coverage]
            # each option makes at most one record, so the expansion itself never runs out of room
            progress.records = coverage.options + 1
            if stacks.used[0] + coverage.options >= stacks.records.size:
                return NEEDS_ROOM
            # spans that fit into the gaps
            for at in range(coverage.first_step, coverage.last_step):
                if within_distortion(search, record, coverages.steps[at]):
                    _expand(search, number, coverages.steps[at])
            progress.expanded += 1
        progress.stack += 1
        progress.expanded = 0
    sort_stack(search)  # the complete hypotheses
    return DONE
