"""Word tables: ids in order of arrival, growth, lookup."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.word_table import WordTable

WORDS = st.lists(st.binary(min_size=0, max_size=12), max_size=200)


@given(WORDS)
def test_ids_follow_the_order_of_arrival(words: list[bytes]) -> None:
    """Ids equal those of a dictionary filled in the same order, for all bytes."""
    table = WordTable()
    expected: dict[bytes, int] = {}
    for word in words:
        assert table.add_all([word]).tolist() == [expected.setdefault(word, len(expected))]
    assert len(table) == len(expected)
    assert [table.word(number) for number in range(len(table))] == list(expected)


def test_growth() -> None:
    """Ids are kept when the table grows, and missing words are not found."""
    table = WordTable()
    words = [b"w%d" % (i * i) for i in range(30_000)]
    for begin in range(0, len(words), 7000):
        table.add_all(words[begin : begin + 7000])
    data = np.frombuffer(b"w4w9x", np.uint8)
    begins, ends = np.array([0, 2, 4]), np.array([2, 4, 5])
    assert table.find_spans(data, begins, ends).tolist() == [2, 3, -1]
    assert table.words() == words
