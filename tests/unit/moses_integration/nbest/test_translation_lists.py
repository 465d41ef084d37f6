"""Translations of a model of sentences as an n-best list."""

from __future__ import annotations

import pytest

from moses_integration.nbest.format import nbest_lines, parse_entry
from phrasescore.errors import CorpusError
from phrasescore.generation.translator import Translated, Translation


def test_what_the_list_says() -> None:
    """Sentences count from 0; ln p, minus the words, and the total; an empty translation too."""
    best = Translation([b"la", b"maison"], 0, -1.5, -0.5)
    line = Translated(3, [b"the", b"house"], 0, [best, Translation([], 0, -9.0, -9.0)], None)
    first, second = nbest_lines(line).split(b"\n")[:-1]
    assert first == b"2 ||| la maison  ||| AttentionModel0= -1.5 WordPenalty0= -2 ||| -0.5"
    entry = parse_entry(second)
    assert (entry.words, entry.features["WordPenalty0"], entry.total) == (b"", (0.0,), -9.0)
    assert nbest_lines(Translated(4, [], 0, [], None)) == b""


def test_bars_have_no_place_in_a_list() -> None:
    """Moses could not read the line."""
    line = Translated(3, [b"a"], 0, [Translation([b"|||"], 0, -1.0, -1.0)], None)
    with pytest.raises(CorpusError, match=r"a translation of sentence 3 has \|\|\|"):
        nbest_lines(line)
