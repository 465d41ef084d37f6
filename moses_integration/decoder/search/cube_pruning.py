"""Cube pruning (Huang and Chiang 2007), compiled; the search of Moses's -search-algorithm 1.

An edge joins the hypotheses of one coverage with the translation options of one span, both sorted
by score. The edge leads to the stack of the new coverage. Hypothesis i and option j form cell
(i, j) of a grid. The score of a cell is the sum of both scores plus a language model score that
depends on the pair. Without the language model, a cell would rarely score above its left and upper
neighbours. Cells with high scores are therefore mostly near cell (0, 0), and a cell is scored only
after its left or upper neighbour was popped.

To fill a stack, cell (0, 0) of each edge to the stack is pushed onto a heap. Then, up to the pop
limit, the cell with the highest total (score plus future cost) is popped, its hypothesis enters the
stack, and its right and lower neighbours are scored and pushed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.features.lm_scoring import score_after
from moses_integration.decoder.features.reordering import MONOTONE, SWAP, turn_to
from moses_integration.decoder.search.coverage import find_steps
from moses_integration.decoder.search.neural_search import Waiting, can_wait, defer
from moses_integration.decoder.search.stack_decoding import (
    DONE,
    NEEDS_ROOM,
    NEEDS_SCORES,
    Model,
    SentenceSearch,
    begin_search,
    sort_stack,
    step_score,
    with_forward,
)
from moses_integration.decoder.search.stacks import (
    HEAP_ENTRY,
    NONE,
    Stacks,
    prune,
    push,
    put,
    remove_best,
    replace_best,
)
from phrasescore.compiled import Record, Records, borrowed, compiled, inlined
from phrasescore.words.hashing import with_room

_ADD_EDGES, _BEGIN_CELLS, _FILL_STACK = range(3)  # the phases of a stack, in this order
_FIRST_EDGES, _FIRST_RANKED, _FIRST_CELLS = 1 << 12, 1 << 15, 1 << 13
_FIRST_SEEN = 1 << 13
_WORD_BITS = 64
# With neural models, how many hypotheses to score together, for each hypothesis that fits into the
# stack. Their scores give the stack a threshold, which rejects most hypotheses popped later.
_GROUP = 2

EDGE = np.dtype(
    [
        ("estimate", np.float64),  # the future cost of the new coverage
        ("step", np.int32),  # the step: the span, and the coverage that it leads to
        ("coverage", np.int32),  # the new coverage
        ("begin", np.int32),  # the first option of the span
        ("columns", np.int32),  # how many options the span has
        ("first", np.int32),  # the first of the edge's hypotheses in ``ranked``
        ("hypotheses", np.int32),  # how many hypotheses the edge has
        ("next", np.int32),  # the next edge to the same stack
        ("seen", np.int32),  # the index in ``seen`` of the edge's first 64-bit word
        ("rows", np.int32),  # how many rows of ``seen`` are in use
        ("behind", np.int32),  # the word after the span
    ],
    align=True,
)
# a hypothesis as a candidate for expansion; all spans that start at the same word share the record
RANKED = np.dtype(
    [
        ("score", np.float64),  # the score, including the cost of the jump to the span
        ("base", np.float64),  # ``score`` plus forward reordering; not used if the phrases swap
        ("lm_state", np.int64),
        ("number", np.int32),  # the index of the hypothesis
        ("start", np.int16),  # the first word of its last phrase
        ("turn", np.int16),  # the orientation of the next phrase; not used if the phrases swap
    ],
    align=True,
)
CELL = np.dtype(
    [
        ("score", np.float64),
        ("total", np.float64),  # ``score`` plus the future cost of the new coverage
        ("lm_state", np.int64),
        ("edge", np.int32),
        ("row", np.int32),  # the rank of the hypothesis
        ("column", np.int32),  # the rank of the option
    ],
    align=True,
)
_GROWING = ("edges", "ranked", "cells", "heap", "seen")
ELEMENTS = np.dtype([(name, np.int64) for name in _GROWING])


class Cubes(NamedTuple):
    """The edges of a sentence and the cells of one stack.

    Attributes:
        edges: All edges.
        heads: The first edge to each stack, shape (stacks,).
        ranked: The hypotheses of each edge, best first; edges from one coverage to spans that start
            at the same word share them.
        cells: The cells scored for the current stack.
        seen: One bit for each cell of the edges to the current stack, set if the cell was scored;
            each row starts in a new 64-bit word.
        heap: The scored cells that are not yet popped (``stacks.HEAP_ENTRY``), the highest total on
            top.
        used: One record: how many elements of each growing array are in use.
        needed: One record: how many elements each growing array must have room for, when a search
            returns ``NEEDS_ROOM``.
    """

    edges: Records
    heads: NDArray[np.int32]
    ranked: Records
    cells: Records
    seen: NDArray[np.uint64]
    heap: Records
    used: Records
    needed: Records

    @classmethod
    def new(cls, longest_sentence: int) -> Cubes:
        """Make room for the cubes of sentences of up to this many words."""
        return cls(
            edges=np.empty(_FIRST_EDGES, EDGE),
            heads=np.empty(longest_sentence + 1, np.int32),
            ranked=np.empty(_FIRST_RANKED, RANKED),
            cells=np.empty(_FIRST_CELLS, CELL),
            seen=np.empty(_FIRST_SEEN, np.uint64),
            heap=np.empty(_FIRST_CELLS, HEAP_ENTRY),
            used=np.zeros(1, ELEMENTS),
            needed=np.zeros(1, ELEMENTS),
        )

    def with_room(self) -> Cubes:
        """Return the cubes with room for the elements that ``needed`` asks for."""
        needed = zip(_GROWING, self.needed[0].tolist(), strict=True)
        return self._replace(
            **{name: with_room(getattr(self, name), size) for name, size in needed}
        )


@inlined
def _words_per_row(columns: int) -> int:
    """Return the number of 64-bit words of ``seen`` that a row of cells takes."""
    return (columns + _WORD_BITS - 1) // _WORD_BITS


@inlined
def _note_cell(cubes: Cubes, edge: Record, row: int, column: int) -> bool:
    """Mark a cell as scored; return whether it was unmarked before.

    A row is always reached from the row above it, so rows come into use in order. Each row is
    cleared when it is first reached; rows that are never reached cost no time.
    """
    words = _words_per_row(edge.columns)
    first = edge.seen + row * words
    if row == edge.rows:
        edge.rows += 1
        for word in range(words):
            cubes.seen[first + word] = np.uint64(0)
    bit = np.uint64(1) << np.uint64(column % _WORD_BITS)
    place = first + column // _WORD_BITS
    is_new = cubes.seen[place] & bit == np.uint64(0)
    cubes.seen[place] |= bit
    return is_new


@compiled
def _chain_members(search: SentenceSearch, size: int) -> None:
    """Chain the sorted hypotheses of a stack that have the same coverage, the best first.

    This can reuse the chains of the stack's hash table: nothing enters the stack any more.
    """
    search = borrowed(search)
    stacks, coverages = search.stacks, search.coverages.records
    for place in range(size):
        coverage = coverages[stacks.records[stacks.numbers[place]].coverage]
        coverage.member, coverage.members = NONE, 0
    for place in range(size - 1, -1, -1):  # from the worst, so that the best becomes the head
        record = stacks.records[stacks.numbers[place]]
        coverage = coverages[record.coverage]
        record.chain = coverage.member
        coverage.member = stacks.numbers[place]
        coverage.members += 1


@compiled
def _rank(
    model: Model, stacks: Stacks, number: int, start: int, distortion: int, ranked: Records
) -> int:
    """Rank a chain of hypotheses by score, including the cost of the jump to a phrase at ``start``.

    ``number`` is the first of the chain. With a distortion limit the hypotheses are sorted again,
    because the costs of their jumps differ. Without a limit they keep their order, as in Moses.

    Returns:
        The number of hypotheses whose jump is within the limit.
    """
    model, stacks, ranked = borrowed((model, stacks, ranked))
    count = 0
    while number != NONE:
        record, own = stacks.records[number], number
        number = np.int64(record.chain)
        distance = abs(record.end + 1 - start)  # words jumped over
        if 0 <= distortion < distance:
            continue
        score = record.score - model.distortion_weight * distance
        place = count
        # an insertion sort: the chain is nearly in order, and short
        while distortion >= 0 and place > 0 and ranked[place - 1].score < score:
            ranked[place] = ranked[place - 1]
            place -= 1
        one = ranked[place]
        one.score, one.number, one.lm_state = score, own, record.lm_state
        one.start, one.turn = record.start, turn_to(record.end, start)
        one.base = with_forward(model, score, record.option, one.turn)  # shared by all options
        count += 1
    return count


@compiled
def _add_edges(search: SentenceSearch, cubes: Cubes, number: int) -> bool:
    """Add the edges from a coverage with chained hypotheses; return whether there was room."""
    search, cubes = borrowed((search, cubes))
    coverage, steps = search.coverages.records[number], search.coverages.steps
    count = coverage.last_step - coverage.first_step  # at most one edge for each step
    used, needed = cubes.used[0], cubes.needed[0]
    needed.edges = used.edges + count
    needed.ranked = used.ranked + count * coverage.members
    if needed.edges > cubes.edges.size or needed.ranked > cubes.ranked.size:
        return False
    member, distortion = np.int64(coverage.member), search.limits.distortion
    start, begin, found = np.int64(NONE), np.int64(0), np.int64(0)
    for at in range(coverage.first_step, coverage.last_step):
        # steps are sorted by start; edges that start at the same word share their ranked hypotheses
        if steps[at].start != start:
            start, begin = np.int64(steps[at].start), np.int64(used.ranked)
            ranked = cubes.ranked[begin:]
            found = _rank(search.model, search.stacks, member, start, distortion, ranked)
            used.ranked = begin + found
        if found == 0:
            continue
        edge, step = cubes.edges[used.edges], steps[at]
        edge.step, edge.first, edge.hypotheses = at, begin, found
        edge.estimate, edge.coverage, edge.behind = step.estimate, step.coverage, step.end + 1
        edge.begin, edge.columns = step.begin, step.stop - step.begin
        edge.next = cubes.heads[step.covered]  # the edges to a stack are a chain
        cubes.heads[step.covered] = used.edges
        used.edges += 1
    return True


@compiled
def _add_edges_of_stack(search: SentenceSearch, cubes: Cubes) -> int:
    """Add the edges from a stack's hypotheses, starting with the first one not expanded."""
    search, cubes = borrowed((search, cubes))
    stacks, progress = search.stacks, search.progress[0]
    size = sort_stack(search)
    _chain_members(search, size)
    while progress.expanded < size:
        number = stacks.numbers[progress.expanded]
        coverage = stacks.records[number].coverage
        # the best of its coverage stands for all of them: their edges are added once
        if number == search.coverages.records[coverage].member:
            distortion = search.limits.distortion
            steps = find_steps(search.coverages, coverage, search.sentence, distortion)
            if not (steps and _add_edges(search, cubes, coverage)):
                return NEEDS_ROOM
        progress.expanded += 1
    return DONE


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
    """Score a cell and write it to the next record of ``cubes.cells``; return its total."""
    model, edge = search.model, cubes.edges[edge_number]
    option = edge.begin + column  # options of a span are sorted by future score
    cell = cubes.cells[cubes.used[0].cells]  # counted by the caller
    cell.edge, cell.row, cell.column = edge_number, row, column
    before = cubes.ranked[edge.first + row]
    base, turn = np.float64(before.base), np.int64(before.turn)
    # `_rank` set every orientation except swap; the condition that is rarely true comes first
    if before.start == edge.behind and turn != MONOTONE:
        turn = np.int64(SWAP)
        number = search.stacks.records[before.number].option
        base = with_forward(model, np.float64(before.score), number, turn)
    # with networks, n-gram weights are changed so that they stand in for the networks, too
    weights = model.lm_weights if waiting is None else waiting.neural.lm_weights
    lm_score, state = score_after(model.language, weights, option, np.int64(before.lm_state), ends)
    cell.lm_state = state
    cell.score = base + model.options.score[turn, option] + lm_score
    if waiting is not None:
        # neural language models score a cell only when it is popped; until then the score of an
        # n-gram model replaces the neural scores
        cell.score += waiting.neural.stand_in[option]
    cell.total = cell.score + edge.estimate
    return np.float64(cell.total)


@inlined
def _take(
    search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, cell: Record, covered: int
) -> bool:
    """Put the hypothesis of a popped cell into its stack; return whether the stack has a new entry.

    With neural language models the hypothesis is deferred. It counts as a new entry until `settle`
    decides whether it enters the stack.
    """
    stacks = search.stacks
    edge = cubes.edges[cell.edge]
    step = search.coverages.steps[edge.step]
    number, option = cubes.ranked[edge.first + cell.row].number, edge.begin + cell.column
    if waiting is not None:
        record = stacks.records[number]
        base, turn = step_score(search.model, record, step.start, step.end)
        return defer(search, waiting, step, (number, option, base, turn), True)
    if cell.total < stacks.worst[covered] or cell.total == -np.inf:
        return False
    new = stacks.records[stacks.used[0]]
    new.score, new.total = cell.score, cell.total
    new.lm_state, new.history = cell.lm_state, 0
    new.previous, new.option = number, option
    new.coverage, new.start, new.end = edge.coverage, step.start, step.end
    new.forward_class = search.model.options.forward_class[option]
    return put(stacks, covered, search.limits)


@inlined
def _score_neighbours(
    search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, cell: Record, ends: bool
) -> bool:
    """Score and push the right and lower neighbours of the top cell, if they are new.

    The first new neighbour replaces the cell on top of the heap. This costs one sift; a removal and
    a push would cost two.

    Returns:
        Whether a neighbour replaced the top cell; otherwise the caller must remove the top cell.
    """
    used, edge = cubes.used[0], cubes.edges[cell.edge]
    replaced = False
    for down in range(2):  # right (row, column + 1), then down (row + 1, column)
        row, column = cell.row + down, cell.column + 1 - down
        if row >= edge.hypotheses or column >= edge.columns:
            continue
        if not _note_cell(cubes, edge, row, column):  # reached from its other neighbour before
            continue
        total = _score_cell(search, waiting, cubes, cell.edge, row, column, ends)
        if replaced:
            push(cubes.heap, used.heap, total, used.cells)
            used.heap += 1
        else:
            replace_best(cubes.heap, used.heap, total, used.cells)
            replaced = True
        used.cells += 1
    return replaced


@inlined
def _need(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes) -> int:
    """Return the need that the caller must meet before another cell is popped, or ``DONE``."""
    progress, limits = search.progress[0], search.limits
    if search.stacks.used[0] + 1 >= search.stacks.records.size:
        progress.records = limits.pop_limit + 1  # each pop makes at most one record
        return NEEDS_ROOM
    if waiting is not None:
        progress.records = 1
        if not can_wait(waiting, 1):
            return NEEDS_ROOM
        if 0 < _GROUP * limits.stack <= waiting.used[0]:
            return NEEDS_SCORES
    cells = cubes.used[0].cells + 2  # a popped cell has at most two new neighbours
    if cells <= cubes.cells.size:
        return DONE
    cubes.needed[0].cells = cubes.needed[0].heap = cells
    return NEEDS_ROOM


@inlined
def _fill_stack(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, stack: int) -> int:
    """Fill a stack with the best cells of its edges; the heap already has cell (0, 0) of each edge.

    Beyond the pop limit, only coverages with fewer hypotheses than the diversity limit still get
    new hypotheses.
    """
    progress, limits, used = search.progress[0], search.limits, cubes.used[0]
    ends = stack == search.sentence.length
    if waiting is not None:
        prune(search.stacks, stack, limits)
    while used.heap > 0:
        status = _need(search, waiting, cubes)
        if status != DONE:
            return status
        if progress.pops >= limits.pop_limit and limits.diversity == 0:
            break
        cell = cubes.cells[cubes.heap[0].number]  # the highest total
        coverage = search.coverages.records[cubes.edges[cell.edge].coverage]
        goes_on = progress.pops < limits.pop_limit or coverage.entries < limits.diversity
        if goes_on:
            progress.pops += 1
            coverage.entries += _take(search, waiting, cubes, cell, stack)
        if not (goes_on and _score_neighbours(search, waiting, cubes, cell, ends)):
            remove_best(cubes.heap, used.heap)
            used.heap -= 1
    return DONE


@inlined
def _begin_cells(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes, stack: int) -> bool:
    """Score cell (0, 0) of every edge to a stack; return whether there was room."""
    used, needed, ends = cubes.used[0], cubes.needed[0], stack == search.sentence.length
    used.cells = used.heap = used.seen = 0  # cells belong to one stack
    number = np.int64(cubes.heads[stack])
    while number != NONE:
        edge = cubes.edges[number]
        edge.seen, edge.rows = used.seen, 0
        used.seen += edge.hypotheses * _words_per_row(edge.columns)  # a row for each hypothesis
        if used.seen > cubes.seen.size or used.cells == cubes.cells.size:
            needed.seen, needed.cells, needed.heap = used.seen, used.cells + 1, used.heap + 1
            return False
        _note_cell(cubes, edge, 0, 0)
        total = _score_cell(search, waiting, cubes, number, 0, 0, ends)
        push(cubes.heap, used.heap, total, used.cells)
        used.cells += 1
        used.heap += 1
        number = np.int64(edge.next)
    return True


@inlined
def _search(search: SentenceSearch, waiting: Waiting | None, cubes: Cubes) -> int:
    """Search for the best translations of a sentence, with or without neural language models."""
    progress = search.progress[0]
    if begin_search(search):
        cubes.heads[:] = NONE
        cubes.used[0].edges = cubes.used[0].ranked = 0
    while progress.stack < search.sentence.length:
        if progress.phase == _ADD_EDGES:
            status = _add_edges_of_stack(search, cubes)
            if status != DONE:
                return status
            progress.phase = _BEGIN_CELLS
        elif progress.phase == _BEGIN_CELLS:
            if not _begin_cells(search, waiting, cubes, progress.stack + 1):
                return NEEDS_ROOM
            progress.phase = _FILL_STACK
        else:
            status = _fill_stack(search, waiting, cubes, progress.stack + 1)
            if status != DONE:
                return status
            if waiting is not None and waiting.used[0] > 0:
                return NEEDS_SCORES
            progress.stack += 1
            progress.phase = _ADD_EDGES
            progress.expanded = progress.pops = 0
    sort_stack(search)  # the complete hypotheses
    return DONE


# These are two functions because an argument that may be ``None`` cannot be borrowed.


@compiled
def search_cubes(search: SentenceSearch, cubes: Cubes) -> int:
    """Search for the best translations of a sentence, without neural language models.

    Returns:
        ``DONE``, or the need that the caller must meet before the next call.
    """
    search, cubes = borrowed((search, cubes))
    return _search(search, None, cubes)


@compiled
def search_cubes_with_networks(search: SentenceSearch, waiting: Waiting, cubes: Cubes) -> int:
    """Search for the best translations of a sentence, with neural language models.

    Returns:
        ``DONE``, or the need that the caller must meet before the next call.
    """
    search, waiting, cubes = borrowed((search, waiting, cubes))
    return _search(search, waiting, cubes)
