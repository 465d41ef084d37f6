"""Finding repeated phrases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.words.hashing import first_rows, pair_digests, phrase_digests
from phrasescore.words.token_sequences import from_lists

phrases = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=40)


@given(phrases)
def test_first_rows(sequences: list[list[int]]) -> None:
    """Equal sequences share their first row."""
    flat = from_lists(sequences)
    first = first_rows(phrase_digests(flat.tokens, flat.offsets))
    assert first.tolist() == [sequences.index(sequence) for sequence in sequences]


def test_digests_tell_lengths_and_order_apart() -> None:
    """If phrases differ in length, order or one word, both halves of their digests differ."""
    flat = from_lists([[], [0], [0, 0], [1, 2], [2, 1], [1], [2], [12]])
    digests = phrase_digests(flat.tokens, flat.offsets)
    for half in (0, 1):
        assert len(set(digests[:, half].tolist())) == len(flat)


def test_pair_digests_know_the_sides() -> None:
    """Swapping the sides of a pair changes its digest."""
    flat = from_lists([[1], [2]])
    digests = phrase_digests(flat.tokens, flat.offsets)
    pairs = pair_digests(digests, digests[::-1].copy())
    same = pair_digests(digests, digests)
    assert len(set(map(bytes, [*pairs, *same]))) == 4


@pytest.mark.parametrize("half", [0, 1])
def test_digest_bits_are_even(half: int) -> None:
    """Over many phrases every bit of a digest is set about half of the time."""
    flat = from_lists([[i % 100, i // 100] for i in range(10_000)])
    bits = np.unpackbits(phrase_digests(flat.tokens, flat.offsets)[:, half].copy().view(np.uint8))
    share = bits.reshape(10_000, 64).mean(axis=0)
    # the shares of 10,000 fair coins are within 5 standard deviations of 0.005
    assert np.abs(share - 0.5).max() < 0.025
