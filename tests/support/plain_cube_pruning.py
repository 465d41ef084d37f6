"""Cube pruning like `cube_pruning` but without arrays, to read and to compare with.

Hypotheses, scores and stacks are as in `plain_search`; only the choice of hypotheses differs.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass

from tests.support.plain_search import Hypothesis, PlainSearch, Stack

Cell = tuple[int, int]


@dataclass(frozen=True)
class _Edge:
    """The hypotheses of one coverage, and the translation options of one next span.

    Args:
        rows: The hypotheses, sorted by score minus the cost of the jump to the span; without a
            distortion limit, in the order of the stack.
        columns: The table entries, sorted by future score.
        start: The first source word of the span.
        end: The last source word of the span.
    """

    rows: list[Hypothesis]
    columns: list[int]
    start: int
    end: int

    @property
    def covered(self) -> int:
        """The coverage of the new hypotheses, one bit for each source word."""
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
            # without a distortion limit, Moses keeps the order of the stack
            if self._settings.distortion_limit >= 0:
                hypotheses.sort(key=lambda one: -(one.score - self._jump_cost(one, start)))
            columns = self._entries(start, end)
            if columns:
                edges.append(_Edge(hypotheses, columns, start, end))
        return edges

    def _take_best(self, edges: list[_Edge], stack: Stack) -> None:
        """Pop cells of the edges into a stack, the best first, up to the pop limit.

        A cell combines a row and a column of an edge. It is pushed when the cell to its left or the
        cell above is popped. Beyond the limit, only cells for coverages with fewer hypotheses than
        the diversity setting are used.
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
            # cells that tie are popped in the order in which they were pushed
            order = -self._expected_total(hypothesis)
            heapq.heappush(heap, (order, len(seen), edge, (row, column), hypothesis))

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

    def _expected_total(self, hypothesis: Hypothesis) -> float:
        """Return the total by which cells are popped."""
        return hypothesis.total
