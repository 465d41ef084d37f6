"""Sorted pairs, groups, and tries."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.scoring.prefix_trie import (
    PrefixTrie,
    build_trie,
    cut_by_area,
    cut_in_groups,
    pair_order,
)
from phrasescore.words.token_sequences import from_lists

PHRASES = st.lists(st.lists(st.integers(1, 3), max_size=4), min_size=1, max_size=30)


def prefix(trie: PrefixTrie, node: int) -> list[int]:
    words = []
    while trie.parents[node] >= 0:
        words.append(int(trie.words[node]))
        node = int(trie.parents[node])
    return words[::-1]


@given(PHRASES, PHRASES)
def test_pairs_are_sorted_as_lists_are(sources: list[list[int]], targets: list[list[int]]) -> None:
    """Pairs are sorted like Python lists of (source, target), stably."""
    count = min(len(sources), len(targets))
    pairs = list(zip(sources[:count], targets[:count], strict=True))
    order = pair_order(from_lists(sources[:count]), from_lists(targets[:count]))
    assert order.tolist() == sorted(range(count), key=lambda row: pairs[row])


@given(PHRASES, st.integers(1, 9))
def test_groups_are_whole_and_small(sources: list[list[int]], most: int) -> None:
    """Groups are contiguous and small, and split only sources that are larger than a group."""
    sources.sort()
    groups = cut_in_groups(np.arange(len(sources)), from_lists(sources), most)
    assert np.concatenate(groups).tolist() == list(range(len(sources)))
    for group in groups:
        assert 0 < len(group) <= most
        start = int(group[0])
        if start and sources[start] == sources[start - 1]:
            first = sources.index(sources[start])
            assert sources.count(sources[start]) > most or start - first >= most


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 9), st.integers(1, 60))
def test_groups_are_small_when_they_are_padded(lengths: list[int], most: int, area: int) -> None:
    """Groups are contiguous, and only a single row may be longer than allowed."""
    order = np.arange(len(lengths))
    groups = [group.tolist() for group in cut_by_area(order, np.array(lengths), most, area)]
    assert [row for group in groups for row in group] == order.tolist()
    for group in groups:
        rows, stop = len(group), group[-1] + 1
        assert rows == 1 or (rows <= most and rows * max(lengths[row] for row in group) <= area)
        if stop < len(lengths):  # one more row would be too many
            longest = max(lengths[group[0] : stop + 1])
            assert rows == most or (rows + 1) * longest > area


@given(PHRASES)
def test_each_distinct_prefix_is_one_node(phrases: list[list[int]]) -> None:
    """Nodes are the distinct prefixes, level by level; children of neighbours are adjacent."""
    phrases.sort()
    trie = build_trie(from_lists(phrases), np.zeros(len(phrases), np.int64))
    expected = {tuple(phrase[:length]) for phrase in phrases for length in range(len(phrase) + 1)}
    found = [prefix(trie, node) for node in range(len(trie))]
    assert len(found) == len(expected) and set(map(tuple, found)) == expected
    assert [prefix(trie, int(end)) for end in trie.ends] == phrases
    for level in range(trie.depth + 1):
        nodes = range(trie.levels[level], trie.levels[level + 1])
        assert all(len(found[node]) == level for node in nodes)
        if level:
            inner = [trie.ranks[node] for node in nodes if trie.ranks[node] >= 0]
            assert inner == list(range(len(inner)))
    for node in range(len(trie)):
        children = range(trie.first_children[node], trie.first_children[node + 1])
        assert all(trie.parents[child] == node for child in children)
        assert not children or trie.ranks[node] >= 0
    assert trie.first_children[-1] == len(trie)


@given(PHRASES)
def test_the_values_of_a_path(phrases: list[list[int]]) -> None:
    """A phrase's values are the numbers on its path and the number at its end."""
    phrases.sort()
    roots = np.cumsum([i > 0 and phrases[i] != phrases[i - 1] for i in range(len(phrases))])
    trie = build_trie(from_lists(phrases), roots.astype(np.int64))
    edges = np.where(trie.parents < 0, 0, 10.0 ** np.maximum(trie.words, 0)).astype(np.float32)
    stops = np.cumsum([len(phrase) + 1 for phrase in phrases])
    words = np.full(stops[-1], np.nan)
    trie.path_words(edges, np.full(len(trie), 0.5, np.float32), stops, words)
    assert words.tolist() == [x for phrase in phrases for x in [*(10.0**w for w in phrase), 0.5]]
    assert trie.roots[trie.ends].tolist() == roots.tolist()
