"""Arrays grow with the content of a file, not with the counts in its header."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from moses_integration.language_model.automaton import AutomatonBuilder, NGrams
from moses_integration.language_model.back_off import read_language_model
from phrasescore.errors import LanguageModelError
from phrasescore.words.word_table import WordTable
from tests.support.language_models import TRIGRAMS

HEADER = "".join(f"ngram {order}=0\n" for order in range(2, 21))
SECTIONS = "".join(f"\\{order}-grams:\n\n" for order in range(2, 21))


@pytest.mark.parametrize(
    ("text", "most", "message"),
    [
        pytest.param(
            TRIGRAMS.replace("ngram 2=4", "ngram 2=" + "9" * 18),
            *(20e6, "promises 999,999,999,999,999,999 2-gram"),
            id="a promise",
        ),
        pytest.param(
            f"\\data\\\nngram 1=1\n{HEADER}\n\\1-grams:\n-1\ta\n\n{SECTIONS}" + "\n" * 3_000_000,
            *(100e6, "the file ends before"),
            id="empty lines",
        ),
    ],
)
def test_promises_and_empty_lines_take_no_memory(
    tmp_path: Path, text: str, most: float, message: str
) -> None:
    """Memory is allocated for the possible n-grams of the bytes."""
    path = tmp_path / "model.arpa"
    path.write_text(TRIGRAMS)
    read_language_model(path)  # compiles all functions
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(LanguageModelError, match=message):
            read_language_model(path)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", [2, 70, 205, 900])
def test_long_ngrams_find_room(order: int) -> None:
    """All suffixes of a long n-gram get memory, or the n-gram is refused."""
    zeros = np.zeros(3, np.float32)
    builder = AutomatonBuilder(zeros, zeros, 1, WordTable([b"<unk>", b"a", b"b"]))
    ngrams = NGrams(np.ones((1, order), np.int32), zeros[:1], zeros[:1])
    if order == 2:
        builder.add(ngrams, longest=True)
    else:
        with pytest.raises(LanguageModelError, match=r"has no .*-gram of its first"):
            builder.add(ngrams, longest=True)
