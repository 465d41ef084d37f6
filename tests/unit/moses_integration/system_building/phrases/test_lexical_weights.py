"""Lexical tables of a corpus small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

from moses_integration.system_building.lexical_probabilities import count_linked_words
from moses_integration.system_building.phrase_numbers import NumberedText
from moses_integration.system_building.word_alignment import Links
from tests.support.aligned_corpora import write_corpus
from tests.support.plain_phrase_table import Sentence


def test_by_hand(tmp_path: Path) -> None:
    """House is linked twice to maison and once to foyer; la is unlinked, so it counts for NULL."""
    corpus: list[Sentence] = [
        ([b"house"], [b"la", b"maison"], [(0, 1)]),
        ([b"house"], [b"maison"], [(0, 0)]),
        ([b"house"], [b"foyer"], [(0, 0)]),
        ([b"well"], [b"maison"], []),
    ]
    source, target, links = write_corpus(tmp_path, corpus)
    texts = NumberedText.read(source), NumberedText.read(target)
    counts = count_linked_words(*texts, [Links.read(links)])
    counts.write(tmp_path / "e2f", tmp_path / "f2e")
    assert (tmp_path / "e2f").read_text().split("\n") == [
        "house foyer 1.0000000",
        "house maison 0.6666667",
        "well NULL 1.0000000",
        "NULL la 1.0000000",
        "NULL maison 0.3333333",
        "",
    ]
    assert (tmp_path / "f2e").read_text().split("\n") == [
        "foyer house 0.3333333",
        "maison house 0.6666667",
        "NULL well 1.0000000",
        "la NULL 0.5000000",
        "maison NULL 0.5000000",
        "",
    ]
