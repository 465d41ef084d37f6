"""Cube pruning without arrays: what `cube_pruning` does, to be read, and for tests to compare with.

It shares hypotheses, scores and stacks with `plain_search`; only what enters a stack differs.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass

from tests.support.plain_search import Hypothesis, PlainSearch, Stack

Cell = tuple[int, int]


@dataclass(frozen=True)
class _Edge:
    """The hypotheses of one coverage, and the options of one span that may come next.

    Args:
        rows: The hypotheses, by score and the cost of the jump to the span.
        columns: The table entries, by future score.
        start: First source word of the span.
        end: Its last source word.
    """

    rows: list[Hypothesis]
    columns: list[int]
    start: int
    end: int

    @property
    def covered(self) -> int:
        """What its new hypotheses cover, one bit for each source word."""
        return self.rows[0].covered | ((1 << (self.end + 1 - self.start)) - 1) << self.start


class PlainCubePruning(PlainSearch):
    """Searches sentences of one input by cube pruning."""

    def _fill(self, stacks: list[Stack]) -> None:
        edges: dict[int, list[_Edge]] = defaultdict(list)
        for number, stack in enumerate(stacks):
            self._take_best(edges[number], stack)
            stack.prune()
            for edge in self._edges(stack):
                edges[edge.covered.bit_count()].append(edge)

    def _edges(self, stack: Stack) -> list[_Edge]:
        rows = defaultdict(list)
        for hypothesis in stack.ranked():
            for start, end in self._next_spans(hypothesis):
                rows[hypothesis.covered, start, end].append(hypothesis)
        edges = []
        for (_, start, end), hypotheses in rows.items():
            # Moses leaves the order of the stack as it is where the jumps have no limit
            if self._settings.distortion_limit >= 0:
                hypotheses.sort(key=lambda one: -(one.score - self._jump_cost(one, start)))
            columns = self._entries(start, end)
            if columns:
                edges.append(_Edge(hypotheses, columns, start, end))
        return edges

    def _take_best(self, edges: list[_Edge], stack: Stack) -> None:
        """Take cells of the edges to a stack, the best first, up to the pop limit.

        A cell is looked at once the one to its left or the one above was taken. Beyond the limit
        only coverages with fewer hypotheses than the diversity asks for go on.
        """
        heap: list[tuple[float, int, _Edge, Cell, Hypothesis]] = []
        seen: set[tuple[int, Cell]] = set()

        def look_at(edge: _Edge, row: int, column: int) -> None:
            known = (id(edge), (row, column)) in seen
            if known or row >= len(edge.rows) or column >= len(edge.columns):
                return
            seen.add((id(edge), (row, column)))
            entry = edge.columns[column]
            hypothesis = self._applied(edge.rows[row], entry, edge.start, edge.end)
            # cells that tie are taken in the order in which they were looked at
            heapq.heappush(heap, (-hypothesis.total, len(seen), edge, (row, column), hypothesis))

        for edge in edges:
            look_at(edge, 0, 0)
        pops, entries = 0, Counter[int]()
        limit, diversity = (
            self._settings.cube_pruning_pop_limit,
            self._settings.cube_pruning_diversity,
        )
        while heap:
            _, _, edge, (row, column), hypothesis = heapq.heappop(heap)
            if pops >= limit and entries[hypothesis.covered] >= diversity:
                continue
            pops += 1
            is_new = stack.add(self._signature(hypothesis), hypothesis)
            entries[hypothesis.covered] += is_new
            look_at(edge, row, column + 1)
            look_at(edge, row + 1, column)
