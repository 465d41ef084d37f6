"""Every distinct prefix of some sorted phrases once, level by level.

A node is a prefix; its parent is the prefix without the last word. Nodes are numbered by level
(roots first), within a level by their parents, so that a level, the children of a node and the
children of neighbouring nodes are ranges of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.words.token_sequences import TokenSequences

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class PrefixTrie:
    """The distinct prefixes of N phrases, each phrase under one of several roots.

    Args:
        levels: (L + 1,) nodes levels[l] to levels[l + 1] have l words; those of level 0 are roots.
        parents: (nodes,) the parent of each, -1 for a root.
        words: (nodes,) the last word of each, -1 for a root.
        roots: (nodes,) the root above each.
        first_children: (nodes + 1,) the children of node n are first_children[n] to
            first_children[n + 1].
        ranks: (nodes,) its number among the nodes of its level that have children, -1 for a leaf;
            of a root its own number.
        ends: (N,) the node of each whole phrase.
    """

    levels: Numbers
    parents: Numbers
    words: Numbers
    roots: Numbers
    first_children: Numbers
    ranks: Numbers
    ends: Numbers

    @property
    def depth(self) -> int:
        """The number of words of the longest prefix."""
        return len(self.levels) - 2

    def __len__(self) -> int:
        return len(self.parents)

    def path_sums(
        self, edges: NDArray[np.float32], at_ends: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """(N,) the sum of ``edges`` on the way to each phrase's node and of ``at_ends`` there.

        Args:
            edges: (nodes,) a number for each node, 0 for roots.
            at_ends: (nodes,).
        """
        sums = np.zeros(len(self), np.float64)
        for level in range(1, len(self.levels) - 1):
            nodes = slice(self.levels[level], self.levels[level + 1])
            sums[nodes] = sums[self.parents[nodes]] + edges[nodes]
        return np.asarray(sums[self.ends] + at_ends[self.ends], np.float64)

    def path_words(
        self,
        edges: NDArray[np.float32],
        at_ends: NDArray[np.float32],
        stops: Numbers,
        found: NDArray[np.float64],
    ) -> None:
        """Write the numbers that `path_sums` adds up, in the order of the words.

        Args:
            edges: (nodes,) a number for each node.
            at_ends: (nodes,).
            stops: (N,) where in ``found`` the numbers of each phrase end, one more than its words.
            found: Any length, filled there.
        """
        _path_words(self.parents, self.ends, edges, at_ends, stops, found)


def build_trie(phrases: TokenSequences, roots: Numbers, *, ending: int | None = None) -> PrefixTrie:
    """Build the trie of phrases that are sorted, those of a root together.

    Args:
        phrases: N phrases, in the order of ``pair_order`` within a root.
        roots: (N,) the root of each, 0, 1 ... without gaps and never falling.
        ending: A word to read after each phrase; ``None`` for none.
    """
    lengths = phrases.offsets[1:] - phrases.offsets[:-1]
    N, extra = len(lengths), 0 if ending is None else 1
    most = (int(roots[-1]) + 1 if N else 0) + int(lengths.sum()) + N * extra
    longest = int(lengths.max(initial=0)) + (extra if N else 0)
    # in the order of the phrases first: parents, words, levels, roots
    nodes = np.full((4, most), -1, np.int64)
    ends, path = np.zeros(N, np.int64), np.zeros(longest + 1, np.int64)
    last = -1 if ending is None else ending
    count = _build(phrases.tokens, phrases.offsets, roots, last, nodes, ends, path)
    return _by_level(nodes[:, :count], ends, longest)


def _by_level(nodes: Numbers, ends: Numbers, longest: int) -> PrefixTrie:
    """Number the nodes by level; the order within a level stays, so parents' order is kept.

    Args:
        nodes: (4, nodes) parents, words, levels and roots, numbered in the order of the phrases.
        ends: (N,) the node of each phrase.
        longest: Words of the longest phrase.
    """
    before, words, level_of, roots = nodes
    count = len(before)
    kind = np.uint16 if longest < 1 << 16 else np.int64  # numpy sorts the short ones by counting
    order = np.argsort(level_of.astype(kind), kind="stable")
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    levels = np.zeros(longest + 2, np.int64)
    np.cumsum(np.bincount(level_of, minlength=longest + 1), out=levels[1:])
    parents = before[order]
    below = parents >= 0
    parents[below] = number[parents[below]]
    children = np.bincount(parents[below], minlength=count)
    first_children = np.empty(count + 1, np.int64)
    first_children[0] = levels[1]
    np.cumsum(children, out=first_children[1:])
    first_children[1:] += levels[1]
    has = children > 0
    has[: levels[1]] = True  # a root keeps its number
    seen = np.concatenate([[0], np.cumsum(has)])
    ranks = np.where(has, seen[:-1] - np.repeat(seen[levels[:-1]], np.diff(levels)), -1)
    return PrefixTrie(
        levels, parents, words[order], roots[order], first_children, ranks, number[ends]
    )


@compiled
def _common(tokens: Any, offsets: Any, left: int, right: int) -> int:
    """How many words two phrases begin with in common."""
    a, b = offsets[left], offsets[right]
    most = min(offsets[left + 1] - a, offsets[right + 1] - b)
    for i in range(most):
        if tokens[a + i] != tokens[b + i]:
            return i
    return int(most)


@compiled
def _build(
    tokens: Any, offsets: Any, roots: Any, ending: int, nodes: Any, ends: Any, path: Any
) -> int:
    """Write the nodes in the order of the phrases and their ends; return how many there are."""
    tokens, offsets, roots, nodes, ends, path = borrowed(
        (tokens, offsets, roots, nodes, ends, path)
    )
    N = len(ends)
    extra = 1 if ending >= 0 else 0
    count = roots[N - 1] + 1 if N else 0
    for root in range(count):
        nodes[2, root] = 0
        nodes[3, root] = root
    for i in range(N):
        begin, length = offsets[i], offsets[i + 1] - offsets[i]
        known = 0
        if i and roots[i] == roots[i - 1]:
            known = _common(tokens, offsets, i - 1, i)
        path[0] = roots[i]
        equal = known == length and i and known == offsets[i] - offsets[i - 1]
        for depth in range(known + 1, length + extra + 1):
            if extra and depth == length + 1 and equal and roots[i] == roots[i - 1]:
                continue  # the same phrase again: the path already has the node of its ending
            nodes[0, count] = path[depth - 1]
            nodes[1, count] = ending if depth == length + 1 else tokens[begin + depth - 1]
            nodes[2, count] = depth
            nodes[3, count] = roots[i]
            path[depth] = count
            count += 1
        ends[i] = path[length + extra]
    return int(count)


@compiled
def _path_words(parents: Any, ends: Any, edges: Any, at_ends: Any, stops: Any, found: Any) -> None:
    for i in range(len(ends)):
        node, at = ends[i], stops[i] - 1
        found[at] = at_ends[node]
        while parents[node] >= 0:
            at -= 1
            found[at] = edges[node]
            node = parents[node]
