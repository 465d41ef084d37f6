"""Monotone alignments of characters."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from moses_integration.system_building import word_aligners
from moses_integration.system_building.phrase_numbers import NumberedText, read_numbered_text
from moses_integration.system_building.word_aligners import align_monotonically
from phrasescore.errors import CorpusError


def aligned(tmp_path: Path, pairs: list[tuple[str, str]]) -> list[list[tuple[int, int]]]:
    """Return the links of each pair of words."""
    links, offsets = align_monotonically(*texts(tmp_path, pairs))
    every = [(int(s), int(t)) for s, t in links.T]
    return [every[begin:end] for begin, end in itertools.pairwise(offsets)]


def texts(tmp_path: Path, pairs: list[tuple[str, str]]) -> list[NumberedText]:
    for place, name in enumerate(("source", "target")):
        lines = (" ".join(pair[place]) + "\n" for pair in pairs)
        (tmp_path / name).write_text("".join(lines), "utf-8")
    return [read_numbered_text(tmp_path / name) for name in ("source", "target")]


def test_links_never_cross_and_equal_characters_are_linked(tmp_path: Path) -> None:
    """Links never cross; only inserted or deleted characters have no link."""
    found = aligned(tmp_path, [("hovse", "house"), ("selfe", "self"), ("abc", "abxc")] * 5)
    assert found[0] == [(place, place) for place in range(5)]
    assert found[1] == [(place, place) for place in range(4)]
    assert found[2] == [(0, 0), (1, 1), (2, 3)]


def test_it_learns_which_characters_correspond(tmp_path: Path) -> None:
    """It aligns two alphabets without common characters, and two characters with one."""
    words = ["aba", "bab", "aabb", "abab", "bbaa", "cab", "bca", "ccab", "acb"]
    spelt = [word.replace("a", "α").replace("b", "β").replace("c", "γδ") for word in words]
    found = aligned(tmp_path, list(zip(words, spelt, strict=True)) * 3)
    assert found[0] == [(0, 0), (1, 1), (2, 2)]
    # c is linked to one of its two letters, and the other links are correct
    assert [link for link in found[5] if link[0]] == [(1, 2), (2, 3)]


def test_expected_counts_are_those_of_all_paths(tmp_path: Path) -> None:
    """Forward-backward counts equal those over all sequences of operations."""
    source, target = texts(tmp_path, [("ab", "xyx")])
    rng = np.random.default_rng(1)
    prob = rng.uniform(0.1, 1.0, (len(source.words), len(target.words)))
    prob /= prob.sum()
    arrays = source.ids, source.starts, target.ids, target.starts
    found = word_aligners._expected_counts(arrays, prob, np.empty((2, 3, 4)))
    s, t = source.sentence(0), target.sentence(0)
    expected, total = np.zeros_like(prob), 0.0
    for length in range(3, 6):
        for steps in itertools.product(((1, 1), (1, 0), (0, 1)), repeat=length):
            if tuple(map(sum, zip(*steps, strict=True))) != (2, 3):
                continue
            i = j = 0
            operations = []
            for down, right in steps:
                operations.append((s[i] if down else 0, t[j] if right else 0))
                i, j = i + down, j + right
            weight = np.prod([prob[operation] for operation in operations])
            total += weight
            for operation in operations:
                expected[operation] += weight
    np.testing.assert_allclose(found, expected / total, rtol=1e-12)


def test_words_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many distinct words are refused, because their tables would not fit into memory."""
    monkeypatch.setattr(word_aligners, "_MAX_OPERATIONS", 10)
    with pytest.raises(CorpusError, match="distinct words are too many for the aligner monotone"):
        aligned(tmp_path, [("abcdef", "abcdef")])
