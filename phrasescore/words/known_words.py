"""Checks that a model knows the words in the first lines of a phrase table.

A model of the wrong language causes no error, although nearly every word is ``<unk>`` for it.
Numbers and punctuation are the same in many languages, so only words with a letter count; labels
and gaps of rules, such as ``[X]``, do not count.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import PIPES, Side, is_bracketed, phrase_tokens
from phrasescore.words.vocabulary import Vocabulary

_LINES = 100_000
MIN_SHARE = 0.5  # a model that knows a smaller share can hardly tell good translations from bad
# With byte pairs, many pieces of another language are known: of Kabyle's, 38 % are unknown to a
# model that writes Basque. Little text in a language of many forms may have as many.
_MANY_UNKNOWN = 0.35
_CLEAR = 0.2  # languages share names and numbers, so a smaller difference may be chance


@dataclass(frozen=True)
class KnownWords:
    """The share of a table's first words that a model knows, on the side with the lower share.

    Args:
        table: The table.
        side: The side with the lower share.
        share: The known share of this side's tokens with a letter, from 0 to 1; 1 without tokens.
        swapped: The share of the other side's tokens that the vocabulary of ``side`` contains.
    """

    table: str
    side: Side
    share: float
    swapped: float

    @property
    def is_swapped(self) -> bool:
        """Whether the vocabulary seems to belong to the other side."""
        return self.share < min(MIN_SHARE, self.swapped - _CLEAR)

    @property
    def problem(self) -> str:
        """The problem, if any, as a part of a sentence."""
        if self.share >= MIN_SHARE:
            return ""
        said = (
            f"the model knows {self.share:.0%} of the words on the {self.side} side of {self.table}"
        )
        if self.is_swapped:
            return f"{said}, but {self.swapped:.0%} of the words on the other side"
        return said

    @property
    def remedy(self) -> str:
        """The remedy for the problem."""
        if self.is_swapped:
            return f"give a model that was trained on the {self.side} side of the parallel text"
        return "check that its training text has the language, tokenisation and case of the table"


def unknown_warning(*unknown: float) -> str:
    """Return a warning if a model knows too few words of a text, otherwise an empty string.

    Args:
        unknown: The share of unknown tokens, of one side or of each side.
    """
    if max(unknown) <= _MANY_UNKNOWN:
        return ""
    return (
        f"warning: the model does not know {max(unknown):.0%} of these words, so its scores may "
        "mean little: check that language, direction, tokenisation and case are those of its "
        "training text"
    )


def known_words(
    table: str | Path,
    counts: Mapping[Side, Counter[bytes]],
    sides: Mapping[Side, Vocabulary],
    factor: int = 0,
) -> KnownWords:
    """Look the words of a table's first lines up in the vocabularies of a model.

    Args:
        table: The table, for the result.
        counts: The words of the table, as `first_words` returns them.
        sides: The vocabulary of each side that the model knows.
        factor: The factor of a token that the model reads.
    """
    shares = {side: known_share(counts[side], words, factor) for side, words in sides.items()}
    side = min(shares, key=lambda each: shares[each])
    other: Side = "target" if side == "source" else "source"
    swapped = known_share(counts[other], sides[side], factor)
    return KnownWords(str(table), side, shares[side], swapped)


def first_words(table: str | Path) -> dict[Side, Counter[bytes]]:
    """Count the tokens of each side of a table's first 100,000 lines.

    Raises:
        InputError: The table cannot be read.
    """
    sides: dict[Side, Counter[bytes]] = {"source": Counter(), "target": Counter()}
    with open_input(table) as stream:
        for line in itertools.islice(stream, _LINES):
            for side, phrase in zip(sides.values(), line.split(PIPES, 2), strict=False):
                side.update(phrase_tokens(phrase))
    return sides


def known_share(counts: Counter[bytes], words: Vocabulary, factor: int = 0) -> float:
    """Return the known share of the words with a letter; 1 if there are no such words."""
    known = set(words.words[2:])
    total = found = 0
    for token, count in counts.items():
        # other code refuses tokens with too few factors
        word = b"".join(token.split(b"|")[factor : factor + 1])
        has_letter = any(map(str.isalpha, word.decode("utf-8", "replace")))
        if has_letter and not is_bracketed(token):
            total += count
            found += count * (word in known)
    return found / total if total else 1.0
