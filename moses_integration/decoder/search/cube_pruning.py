"""Cube pruning (Huang and Chiang 2007), compiled: what Moses does with -search-algorithm 1.

An edge joins the hypotheses of one coverage, sorted, with the sorted options of one span. Its cells
are scored from the best corner on; a stack takes the best cells of all edges that lead to it, up to
the pop limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import score_after
from moses_integration.decoder.search.coverage import find_steps
from moses_integration.decoder.search.cubes import BUCKETS, Cubes, pop, push
from moses_integration.decoder.search.hypotheses import NONE, Stacks, sort_members
from moses_integration.decoder.search.recombination import prune, put
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_COVERAGES,
    NEEDS_RECORDS,
    Model,
    Search,
    step_score,
)
from phrasescore.compiled import Record, inlined, leaf

NEEDS_EDGES = 3
_FORWARD, _BEGIN = 0, 1  # then the stack is filled


@inlined
def _ranking_score(model: Model, record: Record, start: int) -> float:
    return record.score - model.distortion_weight * abs(record.end + 1 - start)


@leaf
def _rank(model: Model, stacks: Stacks, ranked: NDArray[np.int32], start: int) -> None:
    """Sort hypotheses by score and distortion cost of a phrase that starts at ``start``."""
    for at in range(1, ranked.size):
        number = ranked[at]
        place = at
        score = _ranking_score(model, stacks.records[number], start)
        while place > 0:
            before = stacks.records[ranked[place - 1]]
            if _ranking_score(model, before, start) >= score:
                break
            ranked[place] = ranked[place - 1]
            place -= 1
        ranked[place] = number


@leaf
def _add_edges(search: Search, cubes: Cubes, first: int, size: int) -> bool:
    """Add the edges out of the coverage of ``stacks.numbers[first]``; return whether they fit.

    Of the sorted hypotheses from ``first`` on, those with the same coverage take part.
    """
    stacks, steps = search.stacks, search.coverages.steps
    number = stacks.records[stacks.numbers[first]].coverage
    coverage = search.coverages.records[number]
    count = coverage.last_step - coverage.first_step
    room = cubes.used[0] + count <= cubes.edges.size
    if not room or cubes.used[1] + count * (size - first) > cubes.ranked.size:
        return False
    for at in range(coverage.first_step, coverage.last_step):
        begin = end = cubes.used[1]
        for place in range(first, size):
            record = stacks.records[stacks.numbers[place]]
            distance = abs(record.end + 1 - steps[at].start)
            far = 0 <= search.limits.distortion < distance
            if record.coverage == number and not far:
                cubes.ranked[end] = stacks.numbers[place]
                end += 1
        if end == begin:
            continue
        if search.limits.distortion >= 0:
            _rank(search.model, stacks, cubes.ranked[begin:end], steps[at].start)
        edge = cubes.edges[cubes.used[0]]
        edge.step, edge.first, edge.hypotheses = at, begin, end - begin
        edge.next = cubes.heads[steps[at].covered]
        cubes.heads[steps[at].covered] = cubes.used[0]
        cubes.used[0] += 1
        cubes.used[1] = end
    return True


@inlined
def _score_cell(search: Search, cubes: Cubes, edge_number: int, row: int, column: int) -> None:
    """Score a cell of an edge and put it on the heap, unless it does not exist or was scored."""
    edge = cubes.edges[edge_number]
    step = search.coverages.steps[edge.step]
    bucket = (edge_number * 7919 + row * 104729 + column) & (BUCKETS - 1)
    other = cubes.buckets[bucket]
    exists = row < edge.hypotheses and column < step.stop - step.begin
    while exists and other != NONE:
        cell = cubes.cells[other]
        exists = cell.edge != edge_number or cell.row != row or cell.column != column
        other = cell.chain
    if exists:
        model = search.model
        cell = cubes.cells[cubes.used[2]]
        cell.edge, cell.row, cell.column = edge_number, row, column
        cell.chain = cubes.buckets[bucket]
        cubes.buckets[bucket] = cubes.used[2]
        record = search.stacks.records[cubes.ranked[edge.first + row]]
        base, turn = step_score(model, record, step.start, step.end)
        lm_score, state = score_after(
            model.models,
            model.phrases,
            model.lm_weights,
            search.recent,
            step.begin + column,
            record.lm_state,
            step.covered == search.sentence.length,
        )
        cell.lm_state = state
        cell.score = base + model.options.score[turn, step.begin + column] + lm_score
        cell.total = cell.score + step.estimate
        push(cubes, cubes.used[2])
        cubes.used[2] += 1


@inlined
def _take(search: Search, cubes: Cubes, cell: Record) -> bool:
    """Put the hypothesis of a cell into its stack; return whether it is a new entry there."""
    stacks = search.stacks
    edge = cubes.edges[cell.edge]
    step = search.coverages.steps[edge.step]
    if cell.total < stacks.worst[step.covered] or cell.total == -np.inf:
        return False
    new = stacks.records[stacks.used[0]]
    new.score, new.total, new.lm_state = cell.score, cell.total, cell.lm_state
    new.previous, new.option = cubes.ranked[edge.first + cell.row], step.begin + cell.column
    new.coverage, new.start, new.end = step.coverage, step.start, step.end
    return put(stacks, step.covered, search.limits, search.model.options.forward_class)


@leaf
def _fill_stack(search: Search, cubes: Cubes) -> int:
    """Fill a stack with the best cells of its edges, each edge's first cell being scored.

    Beyond the pop limit, only coverages with too few hypotheses go on.
    """
    position, limits = search.position, search.limits
    while cubes.used[3] > 0:
        if search.stacks.used[0] + 1 >= search.stacks.records.size:
            position[3] = limits.pop_limit + 1
            return NEEDS_RECORDS
        if cubes.used[2] + 2 > cubes.cells.size:
            return NEEDS_EDGES
        if position[2] >= limits.pop_limit and limits.diversity == 0:
            break
        cell = cubes.cells[pop(cubes)]
        step = search.coverages.steps[cubes.edges[cell.edge].step]
        coverage = search.coverages.records[step.coverage]
        if position[2] >= limits.pop_limit and coverage.entries >= limits.diversity:
            continue
        position[2] += 1
        coverage.entries += _take(search, cubes, cell)
        edge, row, column = cell.edge, cell.row, cell.column
        for right in range(1, -1, -1):
            _score_cell(search, cubes, edge, row + 1 - right, column + right)
    return DONE


@leaf
def _begin_cells(search: Search, cubes: Cubes, stack: int) -> bool:
    """Score the best cell of every edge to a stack; return whether there was room."""
    edges = 0
    edge = cubes.heads[stack]
    while edge != NONE:
        edges += 1
        edge = cubes.edges[edge].next
    if edges > cubes.cells.size:
        return False
    cubes.buckets[:] = NONE
    cubes.used[2] = cubes.used[3] = 0
    edge = cubes.heads[stack]
    while edge != NONE:
        _score_cell(search, cubes, edge, 0, 0)
        edge = cubes.edges[edge].next
    return True


@leaf
def _add_all_edges(search: Search, cubes: Cubes) -> int:
    """Add the edges out of a stack's hypotheses, from ``position[2]`` on."""
    stacks, position = search.stacks, search.position
    if position[2] == 0:
        prune(stacks, position[0], search.limits, search.model.options.forward_class)
    # the members are sorted again after every pause, to the same order
    size = sort_members(stacks, position[0])
    while position[2] < size:
        coverage = stacks.records[stacks.numbers[position[2]]].coverage
        first = 0
        while stacks.records[stacks.numbers[first]].coverage != coverage:
            first += 1
        if first == position[2]:
            distortion = search.limits.distortion
            if not find_steps(search.coverages, coverage, search.sentence, distortion):
                return NEEDS_COVERAGES
            if not _add_edges(search, cubes, first, size):
                return NEEDS_EDGES
        position[2] += 1
    return DONE


@leaf
def search_cubes(search: Search, cubes: Cubes) -> int:
    """Search for the best translations of a sentence.

    ``position`` holds the stack, what is done with it, how far that is, and how many records are
    needed.

    Returns:
        ``DONE``, or what there must be more room of before this is called again.
    """
    position = search.position
    while position[0] < search.sentence.length:
        if position[1] == _FORWARD:
            status = _add_all_edges(search, cubes)
            if status != DONE:
                return status
        elif position[1] == _BEGIN:
            if not _begin_cells(search, cubes, position[0] + 1):
                return NEEDS_EDGES
        else:
            status = _fill_stack(search, cubes)
            if status != DONE:
                return status
            position[0] += 1
        position[1] = (position[1] + 1) % 3
        position[2] = 0
    prune(search.stacks, position[0], search.limits, search.model.options.forward_class)
    return DONE
