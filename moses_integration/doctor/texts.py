"""Faults of a development set: source text and its references."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from moses_integration.doctor.findings import Finding, Place, Severity
from phrasescore.errors import InputError, counted
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import phrase_tokens

_BLANKS = b" \t\r"
_LABEL = re.compile(rb"\[[^\[\]]*\]")
_MARKUP = re.compile(rb"<(seg|dlt)[ >]")
_LONG = 100
# if many translations are longer or shorter than the source by this factor, lines do not match
_RATIO = 3.0
_SUSPICIOUS_SHARE = 0.2
_FEW_SENTENCES = 200


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


def find_references(named: Iterable[str]) -> list[str]:
    """Resolve names as mert-moses.pl does: a file, or a prefix of files 0, 1, 2 ...

    Raises:
        InputError: There is neither.
    """
    found: list[str] = []
    for name in named:
        if Path(name).exists():
            found.append(name)
            continue
        for prefix in (name, f"{name}.ref"):
            numbered = itertools.takewhile(
                lambda path: Path(path).exists(), (f"{prefix}{n}" for n in itertools.count())
            )
            if several := list(numbered):
                found += several
                break
        else:
            raise InputError(
                "no such file, nor one with 0 behind its name",
                path=name,
                remedy="name each reference, or the part of their names before the number",
            )
    return found


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _has_label(line: bytes) -> bool:
    return any(_LABEL.fullmatch(word) for word in words_of(line))


# a kind of bad line: severity, fault, remedy, and the test for a line of this kind
_Check: TypeAlias = tuple[Severity, str, str, Callable[[bytes], object]]
_ESCAPE = "escape the text: phrasescore preprocess"
_FOREIGN: _Check = ("warning", "text that is not UTF-8", "convert it with iconv", _is_not_utf8)
_BAR: _Check = (
    "error",
    "a '|', which Moses takes for the separator of factors",
    _ESCAPE,
    lambda line: b"|" in line,
)
_SOURCE_CHECKS: tuple[_Check, ...] = (
    ("error", "a word in brackets, at which Moses stops or crashes", _ESCAPE, _has_label),
    (
        "warning",
        "markup such as <seg id=...>, which Moses does not translate",
        _ESCAPE,
        _MARKUP.search,
    ),
    (
        "warning",
        f"more than {_LONG} words, which take long to decode",
        "leave such sentences out",
        lambda line: len(words_of(line)) > _LONG,
    ),
)
_RETURN: _Check = (
    "error",
    "a carriage return at the end, which becomes part of the last word",
    "remove it: tr -d '\\r'",
    lambda line: line.endswith(b"\r"),
)


def _line_findings(text: Text, checks: Iterable[_Check]) -> Iterator[Finding]:
    """Report the number of lines of each kind, and the first of them."""
    for severity, what, remedy, is_of_the_kind in checks:
        rows = [number for number, line in enumerate(text.lines, 1) if is_of_the_kind(line)]
        if rows:
            share = f"{len(rows):,} of {len(text.lines):,} lines"
            yield Place(text.path, rows[0]).finding(severity, f"{what} ({share})", remedy)


def _common_findings(
    text: Text, severity_of_empty: Severity, effect_of_empty: str, remedy: str
) -> Iterator[Finding]:
    if not text.lines:
        yield Place(text.path).error("the file is empty", "name another")
        return
    empty = f"an empty line, which {effect_of_empty}"
    is_empty: _Check = (severity_of_empty, empty, remedy, lambda line: not line.strip(_BLANKS))
    yield from _line_findings(text, [is_empty])
    if text.lines[0].startswith(b"\xef\xbb\xbf"):
        yield Place(text.path, 1).error(
            "a byte order mark, which becomes part of the first word",
            "remove the first three bytes",
        )
    yield from _line_findings(text, [_FOREIGN])


def source_findings(text: Text, *, factored: bool = False) -> Iterator[Finding]:
    """Check the text to translate."""
    yield from _common_findings(
        text, "error", "tuning scripts cannot handle", "delete it here and in the references"
    )
    if text.lines and not text.ends_in_line_feed:
        yield Place(text.path, len(text.lines)).error(
            "the last line has no line feed, and Moses does not translate it",
            "end it with a line feed",
        )
    yield from _line_findings(text, _SOURCE_CHECKS if factored else (_BAR, *_SOURCE_CHECKS))


def reference_findings(source: Text, references: Sequence[Text]) -> Iterator[Finding]:
    """Check the references, and whether they match the source line by line."""
    for text in references:
        yield from _common_findings(
            text,
            "warning" if len(references) > 1 else "error",
            "no translation can match",
            "delete it here, in the source and in other references",
        )
        yield from _line_findings(text, [_RETURN])
        yield from _pairing_findings(source, text)
    for one, other in itertools.combinations(references, 2):
        if one.lines == other.lines:
            yield Place(other.path).warning(
                f"the same text as {one.path}", "name each reference once"
            )
    if len(references) > 1:
        yield Place(", ".join(text.path for text in references)).note(
            f"{len(references)} references: BLEU uses the length of the closest one, and so does "
            "mert-moses.pl unless --shortest or --average is given"
        )


def _pairing_findings(source: Text, reference: Text) -> Iterator[Finding]:
    if not source.lines or not reference.lines:
        return
    if len(source.lines) != len(reference.lines):
        yield Place(reference.path).error(
            f"{counted(len(reference.lines), 'line')}, but {source.path} has {len(source.lines):,}",
            "line i of the one must be the translation of line i of the other",
        )
        return
    if source.lines == reference.lines:
        yield Place(reference.path).error(f"the same text as {source.path}", "name another")
        return
    odd = [
        number
        for number, (one, other) in enumerate(zip(source.lines, reference.lines, strict=True), 1)
        if not 1 / _RATIO <= (len(words_of(one)) + 1) / (len(words_of(other)) + 1) <= _RATIO
    ]
    if len(odd) > _SUSPICIOUS_SHARE * len(source.lines):
        yield Place(reference.path, odd[0]).warning(
            f"{len(odd):,} of {len(source.lines):,} lines are {_RATIO:.0f} times as long as the "
            "source or three times shorter; the two may be out of step",
            "check that line i of the one is the translation of line i of the other",
        )
    if len(source.lines) < _FEW_SENTENCES:
        yield Place(source.path).note(
            f"{len(source.lines):,} sentences are few to tune on; 1,000 or more are usual"
        )
