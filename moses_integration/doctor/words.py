"""Which words of a text something knows, and whether another spelling of the others is known.

A text in another case, not tokenised or escaped otherwise than the system it is for gives no error
anywhere: its words are only unknown. So every word is looked up as it is and as it
would be in lower case, with a capital, escaped, unescaped, and without punctuation at its end (in
lower case, too: raw text is often both). Nor does a text of the other language give one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.doctor.findings import Finding, Severity
from moses_integration.system_building.corpus.text_preparation import escape, unescape
from phrasescore.errors import visible
from phrasescore.words.known_words import first_words
from phrasescore.words.word_table import WordTable

_PUNCTUATION = ".,;:!?…)\"'»"
_EXAMPLES = 5
# shares of all tokens
_MANY_UNKNOWN, MOST_UNKNOWN = 0.2, 0.5
_FEW_MISSPELT, _MANY_MISSPELT = 0.005, 0.05
# this share of the unknown tokens must be known in another spelling to make that the reason; where
# punctuation was never split off, many more words may be unknown for their capitals
_REASON, _REASON_OF_PUNCTUATION = 0.25, 0.05


def _lower(word: str) -> str:
    return word.lower()


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _stripped(word: str) -> str:
    return word.rstrip(_PUNCTUATION)


def _stripped_and_lower(word: str) -> str:
    stripped = _stripped(word)
    return stripped.lower() if stripped != word else word


_UNSPLIT = "without the punctuation at the end"
_BOTH = f"{_UNSPLIT}, in lower case"
# what is done to a word -> what to do where that makes it known
_SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "in lower case": (_lower, "lower-case this text: phrasescore preprocess --lowercase"),
    "with a capital letter": (
        _capital,
        "the two differ in case: prepare both in the same way (phrasescore preprocess)",
    ),
    "escaped": (escape, "escape this text as Moses does: phrasescore preprocess"),
    "unescaped": (
        unescape,
        "the other was made from text that is not escaped: prepare both in the same way "
        "(phrasescore preprocess, or train it again on escaped text)",
    ),
    _UNSPLIT: (
        _stripped,
        "tokenise this text: phrasescore preprocess --language CODE",
    ),
    _BOTH: (
        _stripped_and_lower,
        "tokenise and lower-case this text: phrasescore preprocess --language CODE --lowercase",
    ),
}


class TextWords:
    """The distinct words of a text, each in all its spellings.

    Args:
        tokens: All tokens of the text.
        where: What to call the text, its file.

    Attributes:
        words: Distinct words, then their other spellings; what is asked for is known by its place.
    """

    def __init__(self, tokens: Iterable[bytes], where: str) -> None:
        counted = Counter(tokens)
        self.where = where
        self.counts = np.array(list(counted.values()), np.int64)
        self.table = WordTable(list(counted))
        texts = [word.decode("utf-8", "surrogateescape") for word in counted]
        self._spelt: dict[str, NDArray[np.int32]] = {}
        for name, (spell, _) in _SPELLINGS.items():
            others = [spell(text).encode("utf-8", "surrogateescape") or b" " for text in texts]
            self._spelt[name] = self.table.add_all(others)
        self.words = self.table.words()

    def known_to(self, owner: Collection[bytes] | Callable[[bytes], bool]) -> NDArray[np.bool_]:
        """(words,) bool: which words and spellings a set, or a question, knows."""
        knows = owner if callable(owner) else owner.__contains__
        return np.array([knows(word) for word in self.words], np.bool_)

    def unknown_share(self, known: NDArray[np.bool_]) -> float:
        """Return the share of all tokens that something does not know, as :meth:`known_to` says."""
        total = int(self.counts.sum())
        return float(self.counts[~known[: len(self.counts)]].sum()) / total if total else 0.0

    def findings(self, known: NDArray[np.bool_], owner: str, unknown: str) -> Iterator[Finding]:
        """Judge how much of the text something knows.

        Args:
            known: (words,) bool, which words and spellings it knows.
            owner: What knows them, e.g. ``the phrase table``.
            unknown: What happens to others, e.g. ``they are copied as they are``.
        """
        total = int(self.counts.sum())
        missing = ~known[: len(self.counts)]
        count = int(self.counts[missing].sum())
        if not total:
            return
        if not count:
            yield Finding("note", f"{owner} knows all {total:,} tokens", self.where)
            return
        for name, numbers in self._spelt.items():
            saved = missing & known[numbers] & (numbers != np.arange(len(numbers)))
            if name == _BOTH:
                saved &= ~known[self._spelt[_UNSPLIT]]
            yield from self._misspelt(saved, count, owner, name)
        share = count / total
        severity: Severity = "note"
        remedy = ""
        if share > _MANY_UNKNOWN:
            severity = "error" if share > MOST_UNKNOWN else "warning"
            remedy = "check that language, tokenisation, case and escaping are the same"
        yield Finding(
            severity,
            f"{owner} does not know {count:,} of {total:,} tokens ({share:.1%}): "
            f"{self._examples(missing)}; {unknown}",
            self.where,
            remedy,
        )

    def _misspelt(
        self, saved: NDArray[np.bool_], unknown: int, owner: str, name: str
    ) -> Iterator[Finding]:
        count, total = int(self.counts[saved].sum()), int(self.counts.sum())
        reason = _REASON_OF_PUNCTUATION if name in (_UNSPLIT, _BOTH) else _REASON
        if count < max(reason * unknown, _FEW_MISSPELT * total):
            return
        yield Finding(
            "error" if count > _MANY_MISSPELT * total else "warning",
            f"{owner} would know {count:,} of the {unknown:,} tokens it does not know if they were "
            f"{name}: {self._examples(saved)}",
            self.where,
            _SPELLINGS[name][1],
        )

    def _examples(self, chosen: NDArray[np.bool_]) -> str:
        rows = np.flatnonzero(chosen)
        frequent = rows[np.argsort(-self.counts[rows], kind="stable")][:_EXAMPLES]
        return ", ".join(visible(self.words[row]) for row in frequent.tolist())


@dataclass(frozen=True)
class TableWords:
    """Which words of the development set a phrase table has, filled while the table is read.

    Args:
        source: Words of the text to translate.
        target: Words of its references.
        known_sources: (words,) bool, those that have a phrase pair of their own.
        known_targets: (words,) bool, those that occur in some target phrase.
    """

    source: TextWords
    target: TextWords
    known_sources: NDArray[np.bool_]
    known_targets: NDArray[np.bool_]

    @classmethod
    def of(cls, source: TextWords, target: TextWords) -> TableWords:
        """Start with nothing known."""
        return cls(
            source,
            target,
            np.zeros(len(source.words), np.bool_),
            np.zeros(len(target.words), np.bool_),
        )

    def look(self, data: Any, sources: Any, targets: Any) -> None:
        """Look at the tokens of some lines.

        Args:
            data: uint8, the bytes they are in.
            sources: (2, n) int64, begin and end of the phrases of one token.
            targets: (2, m) int64, begin and end of target tokens.
        """
        for table, spans, known in (
            (self.source.table, sources, self.known_sources),
            (self.target.table, targets, self.known_targets),
        ):
            numbers = table.find_spans(data, spans[0], spans[1])
            known[numbers[numbers >= 0]] = True

    def findings(self) -> Iterator[Finding]:
        """Judge how much of both texts the table knows."""
        yield from self.source.findings(
            self.known_sources, "the phrase table", "Moses copies such words as they are"
        )
        yield from self.target.findings(
            self.known_targets, "the target side of the phrase table", "no translation has them"
        )


def language_findings(
    source: TextWords, known: NDArray[np.bool_], table: str | Path
) -> Iterator[Finding]:
    """See whether a text that a table does not know is in the language it translates into.

    Args:
        source: The text to translate.
        known: (words,) bool, which words have a phrase pair of their own.
        table: The phrase table, in text form.
    """
    unknown = source.unknown_share(known)
    if unknown <= _MANY_UNKNOWN:
        return
    elsewhere = 1 - source.unknown_share(source.known_to(first_words(table)["target"]))
    if elsewhere > max(MOST_UNKNOWN, 1 - unknown):
        yield Finding(
            "error",
            f"{elsewhere:.0%} of its tokens stand on the target side of {table}, and "
            f"{1 - unknown:.0%} on the source side: source and reference seem to be swapped",
            source.where,
            "name the text of the other language as the source, and this one as the reference",
        )
