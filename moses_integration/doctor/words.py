"""Which words of a text something knows, and whether another spelling of the others is known.

A text in another case, not tokenised or escaped otherwise than the system it is for gives no error
anywhere: its words are only unknown. So every word is looked up as it is and as it
would be in lower case, with a capital, escaped, unescaped, and without punctuation at its end (in
lower case, too: raw text is often both). Nor does a text of the other language give one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from moses_integration.doctor.findings import Finding, Place, Severity
from moses_integration.system_building.corpus.text_preparation import escape, unescape
from phrasescore.errors import visible
from phrasescore.table.block import TableBlock, TokenSpans
from phrasescore.table.scanning import SOURCE, TARGET
from phrasescore.words.known_words import first_words
from phrasescore.words.word_table import WordTable

Knows: TypeAlias = Callable[[bytes], bool]

_PUNCTUATION = ".,;:!?…)\"'»"
_EXAMPLES = 5
# shares of all tokens
_MANY_UNKNOWN, MOST_UNKNOWN = 0.2, 0.5
_FEW_MISSPELT, _MANY_MISSPELT = 0.005, 0.05
# this share of the unknown tokens must be known in another spelling to make that the reason; where
# punctuation was never split off, many more words may be unknown for their capitals
_REASON, _REASON_OF_PUNCTUATION = 0.25, 0.05


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
    "in lower case": (str.lower, "lower-case this text: phrasescore preprocess --lowercase"),
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
    """The distinct words of a text.

    Args:
        tokens: All tokens of the text.
        where: What to call the text, its file.

    Attributes:
        counts: How often each word occurs.
    """

    def __init__(self, tokens: Iterable[bytes], where: str) -> None:
        self.where = where
        self.counts = Counter(tokens)

    def with_spellings(self) -> list[bytes]:
        """Return every word, and how it would be spelt otherwise."""
        spelt = (_spelt(word, name) for name in _SPELLINGS for word in self.counts)
        return list(dict.fromkeys([*self.counts, *filter(None, spelt)]))

    def unknown_share(self, knows: Knows) -> float:
        """Return the share of all tokens that something does not know."""
        unknown = sum(count for word, count in self.counts.items() if not knows(word))
        return unknown / max(1, self.counts.total())

    def findings(
        self, knows: Knows, owner: str, unknown: str, knows_spelling: Knows | None = None
    ) -> Iterator[Finding]:
        """Judge how much of the text something knows.

        Args:
            knows: Whether it knows a word.
            owner: What knows them, e.g. ``the phrase table``.
            unknown: What happens to others, e.g. ``they are copied as they are``.
            knows_spelling: Whether it knows another spelling of a word; by default ``knows``.
        """
        total = self.counts.total()
        missing = [word for word in self.counts if not knows(word)]
        count = self._count(missing)
        if not total:
            return
        if not count:
            yield Place(self.where).note(f"{owner} knows all {total:,} tokens")
            return
        for name in _SPELLINGS:
            yield from self._misspelt(missing, owner, name, knows_spelling or knows)
        share = count / total
        severity: Severity = "note"
        remedy = ""
        if share > _MANY_UNKNOWN:
            severity = "error" if share > MOST_UNKNOWN else "warning"
            remedy = "check that language, tokenisation, case and escaping are the same"
        yield Place(self.where).finding(
            severity,
            f"{owner} does not know {count:,} of {total:,} tokens ({share:.1%}): "
            f"{self._examples(missing)}; {unknown}",
            remedy,
        )

    def _misspelt(
        self, missing: Sequence[bytes], owner: str, name: str, knows: Knows
    ) -> Iterator[Finding]:
        saved = [word for word in missing if (other := _spelt(word, name)) and knows(other)]
        if name == _BOTH:  # without punctuation alone it is another finding
            saved = [word for word in saved if not knows(_spelt(word, _UNSPLIT))]
        count, total, unknown = self._count(saved), self.counts.total(), self._count(missing)
        reason = _REASON_OF_PUNCTUATION if name in (_UNSPLIT, _BOTH) else _REASON
        if count < max(reason * unknown, _FEW_MISSPELT * total):
            return
        yield Place(self.where).finding(
            "error" if count > _MANY_MISSPELT * total else "warning",
            f"{owner} would know {count:,} of the {unknown:,} tokens it does not know if they were "
            f"{name}: {self._examples(saved)}",
            _SPELLINGS[name][1],
        )

    def _count(self, words: Iterable[bytes]) -> int:
        return sum(self.counts[word] for word in words)

    def _examples(self, words: Iterable[bytes]) -> str:
        frequent = sorted(words, key=lambda word: -self.counts[word])[:_EXAMPLES]
        return ", ".join(map(visible, frequent))


def _spelt(word: bytes, name: str) -> bytes:
    """Return a word in another spelling; nothing where it is the same."""
    spelt = _SPELLINGS[name][0](word.decode("utf-8", "surrogateescape"))
    other = spelt.encode("utf-8", "surrogateescape")
    return other if other != word else b""


class _SideWords:
    """The words of a text that one side of a table has.

    Args:
        text: The text.
        column: ``SOURCE`` or ``TARGET``.
        alone: Whether a word counts only where it is the whole phrase.
    """

    def __init__(self, text: TextWords, column: int, *, alone: bool) -> None:
        self._table = WordTable(text.with_spellings())
        self._column, self._alone = column, alone
        self._found = np.zeros(len(self._table), np.bool_)

    def add(self, block: TableBlock) -> None:
        """Look at the phrases of some lines."""
        begins, ends = block.spans[:, self._column], block.spans[:, self._column + 1]
        hierarchical = block.format.hierarchical
        tokens, _ = TokenSpans.find(block.data, begins, ends, hierarchical=hierarchical)
        begins, ends = tokens.begins, tokens.ends
        if self._alone:
            first = tokens.offsets[:-1][np.diff(tokens.offsets) == 1]
            begins, ends = begins[first], ends[first]
        numbers = self._table.find_spans(block.data, begins, ends)
        self._found[numbers[numbers >= 0]] = True

    def words(self) -> set[bytes]:
        """Return the words and spellings that were there."""
        return {self._table.word(number) for number in np.flatnonzero(self._found).tolist()}


class TableWords:
    """Which words of the development set a phrase table has, filled while the table is read.

    Args:
        source: Words of the text to translate.
        target: Words of its references.
    """

    def __init__(self, source: TextWords, target: TextWords) -> None:
        self._texts = source, target
        # a source word is translated by itself if it is a phrase by itself
        self._sides = (
            _SideWords(source, SOURCE, alone=True),
            _SideWords(target, TARGET, alone=False),
        )

    def add(self, block: TableBlock) -> None:
        """Look at some lines of the table."""
        for side in self._sides:
            side.add(block)

    @property
    def known(self) -> tuple[set[bytes], set[bytes]]:
        """The source words with a phrase pair of their own, and the words of target phrases."""
        source, target = (side.words() for side in self._sides)
        return source, target

    def findings(self, table: str | Path) -> Iterator[Finding]:
        """Judge how much of both texts the table knows."""
        (source, target), (sources, targets) = self._texts, self.known
        yield from language_findings(source, sources.__contains__, table)
        yield from source.findings(
            sources.__contains__, "the phrase table", "Moses copies such words as they are"
        )
        yield from target.findings(
            targets.__contains__, "the target side of the phrase table", "no translation has them"
        )


def language_findings(source: TextWords, knows: Knows, table: str | Path) -> Iterator[Finding]:
    """See whether a text that a table does not know is in the language it translates into.

    Args:
        source: The text to translate.
        knows: Whether a word has a phrase pair of its own.
        table: The phrase table, in text form.
    """
    unknown = source.unknown_share(knows)
    if unknown <= _MANY_UNKNOWN:
        return
    elsewhere = 1 - source.unknown_share(first_words(table)["target"].__contains__)
    if elsewhere > max(MOST_UNKNOWN, 1 - unknown):
        yield Place(source.where).error(
            f"{elsewhere:.0%} of its tokens stand on the target side of {table}, and "
            f"{1 - unknown:.0%} on the source side: source and reference seem to be swapped",
            "name the text of the other language as the source, and this one as the reference",
        )
