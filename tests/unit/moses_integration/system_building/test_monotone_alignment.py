"""Monotone alignments of characters."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from moses_integration.system_building import word_aligners
from moses_integration.system_building.phrase_numbers import NumberedText
from moses_integration.system_building.word_aligners import align_monotonically
from phrasescore.errors import CorpusError


def aligned(tmp_path: Path, pairs: list[tuple[str, str]]) -> list[list[tuple[int, int]]]:
    """Return the links of each pair of words."""
    texts = []
    for place, name in enumerate(("source", "target")):
        lines = (" ".join(pair[place]) + "\n" for pair in pairs)
        (tmp_path / name).write_text("".join(lines), "utf-8")
        texts.append(NumberedText.read(tmp_path / name))
    links = align_monotonically(*texts)
    every = list(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
    return [every[begin:end] for begin, end in itertools.pairwise(links.offsets)]


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


def test_words_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many distinct words are refused, because their tables would not fit into memory."""
    monkeypatch.setattr(word_aligners, "_MAX_OPERATIONS", 10)
    with pytest.raises(CorpusError, match="distinct words are too many for the aligner monotone"):
        aligned(tmp_path, [("abcdef", "abcdef")])
