"""The compiled choices against sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.generation.beam_search import best_words
from phrasescore.generation.sampling import draw_words


@given(st.integers(1, 300), st.integers(1, 12), st.integers(0, 10_000), st.booleans())
def test_best_words_are_the_first_of_a_sort(V: int, K: int, seed: int, equal: bool) -> None:
    """The best first, lower ids first among equals, fewer where most of them are impossible."""
    rng = np.random.default_rng(seed)
    ln_p = rng.normal(size=(3, V)).astype(np.float32)
    if equal:
        ln_p = np.round(ln_p)
    ln_p[1, rng.random(V) < 0.7] = -np.inf
    most = np.minimum(rng.integers(1, K + 1, 3), V)
    words, gains = np.empty((3, K), np.int64), np.empty((3, K), np.float32)
    ending = np.array([False, False, True])
    best_words(ln_p, most, ending, words, gains)
    for row in range(2):
        order = np.argsort(-ln_p[row], kind="stable")
        expected = [word for word in order if ln_p[row, word] > -np.inf][: most[row]]
        assert words[row, : len(expected)].tolist() == expected
        assert gains[row, : len(expected)].tolist() == ln_p[row, expected].tolist()
        assert (words[row, len(expected) :] == -1).all()
    assert words[2].tolist() == [0] + [-1] * (K - 1)
    assert gains[2, 0] == ln_p[2, 0]


def test_a_draw_is_where_the_number_falls() -> None:
    """Words take up the interval from 0 to 1 in their order; an impossible one has no part."""
    ln_p = np.log(np.array([[0.25, 1.0, 0.5, 0.25], [0.1, 0.2, 0.3, 0.4]], np.float32))
    ln_p[0, 1] = -np.inf
    numbers = np.array([0.0, 0.2499, 0.2501, 0.7499, 0.7501, 0.999999, 0.5])
    drawn = np.empty(7, np.int64)
    begins, ending = np.array([0, 6, 7]), np.array([False, True])
    draw_words(ln_p, begins, numbers, ending, np.float32(1.0), np.empty(4), drawn)
    assert drawn.tolist() == [0, 0, 2, 2, 3, 3, 0]
