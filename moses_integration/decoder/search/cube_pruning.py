"""Cube pruning (Huang and Chiang 2007), compiled: what Moses does with -search-algorithm 1.

An edge joins the hypotheses of one coverage, sorted, with the sorted options of one span. Its cells
are scored from the best corner on; a stack takes the best cells of all edges that lead to it, up to
the pop limit.
"""

from __future__ import annotations

import numpy as np

from moses_integration.decoder.features.lm_scoring import score_after
from moses_integration.decoder.features.reordering_feature import MONOTONE, SWAP
from moses_integration.decoder.search.cubes import (
    Cubes,
    clear_cubes,
    note_cell,
    rise,
    sink,
    words_per_row,
)
from moses_integration.decoder.search.edges import add_edges_of_stack
from moses_integration.decoder.search.hypotheses import NONE
from moses_integration.decoder.search.recombination import put
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_DEFERRAL,
    NEEDS_EDGES,
    NEEDS_RECORDS,
    NEEDS_SCORES,
    SentenceSearch,
    Waiting,
    begin_search,
    can_wait,
    finish_search,
    put_aside,
    step_score,
    with_forward,
)
from phrasescore.compiled import Record, borrowed, compiled, inlined

_ADD_EDGES, _BEGIN_CELLS, _FILL_STACK = range(3)  # what is done with a stack, in this order


@inlined
def _score_cell(
    search: SentenceSearch,
    waiting: Waiting | None,
    cubes: Cubes,
    edge_number: int,
    row: int,
    column: int,
    ends: bool,
) -> float:
    """Score a cell, the next of ``cubes.cells``; return its total."""
    model, edge = search.model, cubes.edges[edge_number]
    option = edge.begin + column
    cell = cubes.cells[cubes.used[0].cells]
    cell.edge, cell.row, cell.column = edge_number, row, column
    before = cubes.ranked[edge.first + row]
    base, turn = np.float64(before.base), np.int64(before.turn)
    # `orientation`, of which `_rank` knows all but this; what is seldom true is asked first
    if before.start == edge.behind and turn != MONOTONE:
        turn = np.int64(SWAP)
        number = search.stacks.records[before.number].option
        base = with_forward(model, np.float64(before.score), number, turn)
    lm_score, state = score_after(
        model.models,
        model.phrases,
        model.lm_weights if waiting is None else waiting.neural.lm_weights,
        search.recent,
        option,
        np.int64(before.lm_state),
        ends,
    )
    cell.lm_state = state
    cell.score = base + model.options.score[turn, option] + lm_score
    if waiting is not None:
        # what neural language models say is not known before the cell is taken
        cell.score += waiting.neural.stand_in[option]
    return np.float64(cell.score) + edge.estimate


@inlined
def _defer(
    search: SentenceSearch, waiting: Waiting, number: int, option: int, step: Record
) -> None:
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
    put_aside(search, waiting, step, (number, option, score, state), True)


@inlined
def _take(
    search: SentenceSearch,
    waiting: Waiting | None,
    cubes: Cubes,
    cell: Record,
    total: float,
    covered: int,
) -> bool:
    """Put the hypothesis of a cell into its stack; return whether it is a new entry there.

    Where neural language models are asked it is put aside, and counts as new until it is settled.
    """
    stacks = search.stacks
    edge = cubes.edges[cell.edge]
    step = search.coverages.steps[edge.step]
    number, option = cubes.ranked[edge.first + cell.row].number, edge.begin + cell.column
    if waiting is not None:
        _defer(search, waiting, number, option, step)
        return True
    if total < stacks.worst[covered] or total == -np.inf:
        return False
    new = stacks.records[stacks.used[0]]
    new.score, new.total = cell.score, total
    new.lm_state, new.history = cell.lm_state, 0
    new.previous, new.option = number, option
    new.coverage, new.start, new.end = edge.coverage, step.start, step.end
    new.forward_class = search.model.options.forward_class[option]
    return put(stacks, covered, search.limits)


@inlined
def _score_neighbours(
    search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, cell: Record, ends: bool
) -> bool:
    """Score the cells beside and below the best one, unless they are missing or were scored.

    The first takes the place of the best one on the heap, the other one rises from its end.

    Returns:
        Whether there was one.
    """
    used, edge = cubes.used[0], cubes.edges[cell.edge]
    replaced = False
    for down in range(2):
        row, column = cell.row + down, cell.column + 1 - down
        if row >= edge.hypotheses or column >= edge.columns:
            continue
        if not note_cell(cubes, edge, row, column):
            continue
        total = _score_cell(search, waiting, cubes, cell.edge, row, column, ends)
        if replaced:
            rise(cubes.heap, used.heap, total, used.cells)
            used.heap += 1
        else:
            sink(cubes.heap, used.heap, total, used.cells)
            replaced = True
        used.cells += 1
    return replaced


@compiled
def _fill_stack(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, stack: int) -> int:
    """Fill a stack with the best cells of its edges, each edge's first cell being scored.

    Beyond the pop limit, only coverages with too few hypotheses go on.
    """
    search, cubes = borrowed((search, cubes))
    progress, limits, used = search.progress[0], search.limits, cubes.used[0]
    ends = stack == search.sentence.length
    while used.heap > 0:
        if search.stacks.used[0] + 1 >= search.stacks.records.size:
            progress.records = limits.pop_limit + 1
            return NEEDS_RECORDS
        if waiting is not None:
            longest = waiting.neural.longest
            if not can_wait(waiting, 1, longest + 1):
                progress.records = longest + 1
                return NEEDS_DEFERRAL
        if used.cells + 2 > cubes.cells.size:
            return NEEDS_EDGES
        if progress.pops >= limits.pop_limit and limits.diversity == 0:
            break
        best = cubes.heap[0]
        cell = cubes.cells[best.cell]
        coverage = search.coverages.records[cubes.edges[cell.edge].coverage]
        goes_on = progress.pops < limits.pop_limit or coverage.entries < limits.diversity
        if goes_on:
            progress.pops += 1
            coverage.entries += _take(search, waiting, cubes, cell, best.total, stack)
        replaced = goes_on and _score_neighbours(search, waiting, cubes, cell, ends)
        if not replaced:
            used.heap -= 1
            last = cubes.heap[used.heap]
            sink(cubes.heap, used.heap, last.total, last.cell)
    return DONE


@compiled
def _begin_cells(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, stack: int) -> bool:
    """Score the best cell of every edge to a stack; return whether there was room."""
    search, cubes = borrowed((search, cubes))
    used, ends = cubes.used[0], stack == search.sentence.length
    used.cells = used.heap = used.seen = 0
    number = np.int64(cubes.heads[stack])
    while number != NONE:
        edge = cubes.edges[number]
        edge.seen, edge.rows = used.seen, 0
        used.seen += edge.hypotheses * words_per_row(edge.columns)
        if used.seen > cubes.seen.size or used.cells == cubes.cells.size:
            return False
        note_cell(cubes, edge, 0, 0)
        total = _score_cell(search, waiting, cubes, number, 0, 0, ends)
        rise(cubes.heap, used.heap, total, used.cells)
        used.cells += 1
        used.heap += 1
        number = np.int64(edge.next)
    return True


@compiled
def search_cubes(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes) -> int:
    """Search for the best translations of a sentence.

    Returns:
        ``DONE``, or what there must be more room of before this is called again.
    """
    search, cubes = borrowed((search, cubes))
    progress = search.progress[0]
    if begin_search(search):
        clear_cubes(cubes)
    while progress.stack < search.sentence.length:
        if progress.phase == _ADD_EDGES:
            status = add_edges_of_stack(search, cubes)
            if status != DONE:
                return status
            progress.phase = _BEGIN_CELLS
        elif progress.phase == _BEGIN_CELLS:
            if not _begin_cells(search, waiting, cubes, progress.stack + 1):
                return NEEDS_EDGES
            progress.phase = _FILL_STACK
        else:
            status = _fill_stack(search, waiting, cubes, progress.stack + 1)
            if status != DONE:
                return status
            if waiting is not None and waiting.deferral.used[0] > 0:
                return NEEDS_SCORES
            progress.stack += 1
            progress.phase = _ADD_EDGES
            progress.expanded = progress.pops = 0
    finish_search(search)
    return DONE
