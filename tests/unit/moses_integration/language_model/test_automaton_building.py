"""Arrays grow with the content of a file, not with the counts in its header."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from moses_integration.language_model.automaton import AutomatonBuilder, NGrams
from moses_integration.language_model.back_off import read_language_model
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordTable
from tests.support.language_models import TRIGRAMS


def zeros(size: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.zeros(size, np.float32)


@contextmanager
def memory_below(most: float, folder: Path) -> Iterator[None]:
    """Check that the block allocates less than ``most`` bytes; compile all functions before."""
    (folder / "small.arpa").write_text(TRIGRAMS)
    read_language_model(folder / "small.arpa")
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_promises_take_no_memory(tmp_path: Path) -> None:
    """A small file needs little memory, whatever counts its header has."""
    path = tmp_path / "model.arpa"
    path.write_text(TRIGRAMS.replace("ngram 2=4", "ngram 2=" + "9" * 18))
    expected = pytest.raises(LanguageModelError, match="promises 999,999,999,999,999,999 2-gram")
    with memory_below(20e6, tmp_path), expected:
        read_language_model(path)


def test_empty_lines_take_no_memory(tmp_path: Path) -> None:
    """Memory is allocated for the possible n-grams of the bytes, not for lines."""
    path = tmp_path / "model.arpa"
    header = "".join(f"ngram {order}=0\n" for order in range(2, 21))
    sections = "".join(f"\\{order}-grams:\n\n" for order in range(2, 21))
    text = f"\\data\\\nngram 1=1\n{header}\n\\1-grams:\n-1\ta\n\n{sections}"
    path.write_text(text + "\n" * 3_000_000)
    expected = pytest.raises(LanguageModelError, match="the file ends before")
    with memory_below(100e6, tmp_path), expected:
        read_language_model(path)


@pytest.mark.parametrize("order", [2, 70, 205, 900])
def test_long_ngrams_find_room(order: int) -> None:
    """All suffixes of a long n-gram get memory, or the n-gram is refused."""
    builder = AutomatonBuilder(zeros(3), zeros(3), 1, WordTable([b"<unk>", b"a", b"b"]))
    ngrams = NGrams(np.ones((1, order), np.int32), zeros(1), zeros(1))
    if order == 2:
        builder.add(ngrams, longest=True)
    else:
        with pytest.raises(LanguageModelError, match=r"has no .*-gram of its first"):
            builder.add(ngrams, longest=True)
