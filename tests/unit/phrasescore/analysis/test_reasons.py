"""Reasons for disagreement that can be seen of a pair."""

from __future__ import annotations

import pytest

from phrasescore.analysis.scatter_results import SeenPair, described, reasons, shares
from phrasescore.table.phrase_table import Entry
from phrasescore.words.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("a b ||| A B ||| 1 ||| 0-0 1-1 ||| 9 9 2", {}),
        ("a b ||| A B ||| 1", {}),
        ("a ||| A ||| 1 ||| ||| 5 5 1", {"singleton": ""}),
        ("a ||| A ||| 1 ||| ||| 1 1", {}),
        ("a ||| A ||| 1 ||| ||| one", {}),
        ("a ||| A B ||| 1", {}),
        ("a ||| A B C ||| 1", {"length": "1:3"}),
        ("a b c d e ||| A B ||| 1", {"length": "5:2"}),
        ("in 1990 ||| en 1909 ||| 1", {}),
        ("in 1990 ||| en 1991 ||| 1", {"digits": ""}),
        ("1,000 men ||| 1 000 hommes ||| 1", {}),
        ("two ||| 2 ||| 1", {"digits": ""}),
        ("paris is ||| paris est ||| 1", {"copied": "1"}),
        ("on a 12 ||| on a 12 ||| 1", {}),
        ("a b c ||| A B C ||| 1 ||| 0-0", {"unaligned": "4/6"}),
        ("a b ||| A B ||| 1 ||| 0-0", {}),
        ("a b ||| A B C D ||| 1 ||| 0-0 1-0", {"unaligned": "3/6"}),
        ("a ||| A ||| 1 ||| 7-7", {"unaligned": "2/2"}),
        ("a , ||| A ||| 1", {"punctuation": ""}),
        ("&quot; a ||| \u00ab A ||| 1", {}),
        ("it &apos;s ||| c&apos; est ||| 1", {}),
        ("a . ||| A &#124; ||| 1", {"punctuation": ""}),
        ("<script> ||| <script> ||| 1", {"copied": "1"}),
    ],
)
def test_each_reason(columns: str, expected: dict[str, str]) -> None:
    """Nothing is found that is not there."""
    entry = Entry(*(column.strip().encode() for column in columns.split("|||")))
    assert reasons(SeenPair(entry)) == expected


def test_words_that_the_model_does_not_know() -> None:
    """Counted on both sides; factors as the model sees them."""
    known = Vocabulary.from_words([b"a", b"b"])
    entry = Entry(b"a|X z|X", b"b|X </s>|X y|X", b"1")
    pair = SeenPair(entry, known={"source": known, "target": known})
    assert reasons(pair)["unknown"] == "3"
    assert "unknown" not in reasons(SeenPair(Entry(b"a", b"b", b"1"), known={"source": known}))
    assert reasons(SeenPair(entry, 1, known={"source": known}))["unknown"] == "2"


def test_bytes_that_are_no_text() -> None:
    """Neither letters nor marks, and no reason to stop."""
    assert reasons(SeenPair(Entry(b"\xff\xfe a", b"A", b"1"))) == {}


def test_rules() -> None:
    """The left-hand side is no word, a gap is one."""
    entry = Entry(b"a [X][X] [X]", b"[X][X] A B C D [X]", b"1", b"0-1 1-0")
    assert reasons(SeenPair(entry, hierarchical=True)) == {"length": "2:5", "unaligned": "3/7"}


def test_reasons_in_a_list() -> None:
    """As one field; and how common each is."""
    found = [{"singleton": "", "length": "1:5"}, {"singleton": ""}]
    assert described(found[0]) == "singleton, length=1:5"
    assert described({}) == ""
    assert shares(found)["singleton"] == 1.0
    assert shares(found)["length"] == 0.5
    assert shares(found)["digits"] == 0.0
    assert set(shares([]).values()) == {0.0}
