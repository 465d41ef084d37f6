"""Sorts phrase pairs, so that equal beginnings are neighbours, and builds tries of prefixes.

A node of the trie is a prefix; its parent is the prefix without the last word. Nodes are numbered
by level (roots first), and within a level in the order of their parents. Therefore the nodes of a
level, the children of a node, and the children of consecutive nodes each form a range of numbers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phrasescore.compiled import borrowed, compiled
from phrasescore.words.token_sequences import TokenSequences, offsets_of

Numbers = NDArray[np.int64]


def pair_order(sources: TokenSequences, targets: TokenSequences) -> NDArray[np.int64]:
    """Sort pairs by source ids, then by target ids; return their row numbers. The sort is stable.

    Args:
        sources: N phrases.
        targets: N phrases.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> pair_order(from_lists([[7], [2, 3], [2]]), from_lists([[], [], []])).tolist()
    [2, 1, 0]
    """
    # The ids in keys are positive. Four zero bytes after a source therefore make the source
    # sort before every longer source that begins with it.
    end = bytes(4)
    sides = zip(_keys(sources), _keys(targets), strict=True)
    keys = [read + end + predicted for read, predicted in sides]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def cut_in_groups(order: Numbers, sources: TokenSequences, max_pairs: int) -> list[Numbers]:
    """Cut sorted pairs into groups, if possible without separating pairs of the same source.

    Args:
        order: (N,) the result of ``pair_order``, or a part of it.
        sources: The sources of all pairs.
        max_pairs: The maximum number of pairs in a group.

    Returns:
        The row numbers of each group; together, they are ``order``.
    """
    starts = np.flatnonzero(is_new(sources.select(order)))
    groups, begin = [], 0
    while begin < len(order):
        end = min(begin + max_pairs, len(order))
        if end < len(order):
            start = int(starts[np.searchsorted(starts, end, side="right") - 1])
            end = start if start > begin else end
        groups.append(order[begin:end])
        begin = end
    return groups


def cut_by_area(order: Numbers, lengths: Numbers, max_rows: int, max_area: int) -> list[Numbers]:
    """Cut rows into groups that stay small if all rows of a group are padded to its longest row.

    Args:
        order: (M,) row numbers, in the order in which they are cut.
        lengths: (N,) lengths of all rows.
        max_rows: The maximum number of rows in a group.
        max_area: The maximum size of a padded group, which is its number of rows times the length
            of its longest row. A group of a single row may be larger.

    Returns:
        The row numbers of each group; together, they are ``order``.

    >>> [rows.tolist() for rows in cut_by_area(np.arange(4), np.array([2, 2, 5, 1]), 9, 6)]
    [[0, 1], [2], [3]]
    """
    cuts, begin, longest = [], 0, 0
    for place, length in enumerate(lengths[order].tolist()):
        longest, rows = max(longest, length), place + 1 - begin
        if rows > 1 and (rows > max_rows or rows * longest > max_area):
            begin, longest = place, length
            cuts.append(place)
    return np.split(order, cuts) if len(order) else []


def is_new(phrases: TokenSequences) -> NDArray[np.bool_]:
    """Return (N,) bool: whether a phrase is the first or differs from the phrase before it.

    >>> from phrasescore.words.token_sequences import from_lists
    >>> is_new(from_lists([[2], [2], [2, 3]])).tolist()
    [True, False, True]
    """
    keys = _keys(phrases)
    new = np.ones(len(keys), np.bool_)
    new[1:] = [before != key for before, key in itertools.pairwise(keys)]
    return new


def _keys(phrases: TokenSequences) -> list[bytes]:
    """Return byte strings that sort like the id sequences (prefixes before longer sequences)."""
    # Big-endian bytes of positive numbers sort like the numbers. Ids are shifted by one because
    # `pair_order` marks the end of a source with a zero.
    ids = (phrases.tokens + 1).astype(">i4")
    data, offsets = ids.tobytes(), (ids.itemsize * phrases.offsets).tolist()
    return [data[begin:end] for begin, end in itertools.pairwise(offsets)]


@dataclass(frozen=True)
class PrefixTrie:
    """The distinct prefixes of N phrases; each phrase is below one of several roots.

    Args:
        levels: (L + 1,) nodes levels[l] to levels[l + 1] - 1 have l words; level 0 holds the roots.
        parents: (nodes,) the parent of each node, -1 for a root.
        words: (nodes,) the last word of each node, -1 for a root.
        roots: (nodes,) the root above each node.
        first_children: (nodes + 1,) the children of node n are first_children[n] to
            first_children[n + 1] - 1.
        ranks: (nodes,) the index of each node among the nodes of its level that have children, -1
            for a leaf. The rank of a root is its number, even if the root is a leaf.
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

    def path_words(
        self,
        edges: NDArray[np.float32],
        at_ends: NDArray[np.float32],
        stops: Numbers,
        found: NDArray[np.float64],
    ) -> None:
        """Write into ``found`` the values along each phrase's path, in the order of the words.

        Args:
            edges: (nodes,) a value for each node.
            at_ends: (nodes,) another value for each node.
            stops: (N,) the index in ``found`` after the values of each phrase. A phrase has one
                value more than it has words.
            found: The output.
        """
        nodes, at = self.ends, stops - 1  # (N,) each, one path for each phrase
        found[at] = at_ends[nodes]
        while len(nodes):  # one word further towards the roots each time
            is_word = self.parents[nodes] >= 0  # paths that have not reached a root
            nodes, at = nodes[is_word], at[is_word] - 1
            found[at] = edges[nodes]
            nodes = self.parents[nodes]


def build_trie(phrases: TokenSequences, roots: Numbers) -> PrefixTrie:
    """Build the trie of phrases that are sorted by root, then by their words.

    Args:
        phrases: N phrases, in the order of ``pair_order`` within a root.
        roots: (N,) the root of each phrase: ascending numbers from 0, without gaps.
    """
    N, longest = len(phrases), int(phrases.lengths.max(initial=0))
    max_nodes = (int(roots[-1]) + 1 if N else 0) + len(phrases.tokens)  # if nothing were shared
    # parents, words, levels and roots; nodes are numbered in the order of the phrases for now
    nodes = np.full((4, max_nodes), -1, np.int64)
    ends, path = np.zeros(N, np.int64), np.zeros(longest + 1, np.int64)
    count = _build(phrases.tokens, phrases.offsets, roots, nodes, ends, path)
    return _by_level(nodes[:, :count], ends, longest)


def _by_level(nodes: Numbers, ends: Numbers, longest: int) -> PrefixTrie:
    """Renumber the nodes by level; a stable sort keeps the order of parents within each level.

    Args:
        nodes: (4, nodes) parents, words, levels and roots, numbered in the order of the phrases.
        ends: (N,) the node of each phrase.
        longest: The number of words of the longest phrase.
    """
    before, words, level_of, roots = nodes
    count = len(before)
    kind = np.uint16 if longest < 1 << 16 else np.int64  # numpy sorts 16-bit numbers by counting
    order = np.argsort(level_of.astype(kind), kind="stable")
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    levels = offsets_of(np.bincount(level_of, minlength=longest + 1))  # (L + 1,)
    parents = before[order]
    below = parents >= 0
    parents[below] = number[parents[below]]  # old numbers to new ones
    children = np.bincount(parents[below], minlength=count)
    # children are in the order of their parents, so they are consecutive
    first_children = levels[1] + offsets_of(children)
    has = children > 0
    has[: levels[1]] = True  # a root keeps its number
    # ranks begin at 0 in each level: subtract the count of earlier levels
    seen = offsets_of(has)
    ranks = np.where(has, seen[:-1] - np.repeat(seen[levels[:-1]], np.diff(levels)), -1)
    return PrefixTrie(
        levels, parents, words[order], roots[order], first_children, ranks, number[ends]
    )


@compiled
def _build(
    tokens: NDArray[np.int32],
    offsets: Numbers,
    roots: Numbers,
    nodes: Numbers,
    ends: Numbers,
    path: Numbers,
) -> int:
    """Write ``nodes`` in the order of the phrases, and ``ends``; return the number of nodes.

    ``path`` holds the nodes of the current phrase's prefixes. Because phrases are sorted, the next
    phrase shares the first part of the path and no other nodes of the trie.
    """
    tokens, offsets, roots, nodes, ends, path = borrowed(
        (tokens, offsets, roots, nodes, ends, path)
    )
    N = len(ends)
    count = roots[N - 1] + 1 if N else 0
    for root in range(count):
        nodes[2, root] = 0
        nodes[3, root] = root
    for i in range(N):
        begin, length = offsets[i], offsets[i + 1] - offsets[i]
        known = 0  # prefixes that have nodes already: those of the phrase before
        if i and roots[i] == roots[i - 1]:
            before = offsets[i - 1]
            shorter = min(begin - before, length)
            while known < shorter and tokens[before + known] == tokens[begin + known]:
                known += 1
        path[0] = roots[i]
        for depth in range(known + 1, length + 1):
            nodes[0, count] = path[depth - 1]
            nodes[1, count] = tokens[begin + depth - 1]
            nodes[2, count] = depth
            nodes[3, count] = roots[i]
            path[depth] = count
            count += 1
        ends[i] = path[length]
    return int(count)
