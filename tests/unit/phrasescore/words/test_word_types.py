"""Distinct words and their numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.word_types import WordTypes


@given(st.lists(st.lists(st.binary(max_size=6), max_size=30), max_size=4))
def test_numbers_are_those_of_a_dictionary(calls: list[list[bytes]]) -> None:
    """Words get the numbers that a Python dictionary filled in the same order would give."""
    types = WordTypes()
    expected: dict[bytes, int] = {}
    for words in calls:
        numbers = [expected.setdefault(word, len(expected)) for word in words]
        assert types.number_all(words).tolist() == numbers
    assert types.words() == list(expected)
    assert len(types) == len(expected)


def test_growth() -> None:
    """Numbers survive the growth of the table, and words not in it are found absent."""
    types = WordTypes()
    words = [b"w%d" % (i * i) for i in range(30_000)]
    for begin in range(0, len(words), 7000):
        types.number_all(words[begin : begin + 7000])
    data = b"w4w9x"
    begins, ends = np.array([0, 2, 4]), np.array([2, 4, 5])
    assert types.find(np.frombuffer(data, np.uint8), begins, ends).tolist() == [2, 3, -1]
    assert types.words() == words
