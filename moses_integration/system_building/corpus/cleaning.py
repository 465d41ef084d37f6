"""Leaving out sentence pairs that cannot be aligned well, by the rules of clean-corpus-n.perl."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

from phrasescore.errors import SettingsError

# a phrase pair can be anywhere in a sentence pair: beyond this, a single one takes too much memory
MOST_WORDS = 2000


class Reason(Enum):
    """Why a pair is left out."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    UNEVEN = "of too uneven lengths"
    LONG_WORD = "with a word that is too long"


@dataclass(frozen=True)
class CleaningSettings:
    """The limits; the defaults are those that Moses's documentation uses.

    Args:
        longest_sentence: The most words of either side.
        ratio: How many times as many words as the other one side may have.
        longest_word: The most characters of a word.
    """

    longest_sentence: int = 80
    ratio: float = 9.0
    longest_word: int = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.longest_sentence <= MOST_WORDS:
            raise SettingsError(
                f"the longest sentence would have {self.longest_sentence} words, expected 1 to "
                f"{MOST_WORDS:,}"
            )


class Cleaner:
    """Decides about pairs, and counts.

    Args:
        settings: The limits; ``None`` leaves out nothing but empty pairs.
    """

    def __init__(self, settings: CleaningSettings | None) -> None:
        self._settings = settings
        self._read = 0
        self._left_out: Counter[Reason] = Counter()
        self._first: dict[Reason, int] = {}

    def keeps(self, source: list[bytes], target: list[bytes], line: int) -> bool:
        """Decide about one pair of sentences, given as words; count it.

        Args:
            source: The source words.
            target: The target words.
            line: The line it stands in, for the report.
        """
        self._read += 1
        reason = self._reason(source, target)
        if reason is not None:
            self._left_out[reason] += 1
            self._first.setdefault(reason, line)
        return reason is None

    def _reason(self, source: list[bytes], target: list[bytes]) -> Reason | None:
        if not source or not target:
            return Reason.EMPTY
        if self._settings is None:
            return None
        lengths = len(source), len(target)
        if max(lengths) > self._settings.longest_sentence:
            return Reason.TOO_LONG
        if max(lengths) / min(lengths) > self._settings.ratio:
            return Reason.UNEVEN
        longest = self._settings.longest_word
        if any(len(word) > longest and _characters(word) > longest for word in (*source, *target)):
            return Reason.LONG_WORD
        return None

    def report(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "pairs_read": self._read,
            "pairs_kept": self._read - sum(self._left_out.values()),
            "left_out": {
                reason.value: {"pairs": count, "first_line": self._first[reason]}
                for reason, count in self._left_out.items()
            },
        }


def _characters(word: bytes) -> int:
    return len(word.decode("utf-8", "replace"))
