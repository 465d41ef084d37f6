"""Checks of a development set: source text and references, and how many words a model knows.

Text whose case, tokenisation or escaping differs from the system's causes no error anywhere: its
words are merely unknown, and so are those of a text in the wrong language. Every word is therefore
looked up as it is, and also in lower case, with a capital, escaped, unescaped, and without
punctuation at its end (in lower case as well, because raw text often needs both).
The spelling that makes most tokens known is reported.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.ini.listing import Severity
from moses_integration.system_building.corpus.text_preparation import escape, unescape
from phrasescore.errors import InputError, counted, visible
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import phrase_tokens
from phrasescore.words.known_words import first_words

Knows: TypeAlias = Callable[[bytes], bool]
# severity, fault, remedy, and the test of a line
_Check: TypeAlias = tuple[Severity, str, str, Callable[[bytes], object]]

_BLANKS = b" \t\r"
_LABEL = re.compile(rb"\[[^\[\]]*\]")
# if many translations are longer or shorter than the source by this factor, lines do not match
_RATIO = 3.0
_SUSPICIOUS_SHARE = 0.2

_PUNCTUATION = ".,;:!?…)\"'»"
_EXAMPLES = 5
# shares of all tokens
_MANY_UNKNOWN, MOST_UNKNOWN = 0.2, 0.5
_FEW_MISSPELT, _MANY_MISSPELT = 0.005, 0.05
# the share of unknown tokens that another spelling must make known to count as the reason
_REASON = 0.25


@dataclass(frozen=True)
class Text:
    """The lines of one text, without their line feeds.

    Args:
        path: Its file.
        lines: All lines.
        ends_in_line_feed: Whether the last one does.
    """

    path: str
    lines: tuple[bytes, ...]
    ends_in_line_feed: bool

    @classmethod
    def read(cls, path: str | Path) -> Text:
        """Read a plain or gzip file.

        Raises:
            InputError: It cannot be read.
        """
        try:
            with open_input(path) as stream:
                data = stream.read()
        except InputError as error:
            raise error.at(path) from None
        lines = data.split(b"\n")
        return cls(str(path), tuple(lines if lines[-1] else lines[:-1]), data.endswith(b"\n"))

    def tokens(self) -> Iterator[bytes]:
        """Yield all tokens; of factored tokens, the surface form."""
        for line in self.lines:
            for token in words_of(line):
                yield token.split(b"|", 1)[0] or token


def words_of(line: bytes) -> list[bytes]:
    """Split a line where Moses does: at spaces, tabs, and a final carriage return."""
    return phrase_tokens(line.strip(_BLANKS))


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _is_empty(line: bytes) -> bool:
    return not line.strip(_BLANKS)


_ESCAPE = "escape the text: phrasescore preprocess"
_NOT_UTF8: _Check = ("warning", "text that is not UTF-8", "convert it with iconv", _is_not_utf8)
_SOURCE: tuple[_Check, ...] = (
    (
        "error",
        "an empty line, which tuning scripts cannot handle",
        "delete it here and in the references",
        _is_empty,
    ),
    _NOT_UTF8,
    (
        "error",
        "a word in brackets, at which Moses stops or crashes",
        _ESCAPE,
        lambda line: any(_LABEL.fullmatch(word) for word in words_of(line)),
    ),
)
_BAR: _Check = (
    "error",
    "a '|', which Moses takes for the separator of factors",
    _ESCAPE,
    lambda line: b"|" in line,
)
_CARRIAGE_RETURN: _Check = (
    "error",
    "a carriage return at the end, which becomes part of the last word",
    "remove it: tr -d '\\r'",
    lambda line: line.endswith(b"\r"),
)


def _check_lines(found: Diagnosis, text: Text, *checks: _Check) -> None:
    """Report the number of lines that fail each check, and the first of them."""
    if not text.lines:
        found.error(text.path, "the file is empty", "name another")
    for severity, what, remedy, fails in checks:
        rows = [number for number, line in enumerate(text.lines, 1) if fails(line)]
        if rows:
            share = f"{len(rows):,} of {len(text.lines):,} lines"
            found.add(severity, place_of(text.path, rows[0]), f"{what} ({share})", remedy)


def check_source(found: Diagnosis, text: Text, *, factored: bool = False) -> None:
    """Check the text to translate."""
    _check_lines(found, text, *_SOURCE, *(() if factored else (_BAR,)))
    if text.lines and not text.ends_in_line_feed:
        found.error(
            place_of(text.path, len(text.lines)),
            "the last line has no line feed, and Moses does not translate it",
            "end it with a line feed",
        )


def check_references(found: Diagnosis, source: Text, references: Sequence[Text]) -> None:
    """Check the references, and whether they match the source line by line."""
    empty: _Check = (
        "warning" if len(references) > 1 else "error",
        "an empty line, which no translation can match",
        "delete it here, in the source and in other references",
        _is_empty,
    )
    for text in references:
        _check_lines(found, text, empty, _NOT_UTF8, _CARRIAGE_RETURN)
        if source.lines and text.lines:
            _check_pairing(found, source, text)
    for one, other in itertools.combinations(references, 2):
        if one.lines == other.lines:
            found.warning(other.path, f"the same text as {one.path}", "name each reference once")


def _check_pairing(found: Diagnosis, source: Text, reference: Text) -> None:
    lines = len(source.lines)
    if lines != len(reference.lines):
        found.error(
            reference.path,
            f"{counted(len(reference.lines), 'line')}, but {source.path} has {lines:,}",
            "line i of the one must be the translation of line i of the other",
        )
        return
    if source.lines == reference.lines:
        found.error(reference.path, f"the same text as {source.path}", "name another")
        return
    odd = [
        number
        for number, (one, other) in enumerate(zip(source.lines, reference.lines, strict=True), 1)
        if not 1 / _RATIO <= (len(words_of(one)) + 1) / (len(words_of(other)) + 1) <= _RATIO
    ]
    if len(odd) > _SUSPICIOUS_SHARE * lines:
        found.warning(
            place_of(reference.path, odd[0]),
            f"{len(odd):,} of {lines:,} lines are {_RATIO:.0f} times as long as the "
            "source or three times shorter; the two may be out of step",
            "check that line i of the one is the translation of line i of the other",
        )


_PREPROCESS = "phrasescore preprocess"
# name of a spelling -> its function, and the advice where this spelling is known
_SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "in lower case": (str.lower, f"lower-case this text: {_PREPROCESS} --lowercase"),
    "with a capital letter": (
        lambda word: word[:1].upper() + word[1:],
        f"the two differ in case: prepare both in the same way ({_PREPROCESS})",
    ),
    "escaped": (escape, f"escape this text as Moses does: {_PREPROCESS}"),
    "unescaped": (
        unescape,
        "the other was made from text that is not escaped: prepare both in the same way "
        f"({_PREPROCESS}, or train it again on escaped text)",
    ),
    "without the punctuation at the end": (
        lambda word: word.rstrip(_PUNCTUATION),
        f"tokenise this text: {_PREPROCESS} --language CODE",
    ),
    "without the punctuation at the end, in lower case": (
        lambda word: word.rstrip(_PUNCTUATION).lower(),
        f"tokenise and lower-case this text: {_PREPROCESS} --language CODE --lowercase",
    ),
}


def _spelt(word: bytes, name: str) -> bytes:
    """Return a word in another spelling; empty if the spelling is the same."""
    spelt = _SPELLINGS[name][0](word.decode("utf-8", "surrogateescape"))
    other = spelt.encode("utf-8", "surrogateescape")
    return other if other != word else b""


class TextWords:
    """The distinct words of a text.

    Args:
        tokens: All tokens of the text.
        where: The name of the text in findings, usually its file.

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

    def check(
        self,
        found: Diagnosis,
        knows: Knows,
        owner: str,
        unknown: str = "it treats each of them as <unk>",
        knows_spelling: Knows | None = None,
    ) -> None:
        """Report how many tokens of the text a table or model knows.

        Args:
            found: Receives the findings.
            knows: Whether a word is known.
            owner: The table or model, e.g. ``the phrase table``.
            unknown: The fate of unknown words, e.g. ``they are copied as they are``.
            knows_spelling: Whether another spelling of a word is known; by default ``knows``.
        """
        total = self.counts.total()
        missing = [word for word in self.counts if not knows(word)]
        if not total:
            return
        if not missing:
            found.note(self.where, f"{owner} knows all {total:,} tokens")
            return
        self._check_spelling(found, missing, owner, knows_spelling or knows)
        share = self._count(missing) / total
        severity: Severity = "note"
        remedy = ""
        if share > _MANY_UNKNOWN:
            severity = "error" if share > MOST_UNKNOWN else "warning"
            remedy = "check that language, tokenisation, case and escaping are the same"
        found.add(
            severity,
            self.where,
            f"{owner} does not know {self._count(missing):,} of {total:,} tokens ({share:.1%}): "
            f"{self._examples(missing)}; {unknown}",
            remedy,
        )

    def _check_spelling(
        self, found: Diagnosis, missing: Sequence[bytes], owner: str, knows: Knows
    ) -> None:
        """Report the spelling that makes most of the missing words known, if it makes many."""
        saved = {
            name: [word for word in missing if (other := _spelt(word, name)) and knows(other)]
            for name in _SPELLINGS
        }
        name = max(saved, key=lambda name: self._count(saved[name]))  # the first of equals
        count, total, unknown = self._count(saved[name]), self.counts.total(), self._count(missing)
        if count >= max(_REASON * unknown, _FEW_MISSPELT * total):
            found.add(
                "error" if count > _MANY_MISSPELT * total else "warning",
                self.where,
                f"{owner} would know {count:,} of the {unknown:,} tokens it does not know if they "
                f"were {name}: {self._examples(saved[name])}",
                _SPELLINGS[name][1],
            )

    def _count(self, words: Iterable[bytes]) -> int:
        return sum(self.counts[word] for word in words)

    def _examples(self, words: Iterable[bytes]) -> str:
        frequent = sorted(words, key=lambda word: -self.counts[word])[:_EXAMPLES]
        return ", ".join(map(visible, frequent))


def check_language(found: Diagnosis, source: TextWords, knows: Knows, table: str | Path) -> None:
    """Check whether a mostly unknown source text is in the target language of a table.

    Args:
        found: Receives the findings.
        source: The text to translate.
        knows: Whether a word has a phrase pair of its own.
        table: The phrase table, in text form.
    """
    unknown = source.unknown_share(knows)
    if unknown <= _MANY_UNKNOWN:
        return
    elsewhere = 1 - source.unknown_share(first_words(table)["target"].__contains__)
    if elsewhere > max(MOST_UNKNOWN, 1 - unknown):
        found.error(
            source.where,
            f"{elsewhere:.0%} of its tokens are on the target side of {table}, and only "
            f"{1 - unknown:.0%} on the source side: source and reference seem to be swapped",
            "name the text of the other language as the source, and this one as the reference",
        )
