"""Hypotheses that wait for the scores of neural language models, and then enter their stacks.

A network answers a thousand questions in little more time than one, so a search does not ask as it
goes: it puts hypotheses aside, with the edges of their words (`Histories`), until there are enough
or a stack must be whole; then all are scored together and put into their stacks, in their order.
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
from phrasescore.compiled import Record, Records, inlined, leaf

ENOUGH = 2048  # hypotheses to score together: their products are fast by then
_FIRST_DEFERRED = 2 * ENOUGH

DEFERRED = np.dtype(
    [
        ("score", np.float64),  # without neural language models
        ("estimate", np.float64),
        ("lm_state", np.int64),
        ("path", np.int64),  # where its edges begin in the path of the graph
        ("steps", np.int32),  # and how many they are
        ("history", np.int32),
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
    return Deferral(np.empty(_FIRST_DEFERRED, DEFERRED), np.zeros(1, np.int64))


def with_room(deferral: Deferral, extra: int) -> Deferral:
    """Return what waits, in a longer array where ``extra`` more would not fit."""
    waiting = deferral.waiting
    missing = int(deferral.used[0]) + extra - waiting.size
    if missing > 0:
        waiting = np.concatenate([waiting, np.empty(missing + waiting.size, DEFERRED)])
    return Deferral(waiting, deferral.used)


@inlined
def can_defer(
    deferral: Deferral, histories: Histories, neural: NeuralTerms, options: int
) -> bool:
    """Whether so many hypotheses more may be put aside."""
    room = deferral.used[0] + options <= deferral.waiting.size
    return room and has_room(histories, options * (neural.longest + 1))


@inlined
def defer(
    deferral: Deferral,
    histories: Histories,
    neural: NeuralTerms,
    stacks: Stacks,
    number: int,
    option: int,
    step: Record,
    score: float,
    lm_state: int,
    last: bool,
) -> None:
    """Put a hypothesis aside; there must be room.

    Args:
        deferral: What waits.
        histories: What it asks.
        neural: What the options say.
        stacks: The stacks.
        number: The hypothesis that is expanded.
        option: With which option.
        step: The span of the option.
        score: The new hypothesis's, without neural language models.
        lm_state: Its state of n-gram models.
        last: Whether it covers the sentence.
    """
    new = deferral.waiting[deferral.used[0]]
    deferral.used[0] += 1
    node = stacks.records[number].history
    new.path = histories.used[0].path
    for at in range(neural.first[option], neural.first[option + 1]):
        edge = walk(histories, node, neural.words[at], neural.boundary)
        node = histories.edges[edge].next
    if last and neural.first[option] < neural.first[option + 1]:
        walk(histories, node, neural.boundary, neural.boundary)
        node = 0
    new.steps = histories.used[0].path - new.path
    new.history, new.lm_state = node, lm_state
    new.score, new.estimate = score, step.estimate
    new.previous, new.option = number, option
    new.coverage, new.covered = step.coverage, step.covered
    new.start, new.end = step.start, step.end


@leaf
def settle(
    deferral: Deferral,
    histories: Histories,
    stacks: Stacks,
    coverages: Coverages,
    limits: Limits,
    options: Options,
) -> None:
    """Put all that waits into its stacks; the scores must be known, and there must be room.

    A coverage's entries, which cube pruning counted when it put hypotheses aside, are counted down
    for those that do not enter.
    """
    path, edges = histories.path, histories.edges
    for at in range(deferral.used[0]):
        one = deferral.waiting[at]
        score = one.score
        for place in range(one.path, one.path + one.steps):
            score += edges[path[place]].score
        total = score + one.estimate
        is_new = False
        if total >= stacks.worst[one.covered] and total != -np.inf:
            new = stacks.records[stacks.used[0]]
            new.score, new.total = score, total
            new.lm_state, new.history = one.lm_state, one.history
            new.previous, new.option, new.coverage = one.previous, one.option, one.coverage
            new.start, new.end = one.start, one.end
            is_new = put(stacks, one.covered, limits, options.forward_class)
        coverages.records[one.coverage].entries -= not is_new
    deferral.used[0] = 0
    histories.used[0].path = 0
