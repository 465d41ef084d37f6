"""Which sentence pairs are left out."""

from __future__ import annotations

import pytest

from moses_integration.system_building.build_settings import CleaningSettings
from moses_integration.system_building.corpus.preparation import Cleaner, Reason
from phrasescore.errors import SettingsError

W = b"w"


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ([W], [W], None),
        ([W] * 80, [W] * 80, None),
        ([W] * 81, [W] * 80, Reason.TOO_LONG),
        ([W] * 80, [W] * 81, Reason.TOO_LONG),
        ([W] * 9, [W], None),
        ([W] * 10, [W], Reason.UNEVEN),
        ([W] * 2, [W] * 19, Reason.UNEVEN),
        ([], [W], Reason.EMPTY),
        ([W], [], Reason.EMPTY),
        ([b"x" * 1000], [W], None),
        ([b"x" * 1001], [W], Reason.LONG_WORD),
        (["é".encode() * 1000], [W], None),
    ],
)
def test_rules_of_clean_corpus_n(
    source: list[bytes], target: list[bytes], reason: Reason | None
) -> None:
    """1 to 80 words, at most 9 to 1, words of at most 1,000 characters; the limits are allowed."""
    cleaner = Cleaner(CleaningSettings())
    assert cleaner.keeps(source, target, 1) == (reason is None)
    left_out = {} if reason is None else {reason.value: {"pairs": 1, "first_line": 1}}
    assert cleaner.report()["left_out"] == left_out


def test_without_cleaning() -> None:
    """Without cleaning, only an empty sentence stands out."""
    cleaner = Cleaner(None)
    assert cleaner.keeps([W] * 500, [W], 1)
    assert not cleaner.keeps([], [W], 2)


def test_report() -> None:
    """The report counts pairs by reason and names the first line of each."""
    cleaner = Cleaner(CleaningSettings(longest_sentence=3))
    for line, length in enumerate([1, 4, 0, 5, 2], 1):
        cleaner.keeps([W] * length, [W], line)
    assert cleaner.report() == {
        "pairs_read": 5,
        "pairs_kept": 2,
        "left_out": {
            "too long": {"pairs": 2, "first_line": 2},
            "empty": {"pairs": 1, "first_line": 3},
        },
    }


def test_no_words_at_all() -> None:
    """A limit below one word makes no sense, one beyond 2,000 would not fit."""
    for limit in (0, 2001):
        with pytest.raises(SettingsError, match="expected 1 to 2,000"):
            CleaningSettings(longest_sentence=limit)
