"""N-best lists of a sentence model's translations."""

from __future__ import annotations

import pytest

from moses_integration.nbest.format import nbest_lines, parse_entry
from phrasescore.errors import CorpusError
from phrasescore.generation.translator import Translated, Translation


def test_what_the_list_says() -> None:
    """Lines have the sentence from 0, ln p, minus the number of words, and the total."""
    best = Translation([b"la", b"maison"], 0, -1.5, -0.5)
    line = Translated(3, [b"the", b"house"], 0, [best, Translation([], 0, -9.0, -9.0)], None)
    first, second = nbest_lines(line).split(b"\n")[:-1]
    assert first == b"2 ||| la maison  ||| AttentionModel0= -1.5 WordPenalty0= -2 ||| -0.5"
    entry = parse_entry(second)
    assert (entry.words, entry.features["WordPenalty0"], entry.total) == (b"", (0.0,), -9.0)
    assert nbest_lines(Translated(4, [], 0, [], None)) == b""


def test_bars_have_no_place_in_a_list() -> None:
    """Words with bars are refused, because Moses could not read the line."""
    line = Translated(3, [b"a"], 0, [Translation([b"|||"], 0, -1.0, -1.0)], None)
    with pytest.raises(CorpusError, match=r"a translation of sentence 3 has \|\|\|"):
        nbest_lines(line)
