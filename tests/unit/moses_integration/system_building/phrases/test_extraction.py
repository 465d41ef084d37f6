"""Phrase extraction and orientation against their definitions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from moses_integration.system_building.extraction import (
    MASK_BITS,
    AlignedText,
    extract_phrase_pairs,
)
from moses_integration.system_building.phrase_numbers import (
    NumberedText,
    PhraseNumbers,
    number_phrases,
    read_numbered_text,
)
from moses_integration.system_building.word_alignment import read_links
from tests.support.aligned_corpora import ODD_WORDS, random_corpus, write_corpus
from tests.support.plain_phrase_table import Sentence, consistent_spans, orientation

Extracted = tuple[bytes, bytes, tuple[tuple[int, int], ...], str, str]
KINDS = ("mono", "swap", "other")


def aligned_text(folder: Path, corpus: list[Sentence], longest: int) -> AlignedText:
    source, target, links = write_corpus(folder, corpus)
    texts = read_numbered_text(source), read_numbered_text(target)
    return AlignedText(*texts, read_links(links), *(number_phrases(t, longest) for t in texts))


def spell(text: NumberedText, phrases: PhraseNumbers, number: int) -> bytes:
    begin = phrases.position[number]
    ids = text.ids[begin : begin + phrases.length[number]].tolist()
    return b" ".join(text.words[word] for word in ids)


def extracted(text: AlignedText, rows: int) -> Counter[Extracted]:
    found: Counter[Extracted] = Counter()
    longest = text.source_phrases.longest
    for _, counts in extract_phrase_pairs(text, (0, len(text.links)), rows):
        for pair, mask, kinds in zip(*(array.tolist() for array in counts), strict=True):
            bits = [
                bit for bit in range(longest**2) if mask[bit // MASK_BITS] >> bit % MASK_BITS & 1
            ]
            links = tuple(sorted((bit % longest, bit // longest) for bit in bits))
            assert sorted(kinds[:3]) == sorted(kinds[3:]) == [0, 0, 1]
            found[
                spell(text.source, text.source_phrases, pair >> 32),
                spell(text.target, text.target_phrases, pair & 0xFFFFFFFF),
                links,
                KINDS[kinds.index(1)],
                KINDS[kinds.index(1, 3) - 3],
            ] += 1
    return found


def by_definition(corpus: list[Sentence], longest: int) -> Counter[Extracted]:
    found: Counter[Extracted] = Counter()
    for source, target, links in corpus:
        shape = len(source), len(target)
        for s1, s2, t1, t2 in consistent_spans(*shape, links, longest):
            inside = ((s - s1, t - t1) for s, t in links if s1 <= s <= s2 and t1 <= t <= t2)
            found[
                b" ".join(source[s1 : s2 + 1]),
                b" ".join(target[t1 : t2 + 1]),
                tuple(sorted(inside)),
                orientation(links, shape, (s1 - 1, t1 - 1), (s2 + 1, t1 - 1)),
                orientation(links, shape, (s2 + 1, t2 + 1), (s1 - 1, t2 + 1)),
            ] += 1
    return found


@pytest.mark.parametrize(("seed", "longest"), [(1, 1), (2, 3), (3, 7), (4, 9), (5, 12)])
@pytest.mark.parametrize("rows", [1, 100_000])
def test_random_corpora(tmp_path: Path, seed: int, longest: int, rows: int) -> None:
    """Pairs, links and orientations follow the definitions, for all buffer sizes."""
    corpus = random_corpus(seed, 30, ODD_WORDS, 12)
    text = aligned_text(tmp_path, corpus, longest)
    assert extracted(text, rows) == by_definition(corpus, longest)


def test_a_small_example(tmp_path: Path) -> None:
    """An example with one swap and one unlinked word gives the pairs found by hand.

    ``la maison bleue`` / ``the blue house``, where ``la`` has no link.
    """
    corpus = [(b"la maison bleue".split(), b"the blue house".split(), [(1, 2), (2, 1)])]
    found = extracted(aligned_text(tmp_path, corpus, 3), 100)
    assert set(found) == {
        (b"maison", b"house", ((0, 0),), "swap", "other"),
        (b"la maison", b"house", ((1, 0),), "swap", "other"),
        (b"bleue", b"blue", ((0, 0),), "other", "swap"),
        (b"bleue", b"the blue", ((0, 1),), "other", "swap"),
        (b"maison bleue", b"blue house", ((0, 1), (1, 0)), "other", "mono"),
        (b"maison bleue", b"the blue house", ((0, 2), (1, 1)), "other", "mono"),
        (b"la maison bleue", b"blue house", ((1, 1), (2, 0)), "other", "mono"),
        (b"la maison bleue", b"the blue house", ((1, 2), (2, 1)), "mono", "mono"),
    }
    assert set(found.values()) == {1}


def test_no_link_no_pair(tmp_path: Path) -> None:
    """A sentence pair without links gives no phrase pair."""
    text = aligned_text(tmp_path, [([b"a"], [b"b"], []), ([b"a"], [b"b"], [(0, 0)])], 2)
    assert sum(extracted(text, 10).values()) == 1
