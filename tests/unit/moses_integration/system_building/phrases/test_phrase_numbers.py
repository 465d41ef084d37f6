"""Phrases get numbers in the order of table lines."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, given, settings

from moses_integration.system_building.phrase_numbers import (
    PhraseNumbers,
    number_phrases,
    read_numbered_text,
)

# few words, so that phrases repeat and extend each other; bytes below and above space and |
WORDS = st.sampled_from([b"a", b"b", b"a!", b"a\x01", b"}", b"~~", b"!"])
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=7), min_size=1, max_size=6)


@given(sentences=SENTENCES, longest=st.integers(1, 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_order_is_that_of_lines(tmp_path: Path, sentences: list[list[bytes]], longest: int) -> None:
    """Number i is the i-th of all distinct `phrase ||| ` in byte order, for all occurrences."""
    (tmp_path / "text").write_bytes(b"".join(b" ".join(s) + b"\n" for s in sentences))
    text = read_numbered_text(tmp_path / "text")
    numbers = number_phrases(text, longest)
    lines = {
        b" ".join(sentence[i:j]) + b" ||| "
        for sentence in sentences
        for i in range(len(sentence))
        for j in range(i + 1, min(i + longest, len(sentence)) + 1)
    }
    number_of = {line: number for number, line in enumerate(sorted(lines))}
    assert len(numbers) == len(number_of)
    for start, sentence in zip(text.starts, sentences, strict=False):
        for i in range(len(sentence)):
            for words in range(1, min(longest, len(sentence) - i) + 1):
                line = b" ".join(sentence[i : i + words]) + b" ||| "
                assert numbers.at[start + i, words - 1] == number_of[line]
    for line, number in number_of.items():
        first, length = numbers.position[number], numbers.length[number]
        ids = text.ids[first : first + length].tolist()
        assert b" ".join(text.words[word] for word in ids) + b" ||| " == line


def test_save_and_load(tmp_path: Path) -> None:
    """Saved numbers are loaded unchanged."""
    (tmp_path / "text").write_bytes(b"a b a b c\n")
    numbers = number_phrases(read_numbered_text(tmp_path / "text"), 3)
    numbers.save(tmp_path / "numbers")
    loaded = PhraseNumbers.load(tmp_path / "numbers")
    assert loaded.longest == 3
    for name in ("at", "position", "length"):
        assert np.array_equal(getattr(loaded, name), getattr(numbers, name))
