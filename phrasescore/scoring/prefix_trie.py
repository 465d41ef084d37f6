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

from phrasescore.compiled import compiled
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
        return _path_sums(self.parents, self.ends, edges, at_ends)

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
    last = -1 if ending is None else ending
    return PrefixTrie(*_build(phrases.tokens, phrases.offsets, roots, last))


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
def _build(tokens: Any, offsets: Any, roots: Any, ending: int) -> Any:
    N = len(offsets) - 1
    extra = 1 if ending >= 0 else 0
    n_roots = roots[N - 1] + 1 if N else 0
    most = n_roots + len(tokens) + N * extra
    longest = 0
    for i in range(N):
        longest = max(longest, offsets[i + 1] - offsets[i] + extra)
    # in the order of the phrases first
    parents, words = np.full(most, -1, np.int64), np.full(most, -1, np.int64)
    level_of, root_of = np.zeros(most, np.int64), np.zeros(most, np.int64)
    ends, path = np.zeros(N, np.int64), np.zeros(longest + 1, np.int64)
    count = n_roots
    for root in range(n_roots):
        root_of[root] = root
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
            parents[count] = path[depth - 1]
            words[count] = ending if depth == length + 1 else tokens[begin + depth - 1]
            level_of[count], root_of[count] = depth, roots[i]
            path[depth] = count
            count += 1
        ends[i] = path[length + extra]
    return _by_level(
        parents[:count], words[:count], level_of[:count], root_of[:count], ends, longest
    )


@compiled
def _by_level(
    parents: Any, words: Any, level_of: Any, root_of: Any, ends: Any, longest: int
) -> Any:
    """Number the nodes by level; the order within a level stays, so parents' order is kept."""
    count = len(parents)
    levels = np.zeros(longest + 2, np.int64)
    for node in range(count):
        levels[level_of[node] + 1] += 1
    levels = np.cumsum(levels)
    place = levels.copy()
    number = np.empty(count, np.int64)
    for node in range(count):
        number[node] = place[level_of[node]]
        place[level_of[node]] += 1
    new_parents, new_words = np.full(count, -1, np.int64), np.empty(count, np.int64)
    new_roots = np.empty(count, np.int64)
    children = np.zeros(count + 1, np.int64)
    for node in range(count):
        here = number[node]
        if parents[node] >= 0:
            new_parents[here] = number[parents[node]]
            children[new_parents[here]] += 1
        new_words[here], new_roots[here] = words[node], root_of[node]
    ranks, first_children = np.full(count, -1, np.int64), np.empty(count + 1, np.int64)
    following = levels[1]
    for level in range(longest + 1):
        rank = 0
        for node in range(levels[level], levels[level + 1]):
            first_children[node] = following
            following += children[node]
            if level == 0:
                ranks[node] = node
            elif children[node]:
                ranks[node] = rank
                rank += 1
    first_children[count] = following
    for i in range(len(ends)):
        ends[i] = number[ends[i]]
    return levels, new_parents, new_words, new_roots, first_children, ranks, ends


@compiled
def _path_sums(parents: Any, ends: Any, edges: Any, at_ends: Any) -> Any:
    sums = np.zeros(len(parents), np.float64)
    for node in range(len(parents)):
        if parents[node] >= 0:
            sums[node] = sums[parents[node]] + edges[node]
    found = np.empty(len(ends), np.float64)
    for i in range(len(ends)):
        found[i] = sums[ends[i]] + at_ends[ends[i]]
    return found


@compiled
def _path_words(parents: Any, ends: Any, edges: Any, at_ends: Any, stops: Any, found: Any) -> None:
    for i in range(len(ends)):
        node, at = ends[i], stops[i] - 1
        found[at] = at_ends[node]
        while parents[node] >= 0:
            at -= 1
            found[at] = edges[node]
            node = parents[node]
