"""The share of a table's words that a model knows."""

from __future__ import annotations

from pathlib import Path

from phrasescore.words.known_words import KnownWords, first_words, known_words, unknown_warning
from phrasescore.words.vocabulary import Vocabulary


def test_gaps_and_labels_are_no_words(tmp_path: Path) -> None:
    """In a table of rules, only the words count."""
    rule = b"[X][X] %s [X][X] [X] ||| [X][X] %s [X][X] [X] ||| 0.5\n"
    (tmp_path / "rules").write_bytes(rule % (b"de", b"of") * 6 + rule % (b"le", b"the") * 4)
    sides = {"source": Vocabulary.from_words([b"de", b"[X]"])}
    found = known_words(tmp_path / "rules", first_words(tmp_path / "rules"), sides)
    assert (found.share, found.problem) == (0.6, "")


def test_swapped_sides_differ_clearly() -> None:
    """Names and numbers that languages share do not make a model one of the other side."""
    assert not KnownWords("table", "target", 0.19, 0.21).is_swapped
    assert KnownWords("table", "target", 0.19, 0.6).is_swapped
    assert not KnownWords("table", "target", 0.6, 0.9).is_swapped


def test_many_unknown_words_are_told() -> None:
    """Swapped texts have fewer unknown pieces of words than unknown words, but enough to tell."""
    assert unknown_warning(0.3) == ""
    assert "does not know 38% of these words" in unknown_warning(0.1, 0.376)
