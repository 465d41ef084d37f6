"""N-best lists of a sentence model's translations."""

from __future__ import annotations

import pytest

from moses_integration.nbest.format import nbest_lines
from phrasescore.errors import CorpusError
from phrasescore.generation.translator import Translated, Translation


def test_bars_have_no_place_in_a_list() -> None:
    """Words with bars are refused, because Moses could not read the line."""
    line = Translated(3, [b"a"], 0, [Translation([b"|||"], 0, -1.0, -1.0)], None)
    with pytest.raises(CorpusError, match=r"a translation of sentence 3 has \|\|\|"):
        nbest_lines(line)
