"""Words as numbers: ids by order of arrival, growth, look-up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.word_table import WordTable

WORDS = st.lists(st.binary(min_size=0, max_size=12), max_size=200)


@given(WORDS)
def test_ids_follow_the_order_of_arrival(words: list[bytes]) -> None:
    """Ids are those of a dictionary filled in the same order, whatever the bytes."""
    table = WordTable()
    expected: dict[bytes, int] = {}
    for word in words:
        assert table.add(word) == expected.setdefault(word, len(expected))
    assert len(table) == len(expected)
    assert [table.word(number) for number in range(len(table))] == list(expected)


@given(WORDS, st.binary(max_size=12))
def test_a_word_never_added_has_no_id(words: list[bytes], other: bytes) -> None:
    """A look-up finds exactly the words that were added, and adds nothing."""
    table = WordTable(words)
    assert all(table.id_of(word) is not None for word in words)
    assert (table.id_of(other) is not None) == (other in words)
    assert len(table) == len(set(words))
