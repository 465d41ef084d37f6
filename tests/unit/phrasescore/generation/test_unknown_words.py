"""Which words stand for unknown ones."""

from __future__ import annotations

import numpy as np

from phrasescore.generation.translator import lexicon_digest, without_unknown

WORDS = [b"<unk>", b"le", b"<unk>"]
SOURCE = [b"the", b"zebra"]
# rows: three words and </s>; the last column is the source's </s>
ALIGNMENT = np.array(
    [[0.1, 0.2, 0.7], [0.9, 0.0, 0.1], [0.4, 0.3, 0.3], [0.0, 0.0, 1.0]], np.float32
)


def test_the_word_that_is_looked_at_most_stands_for_an_unknown_one() -> None:
    """Never the end of the source, and known words stay."""
    assert without_unknown(WORDS, SOURCE, ALIGNMENT, {}) == [b"zebra", b"le", b"the"]


def test_its_translation_where_the_lexicon_has_one() -> None:
    """Others are copied; what the lexicon says decides the digest."""
    lexicon = {b"zebra": "zèbre".encode()}
    replaced = without_unknown(WORDS, SOURCE, ALIGNMENT, lexicon)
    assert replaced == ["zèbre".encode(), b"le", b"the"]
    assert lexicon_digest(lexicon) != lexicon_digest({})
    assert lexicon_digest(lexicon) == lexicon_digest(dict(lexicon))
