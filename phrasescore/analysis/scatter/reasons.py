"""Why a model and a table may disagree about a pair: what can be seen of the pair itself."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from phrasescore.analysis.counts import Counts
from phrasescore.table.phrase_table import Entry, Side, scored_tokens
from phrasescore.words.vocabulary import UNK_ID, Vocabulary

_LINK = re.compile(rb"([0-9]{1,9})-([0-9]{1,9})")
_SHORTEST_COPY = 3  # letters; shorter words of two languages are often alike
# one mark for each kind of quotation
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'))


@dataclass(frozen=True)
class SeenPair:
    """A pair as its reasons see it.

    Args:
        entry: Its line.
        factor: Which factor of a token counts.
        hierarchical: Whether the table holds rules.
        known: The vocabularies of a model, if there is one.
    """

    entry: Entry
    factor: int = 0
    hierarchical: bool = False
    known: Mapping[Side, Vocabulary] = field(default_factory=dict)

    @cached_property
    def words(self) -> dict[Side, list[bytes]]:
        """The words of both sides, as a model sees them."""
        columns: dict[Side, bytes] = {"source": self.entry.source, "target": self.entry.target}
        return {
            side: scored_tokens(phrase, side, self.factor, hierarchical=self.hierarchical)
            for side, phrase in columns.items()
        }

    @cached_property
    def texts(self) -> tuple[list[str], list[str]]:
        """The words of source and target, Moses's escapes undone."""
        source, target = (
            [html.unescape(word.decode("utf-8", "surrogateescape")) for word in words]
            for words in self.words.values()
        )
        return source, target


def _singleton(pair: SeenPair) -> str | None:
    """The pair was extracted once."""
    counts = Counts.parse(pair.entry.counts)
    return "" if counts is not None and counts.pair is not None and counts.pair <= 1 else None


def _unknown(pair: SeenPair) -> str | None:
    """Words that the model does not know, and how many."""
    count = sum(
        vocabulary.encode(pair.words[side]).count(UNK_ID) for side, vocabulary in pair.known.items()
    )
    return str(count) if count else None


def _length(pair: SeenPair) -> str | None:
    """One side has more than twice the words of the other: source:target."""
    source, target = (len(words) for words in pair.words.values())
    return f"{source}:{target}" if max(source, target) > 2 * min(source, target) else None


def _digits(pair: SeenPair) -> str | None:
    """The sides have other digits."""
    source, target = (Counter(filter(str.isdigit, "".join(words))) for words in pair.texts)
    return "" if source != target else None


def _copied(pair: SeenPair) -> str | None:
    """Words of at least three letters that stand unchanged in the target, and how many."""
    source, target = pair.texts
    words = {word for word in source if sum(map(str.isalpha, word)) >= _SHORTEST_COPY}
    return str(len(words & {*target})) if words & {*target} else None


def _unaligned(pair: SeenPair) -> str | None:
    """More than half of the words of a side have no link: unlinked/all words of both sides."""
    links = _LINK.findall(pair.entry.alignment)
    if not links:
        return None
    free = all_words = 0
    many = False
    for linked, words in zip(zip(*links, strict=True), pair.words.values(), strict=True):
        unlinked = len(words) - len({int(place) for place in linked} & {*range(len(words))})
        many |= 2 * unlinked > len(words)
        free, all_words = free + unlinked, all_words + len(words)
    return f"{free}/{all_words}" if many else None


def _punctuation(pair: SeenPair) -> str | None:
    """The sides have other marks, whatever the quotation marks look like."""
    source, target = (
        Counter(word.translate(_QUOTES) for word in words if _is_mark(word)) for words in pair.texts
    )
    return "" if source != target else None


def _is_mark(word: str) -> bool:
    return word.isprintable() and not any(map(str.isalnum, word))


# name -> what finds it: nothing, or a detail, which may be empty
REASONS: dict[str, Callable[[SeenPair], str | None]] = {
    "singleton": _singleton,
    "unknown": _unknown,
    "length": _length,
    "digits": _digits,
    "copied": _copied,
    "unaligned": _unaligned,
    "punctuation": _punctuation,
}


def reasons(pair: SeenPair) -> dict[str, str]:
    """Return what applies to a pair: names of ``REASONS`` with their details.

    >>> reasons(SeenPair(Entry(b"in 1990", b"en", b"1", b"0-0", b"3 1 1")))
    {'singleton': '', 'digits': ''}
    """
    found = {name: find(pair) for name, find in REASONS.items()}
    return {name: detail for name, detail in found.items() if detail is not None}


def described(found: Mapping[str, str]) -> str:
    """Write reasons as one field: ``singleton, unknown=2, length=1:5``."""
    return ", ".join(f"{name}={detail}" if detail else name for name, detail in found.items())


def shares(found: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Return to which share of some pairs each reason applies."""
    counts = Counter(name for each in found for name in each)
    return {name: counts[name] / len(found) if found else 0.0 for name in REASONS}
