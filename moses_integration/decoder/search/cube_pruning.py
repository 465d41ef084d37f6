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
from moses_integration.decoder.search.cubes import BUCKETS, Cubes
from moses_integration.decoder.search.heap import pop, push
from moses_integration.decoder.search.hypotheses import NONE, Stacks, sort_members
from moses_integration.decoder.search.recombination import prune, put
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_COVERAGES,
    NEEDS_DEFERRAL,
    NEEDS_EDGES,
    NEEDS_RECORDS,
    NEEDS_SCORES,
    Model,
    SentenceSearch,
    can_wait,
    put_aside,
    step_score,
)
from phrasescore.compiled import Record, inlined, leaf

_ADD_EDGES, _BEGIN_CELLS, _FILL_STACK = range(3)  # what is done with a stack, in this order


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
def _add_edges(search: SentenceSearch, cubes: Cubes, first: int, size: int) -> bool:
    """Add the edges out of the coverage of ``stacks.numbers[first]``; return whether they fit.

    Of the sorted hypotheses from ``first`` on, those with the same coverage take part.
    """
    stacks, steps = search.stacks, search.coverages.steps
    number = stacks.records[stacks.numbers[first]].coverage
    coverage = search.coverages.records[number]
    count = coverage.last_step - coverage.first_step
    used = cubes.used[0]
    room = used.edges + count <= cubes.edges.size
    if not room or used.ranked + count * (size - first) > cubes.ranked.size:
        return False
    for at in range(coverage.first_step, coverage.last_step):
        begin = end = used.ranked
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
        edge = cubes.edges[used.edges]
        edge.step, edge.first, edge.hypotheses = at, begin, end - begin
        edge.next = cubes.heads[steps[at].covered]
        cubes.heads[steps[at].covered] = used.edges
        used.edges += 1
        used.ranked = end
    return True


@inlined
def _score_cell(
    search: SentenceSearch, cubes: Cubes, edge_number: int, row: int, column: int
) -> None:
    """Score a cell and put it on the heap, unless it does not exist or was scored."""
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
        model, used = search.model, cubes.used[0]
        cell = cubes.cells[used.cells]
        cell.edge, cell.row, cell.column = edge_number, row, column
        cell.chain = cubes.buckets[bucket]
        cubes.buckets[bucket] = used.cells
        record = search.stacks.records[cubes.ranked[edge.first + row]]
        base, turn = step_score(model, record, step.start, step.end)
        lm_score, state = score_after(
            model.models,
            model.phrases,
            model.neural.lm_weights,
            search.recent,
            step.begin + column,
            record.lm_state,
            step.covered == search.sentence.length,
        )
        cell.lm_state = state
        cell.score = base + model.options.score[turn, step.begin + column] + lm_score
        # what neural language models say is not known before the cell is taken
        cell.score += model.neural.stand_in[step.begin + column]
        cell.total = cell.score + step.estimate
        push(cubes.cells, cubes.heap, used.heap, used.cells)
        used.heap += 1
        used.cells += 1


@inlined
def _defer(search: SentenceSearch, number: int, option: int, step: Record) -> None:
    """Put the hypothesis of a cell aside, with its score but for neural language models."""
    model = search.model
    record = search.stacks.records[number]
    base, turn = step_score(model, record, step.start, step.end)
    lm_score, state = score_after(
        model.models,
        model.phrases,
        model.lm_weights,
        search.recent,
        option,
        record.lm_state,
        step.covered == search.sentence.length,
    )
    score = base + model.options.score[turn, option] + lm_score
    put_aside(search, step, (number, option, score, state), True)


@inlined
def _take(search: SentenceSearch, cubes: Cubes, cell: Record) -> bool:
    """Put the hypothesis of a cell into its stack; return whether it is a new entry there.

    Where neural language models are asked it is put aside, and counts as new until it is settled.
    """
    stacks = search.stacks
    edge = cubes.edges[cell.edge]
    step = search.coverages.steps[edge.step]
    if search.model.neural.asked:
        _defer(search, cubes.ranked[edge.first + cell.row], step.begin + cell.column, step)
        return True
    if cell.total < stacks.worst[step.covered] or cell.total == -np.inf:
        return False
    new = stacks.records[stacks.used[0]]
    new.score, new.total = cell.score, cell.total
    new.lm_state, new.history = cell.lm_state, 0
    new.previous, new.option = cubes.ranked[edge.first + cell.row], step.begin + cell.column
    new.coverage, new.start, new.end = step.coverage, step.start, step.end
    return put(stacks, step.covered, search.limits, search.model.options.forward_class)


@leaf
def _fill_stack(search: SentenceSearch, cubes: Cubes) -> int:
    """Fill a stack with the best cells of its edges, each edge's first cell being scored.

    Beyond the pop limit, only coverages with too few hypotheses go on.
    """
    progress, limits, used = search.progress[0], search.limits, cubes.used[0]
    while used.heap > 0:
        if search.stacks.used[0] + 1 >= search.stacks.records.size:
            progress.records = limits.pop_limit + 1
            return NEEDS_RECORDS
        longest = search.model.neural.longest
        if search.model.neural.asked and not can_wait(search, 1, longest + 1):
            progress.records = longest + 1
            return NEEDS_DEFERRAL
        if used.cells + 2 > cubes.cells.size:
            return NEEDS_EDGES
        if progress.pops >= limits.pop_limit and limits.diversity == 0:
            break
        cell = cubes.cells[pop(cubes.cells, cubes.heap, used.heap)]
        used.heap -= 1
        step = search.coverages.steps[cubes.edges[cell.edge].step]
        coverage = search.coverages.records[step.coverage]
        if progress.pops >= limits.pop_limit and coverage.entries >= limits.diversity:
            continue
        progress.pops += 1
        coverage.entries += _take(search, cubes, cell)
        edge, row, column = cell.edge, cell.row, cell.column
        for right in range(1, -1, -1):
            _score_cell(search, cubes, edge, row + 1 - right, column + right)
    return DONE


@leaf
def _begin_cells(search: SentenceSearch, cubes: Cubes, stack: int) -> bool:
    """Score the best cell of every edge to a stack; return whether there was room."""
    edges = 0
    edge = cubes.heads[stack]
    while edge != NONE:
        edges += 1
        edge = cubes.edges[edge].next
    if edges > cubes.cells.size:
        return False
    cubes.buckets[:] = NONE
    used = cubes.used[0]
    used.cells = used.heap = 0
    edge = cubes.heads[stack]
    while edge != NONE:
        _score_cell(search, cubes, edge, 0, 0)
        edge = cubes.edges[edge].next
    return True


@leaf
def _add_all_edges(search: SentenceSearch, cubes: Cubes) -> int:
    """Add the edges out of a stack's hypotheses, from the first that is not expanded on."""
    stacks, progress = search.stacks, search.progress[0]
    if progress.expanded == 0:
        prune(stacks, progress.stack, search.limits, search.model.options.forward_class)
    # the members are sorted again after every pause, to the same order
    size = sort_members(stacks, progress.stack)
    while progress.expanded < size:
        coverage = stacks.records[stacks.numbers[progress.expanded]].coverage
        first = 0
        while stacks.records[stacks.numbers[first]].coverage != coverage:
            first += 1
        if first == progress.expanded:
            distortion = search.limits.distortion
            if not find_steps(search.coverages, coverage, search.sentence, distortion):
                return NEEDS_COVERAGES
            if not _add_edges(search, cubes, first, size):
                return NEEDS_EDGES
        progress.expanded += 1
    return DONE


@leaf
def search_cubes(search: SentenceSearch, cubes: Cubes) -> int:
    """Search for the best translations of a sentence.

    Returns:
        ``DONE``, or what there must be more room of before this is called again.
    """
    progress = search.progress[0]
    while progress.stack < search.sentence.length:
        if progress.phase == _ADD_EDGES:
            status = _add_all_edges(search, cubes)
            if status != DONE:
                return status
            progress.phase = _BEGIN_CELLS
        elif progress.phase == _BEGIN_CELLS:
            if not _begin_cells(search, cubes, progress.stack + 1):
                return NEEDS_EDGES
            progress.phase = _FILL_STACK
        else:
            status = _fill_stack(search, cubes)
            if status != DONE:
                return status
            if search.deferral.used[0] > 0:
                return NEEDS_SCORES
            progress.stack += 1
            progress.phase = _ADD_EDGES
            progress.expanded = progress.pops = 0
    prune(search.stacks, progress.stack, search.limits, search.model.options.forward_class)
    return DONE
