"""Finding repeated phrases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.hashing import first_rows, phrase_digests
from phrasescore.words.token_sequences import from_lists

phrases = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=40)


@given(phrases)
def test_first_rows(sequences: list[list[int]]) -> None:
    """Equal sequences share their first row."""
    flat = from_lists(sequences)
    first = first_rows(phrase_digests(flat.tokens, flat.offsets))
    assert first.tolist() == [sequences.index(sequence) for sequence in sequences]
