"""Pools of candidates: merging rounds, duplicates, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phrasescore.errors import NBestError
from tuning.optimizers.candidate_pool import CandidatePool

ROUND = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-2, 2)), max_size=30)


def arrays_of(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrays of candidates (sentence, two features), with their numbers as statistics."""
    rows = sorted(rows, key=lambda row: row[0])
    sentences = np.array([row[0] for row in rows], np.int32)
    features = np.array([row[1:] for row in rows], np.float32).reshape(-1, 2)
    statistics = np.arange(9 * len(rows), dtype=np.int32).reshape(-1, 9)
    return sentences, features, statistics


@given(st.lists(ROUND, max_size=4))
def test_rounds_are_merged_as_a_dictionary_would(rounds: list[list[tuple[int, int, int]]]) -> None:
    """Each distinct feature vector of a sentence is kept once, in the order found."""
    pool = CandidatePool(4, 2, 9)
    plain: list[dict[tuple[float, ...], list[int]]] = [{} for _ in range(4)]
    for rows in rounds:
        added = arrays_of(rows)
        before = len(pool)
        new = pool.add(*added)
        zipped = zip(added[0], added[1].tolist(), added[2], strict=True)
        for sentence, features, statistics in zipped:
            plain[sentence].setdefault(tuple(features), statistics.tolist())
        assert new == len(pool) - before
    arrays = pool.arrays
    for sentence, candidates in enumerate(plain):
        part = slice(arrays.starts[sentence], arrays.starts[sentence + 1])
        assert arrays.features[:, part].T.tolist() == [list(key) for key in candidates]
        assert arrays.statistics[part].tolist() == list(candidates.values())
    assert pool.empty_sentences.tolist() == [i for i, found in enumerate(plain) if not found]


def test_minus_zero_is_zero() -> None:
    """Candidates with -0 and 0 as a feature are equal."""
    pool = CandidatePool(1, 1, 9)
    rows = np.zeros((2, 9), np.int32)
    pool.add(np.zeros(2, np.int32), np.array([[0.0], [-0.0]], np.float32), rows)
    assert len(pool) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_must_be_finite(value: float) -> None:
    """A feature that is not finite is refused with its sentence; the pool is unchanged."""
    pool = CandidatePool(3, 2, 9)
    features = np.array([[1, 2], [3, value]], np.float32)
    with pytest.raises(NBestError, match=r"sentence 2\) has a feature value that is not finite"):
        pool.add(np.array([0, 2], np.int32), features, np.zeros((2, 9), np.int32))
    assert len(pool) == 0


def test_a_sentence_of_a_whole_book_is_refused() -> None:
    """More words than a statistic can hold are refused instead of overflowing."""
    pool = CandidatePool(1, 1, 9)
    statistics = np.full((1, 9), 40_000, np.int32)
    with pytest.raises(NBestError, match="too long to be a sentence"):
        pool.add(np.zeros(1, np.int32), np.zeros((1, 1), np.float32), statistics)
