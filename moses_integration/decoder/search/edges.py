"""The edges of cube pruning: hypotheses of one coverage, ranked, and what may follow them."""

from __future__ import annotations

import numpy as np

from moses_integration.decoder.features.reordering_feature import turn_to
from moses_integration.decoder.search.coverage import find_steps
from moses_integration.decoder.search.cubes import Cubes
from moses_integration.decoder.search.hypotheses import NONE, Stacks, sort_members
from moses_integration.decoder.search.recombination import prune
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_COVERAGES,
    NEEDS_EDGES,
    Model,
    SentenceSearch,
    with_forward,
)
from phrasescore.compiled import Records, borrowed, compiled


@compiled
def _chain_members(search: SentenceSearch, size: int) -> None:
    """Chain the sorted hypotheses of a stack that have the same coverage, the best first.

    The chains of the stack's hash table are not needed any more: nothing is put into it.
    """
    search = borrowed(search)
    stacks, coverages = search.stacks, search.coverages.records
    for place in range(size):
        coverage = coverages[stacks.records[stacks.numbers[place]].coverage]
        coverage.member, coverage.members = NONE, 0
    for place in range(size - 1, -1, -1):
        record = stacks.records[stacks.numbers[place]]
        coverage = coverages[record.coverage]
        record.chain = coverage.member
        coverage.member = stacks.numbers[place]
        coverage.members += 1


@compiled
def _rank(
    model: Model,
    stacks: Stacks,
    number: int,
    start: int,
    distortion: int,
    ranked: Records,
) -> int:
    """Rank hypotheses by score and the cost of the jump to a phrase that starts at ``start``.

    They are ``number`` and those chained behind it.

    Returns:
        How many there are whose jump is within the limit, if there is a limit. Without one they
        stay as they are.
    """
    model, stacks, ranked = borrowed((model, stacks, ranked))
    count = 0
    while number != NONE:
        record, own = stacks.records[number], number
        number = np.int64(record.chain)
        distance = abs(record.end + 1 - start)
        if 0 <= distortion < distance:
            continue
        score = record.score - model.distortion_weight * distance
        place = count
        while distortion >= 0 and place > 0 and ranked[place - 1].score < score:
            ranked[place] = ranked[place - 1]
            place -= 1
        one = ranked[place]
        one.score, one.number, one.lm_state = score, own, record.lm_state
        one.start, one.turn = record.start, turn_to(record.end, start)
        one.base = with_forward(model, score, record.option, one.turn)
        count += 1
    return count


@compiled
def _add_edges(search: SentenceSearch, cubes: Cubes, number: int) -> bool:
    """Add the edges out of a coverage, whose hypotheses are chained; return whether they fit."""
    search, cubes = borrowed((search, cubes))
    coverage, steps = search.coverages.records[number], search.coverages.steps
    count = coverage.last_step - coverage.first_step
    used = cubes.used[0]
    room = used.edges + count <= cubes.edges.size
    if not room or used.ranked + count * coverage.members > cubes.ranked.size:
        return False
    start, begin, found = np.int64(NONE), np.int64(0), np.int64(0)
    for at in range(coverage.first_step, coverage.last_step):
        if steps[at].start != start:
            start, begin = np.int64(steps[at].start), np.int64(used.ranked)
            found = _rank(
                search.model,
                search.stacks,
                np.int64(coverage.member),
                start,
                search.limits.distortion,
                cubes.ranked[begin:],
            )
            used.ranked = begin + found
        if found == 0:
            continue
        edge, step = cubes.edges[used.edges], steps[at]
        edge.step, edge.first, edge.hypotheses = at, begin, found
        edge.estimate, edge.coverage, edge.behind = step.estimate, step.coverage, step.end + 1
        edge.begin, edge.columns = step.begin, step.stop - step.begin
        edge.next = cubes.heads[step.covered]
        cubes.heads[step.covered] = used.edges
        used.edges += 1
    return True


@compiled
def add_edges_of_stack(search: SentenceSearch, cubes: Cubes) -> int:
    """Add the edges out of a stack's hypotheses, from the first that is not expanded on."""
    search, cubes = borrowed((search, cubes))
    stacks, progress = search.stacks, search.progress[0]
    if progress.expanded == 0:
        prune(stacks, progress.stack, search.limits)
    # the members are sorted again after every pause, to the same order
    size = sort_members(stacks, progress.stack)
    _chain_members(search, size)
    while progress.expanded < size:
        number = stacks.numbers[progress.expanded]
        coverage = stacks.records[number].coverage
        if number == search.coverages.records[coverage].member:
            distortion = search.limits.distortion
            if not find_steps(search.coverages, coverage, search.sentence, distortion):
                return NEEDS_COVERAGES
            if not _add_edges(search, cubes, coverage):
                return NEEDS_EDGES
        progress.expanded += 1
    return DONE
