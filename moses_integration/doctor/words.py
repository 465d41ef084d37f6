"""Coverage of a text by a table or model, and spellings of unknown words that would be known.

Text whose case, tokenisation or escaping differs from the system's causes no error anywhere: its
words are merely unknown, and so are those of a text in the wrong language. Every word is therefore
looked up as it is, and also in lower case, with a capital, escaped, unescaped, and without
punctuation at its end (in lower case as well, because raw text often needs both).
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
# the share of unknown tokens that another spelling must make known to count as the reason; lower
# for punctuation, since raw text also has many words that are unknown because of their capitals
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
# name of a spelling -> its function, and the advice where this spelling is known
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
        """Return every word, and all other spellings of the words."""
        spelt = (_spelt(word, name) for name in _SPELLINGS for word in self.counts)
        return list(dict.fromkeys([*self.counts, *filter(None, spelt)]))

    def unknown_share(self, knows: Knows) -> float:
        """Return the share of all tokens that are unknown."""
        unknown = sum(count for word, count in self.counts.items() if not knows(word))
        return unknown / max(1, self.counts.total())

    def findings(
        self, knows: Knows, owner: str, unknown: str, knows_spelling: Knows | None = None
    ) -> Iterator[Finding]:
        """Check how many tokens of the text a table or model knows.

        Args:
            knows: Whether a word is known.
            owner: The table or model, e.g. ``the phrase table``.
            unknown: The fate of unknown words, e.g. ``they are copied as they are``.
            knows_spelling: Whether another spelling of a word is known; by default ``knows``.
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
        if name == _BOTH:  # words known without punctuation alone belong to that finding
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
    """Return a word in another spelling, or nothing if the spelling is the same."""
    spelt = _SPELLINGS[name][0](word.decode("utf-8", "surrogateescape"))
    other = spelt.encode("utf-8", "surrogateescape")
    return other if other != word else b""


class TableWords:
    """The words of the development set that a phrase table has, collected while it is read.

    Args:
        source: Words of the text to translate.
        target: Words of its references.
    """

    def __init__(self, source: TextWords, target: TextWords) -> None:
        self._texts = source, target
        self._tables = [WordTable(text.with_spellings()) for text in self._texts]
        self._found = [np.zeros(len(table), np.bool_) for table in self._tables]

    def add(self, block: TableBlock) -> None:
        """Look up the tokens of some lines of the table."""
        sides = zip((SOURCE, TARGET), self._tables, self._found, strict=True)
        for column, table, found in sides:
            begins, ends = block.spans[:, column], block.spans[:, column + 1]
            hierarchical = block.format.hierarchical
            tokens, _ = TokenSpans.find(block.data, begins, ends, hierarchical=hierarchical)
            begins, ends = tokens.begins, tokens.ends
            if column == SOURCE:
                # only a phrase of a single word can translate this word in any context
                single = tokens.offsets[:-1][np.diff(tokens.offsets) == 1]
                begins, ends = begins[single], ends[single]
            numbers = table.find_spans(block.data, begins, ends)
            found[numbers[numbers >= 0]] = True

    @property
    def known(self) -> tuple[set[bytes], set[bytes]]:
        """The source words with a phrase pair of their own, and the words of target phrases."""
        source, target = (
            {table.word(number) for number in np.flatnonzero(found).tolist()}
            for table, found in zip(self._tables, self._found, strict=True)
        )
        return source, target

    def findings(self, table: str | Path) -> Iterator[Finding]:
        """Check how many words of both texts the table knows."""
        (source, target), (sources, targets) = self._texts, self.known
        yield from language_findings(source, sources.__contains__, table)
        yield from source.findings(
            sources.__contains__, "the phrase table", "Moses copies such words as they are"
        )
        yield from target.findings(
            targets.__contains__, "the target side of the phrase table", "no translation has them"
        )


def language_findings(source: TextWords, knows: Knows, table: str | Path) -> Iterator[Finding]:
    """Check whether a mostly unknown source text is in the target language of a table.

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
            f"{elsewhere:.0%} of its tokens are on the target side of {table}, and only "
            f"{1 - unknown:.0%} on the source side: source and reference seem to be swapped",
            "name the text of the other language as the source, and this one as the reference",
        )
