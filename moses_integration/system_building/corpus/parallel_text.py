"""Reading parallel text: two files with a sentence per line, and what is wrong with them.

Lines end at a line feed and nowhere else, as in Moses. What would break a Moses system later, far
from its cause, is an error here with its line; what is merely suspicious is a note.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from phrasescore.errors import CorpusError
from phrasescore.table.input_files import open_input

LINES_AT_ONCE = 10_000
# (U+0085, U+00A0, U+1680, U+2000-200A, U+2028, U+2029, U+202F, U+205F, U+3000) in UTF-8
_OTHER_SPACES = re.compile(
    rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_MARKS = (b"|", b"[", b"]", b"\0", b"<s>", b"</s>", b"<unk>")
_HARMFUL = re.compile(rb"[|\[\]\0]|(?:^|(?<=[ \t]))(?:<s>|</s>|<unk>)(?=[ \t\r\n]|$)", re.MULTILINE)
_FULL_STOP_IN_WORD = re.compile(rb"[^ .][.?!]\r?$", re.MULTILINE)
_ENTITY = re.compile(rb"&(?:amp|apos|quot|lt|gt|#124|#91|#93);")
_ESCAPE = "tokenise and escape the text: --tokenize LANGUAGE LANGUAGE, or phrasescore preprocess"
_REASONS = {
    b"|": ("an unescaped |, which Moses takes for the end of a factor or column", _ESCAPE),
    b"[": ("an unescaped [, which Moses takes for the beginning of a non-terminal", _ESCAPE),
    b"]": ("an unescaped ], which Moses takes for the end of a non-terminal", _ESCAPE),
    b"\0": ("a zero byte, so this is no text", "give plain text or gzip, in UTF-8"),
}
_SPECIAL = (
    "the word {}, which has a meaning of its own in language models",
    "remove it, or escape its brackets as &lt; and &gt;",
)


@dataclass(frozen=True)
class ParallelLines:
    """Some consecutive lines of both sides, without line feeds.

    Args:
        first: The 1-based number of the first.
        source: Lines of the source side.
        target: As many lines of the target side.
    """

    first: int
    source: list[bytes]
    target: list[bytes]


@dataclass
class Notes:
    """What is suspicious in a text, each kind with a count and the first place.

    Args:
        counts: Lines, by what is wrong with them.
        first: ``file:line`` of the first, by the same.
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, path: str | Path, line: int, lines: int = 1) -> None:
        """Count lines."""
        self.counts[what] = self.counts.get(what, 0) + lines
        self.first.setdefault(what, f"{path}:{line}")

    def forget_if_rare(self, what: str, lines: int) -> None:
        """Drop what is suspicious only if it is so in more than a quarter of the lines."""
        if self.counts.get(what, 0) <= lines / 4:
            self.counts.pop(what, None)

    def __iter__(self) -> Iterator[str]:
        for what, count in self.counts.items():
            lines = "line" if count == 1 else "lines"
            yield f"{self.first[what]}: {what} ({count:,} {lines})"


OTHER_SPACES = (
    "a space other than U+0020 (such as U+00A0), which is an ordinary character to Moses and joins "
    "words; --tokenize removes it"
)
NOT_UTF8 = "not UTF-8, which every step takes as bytes but no tokeniser can read"
LOOKS_RAW = "looks untokenised, yet it is taken as it is; --tokenize would separate its punctuation"
LOOKS_ESCAPED = "looks tokenised and escaped already; --tokenize escapes it a second time"


def read_parallel_lines(source: str | Path, target: str | Path) -> Iterator[ParallelLines]:
    """Read two files side by side.

    Raises:
        CorpusError: One has more lines than the other, or both are empty.
    """
    blocks = _line_blocks(source), _line_blocks(target)
    line = 1
    nothing: list[bytes] = []
    for source_lines, target_lines in itertools.zip_longest(*blocks, fillvalue=nothing):
        if len(source_lines) != len(target_lines):
            counts = [
                line - 1 + len(lines) + sum(map(len, rest))
                for lines, rest in zip((source_lines, target_lines), blocks, strict=True)
            ]
            raise _unequal((source, target), counts)
        yield ParallelLines(line, source_lines, target_lines)
        line += len(source_lines)
    if line == 1:
        raise CorpusError("there is no sentence in it", path=source)


def _line_blocks(path: str | Path) -> Iterator[list[bytes]]:
    """Yield the lines of one file; a generator of its own, so that errors name the right file."""
    mark = codecs.BOM_UTF8
    with open_input(path) as stream:
        while lines := list(itertools.islice(stream, LINES_AT_ONCE)):
            yield [line.removesuffix(b"\n").removeprefix(mark) for line in lines[:1]] + [
                line.removesuffix(b"\n") for line in lines[1:]
            ]
            mark = b""


def _unequal(paths: tuple[str | Path, str | Path], counts: Sequence[int]) -> CorpusError:
    longer = 0 if counts[0] > counts[1] else 1
    return CorpusError(
        f"line {min(counts) + 1:,} has no counterpart: this file has {counts[longer]:,} lines, "
        f"{paths[1 - longer]} has {counts[1 - longer]:,}",
        path=paths[longer],
        line=min(counts) + 1,
        remedy="give two files in which line i of one is the translation of line i of the other",
    )


def check_taken_text(lines: Sequence[bytes], path: str | Path, first: int, notes: Notes) -> None:
    """Check text that is taken as it is: tokenised and escaped already.

    Args:
        lines: Lines without line feeds.
        path: Their file.
        first: The 1-based number of the first line.
        notes: Where to count what is suspicious.

    Raises:
        CorpusError: A line holds something that Moses or a language model would misread.
    """
    text = b"\n".join(lines)
    suspected = any(mark in text for mark in _MARKS)  # much quicker than the expression
    if suspected and (found := _HARMFUL.search(text)) is not None:
        raise _harmful(found.group(), path, first + text.count(b"\n", 0, found.start()))
    if _OTHER_SPACES.search(text) is not None:
        for number, line in enumerate(lines, first):
            if _OTHER_SPACES.search(line) is not None:
                notes.add(OTHER_SPACES, path, number)
    if (glued := _FULL_STOP_IN_WORD.search(text)) is not None:
        number = first + text.count(b"\n", 0, glued.start())
        notes.add(LOOKS_RAW, path, number, len(_FULL_STOP_IN_WORD.findall(text)))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.add(NOT_UTF8, path, first + text.count(b"\n", 0, error.start))


def _harmful(found: bytes, path: str | Path, line: int) -> CorpusError:
    if found in _REASONS:
        problem, remedy = _REASONS[found]
    else:
        problem, remedy = _SPECIAL[0].format(found.decode()), _SPECIAL[1]
    return CorpusError(problem, path=path, line=line, remedy=remedy)


def check_raw_text(lines: Sequence[bytes], path: str | Path, first: int, notes: Notes) -> None:
    """Check text that is to be tokenised: count lines with Moses's entities.

    Args:
        lines: Lines without line feeds.
        path: Their file.
        first: The 1-based number of the first line.
        notes: Where to count.
    """
    for number, line in enumerate(lines, first):
        if b"&" in line and _ENTITY.search(line) is not None:
            notes.add(LOOKS_ESCAPED, path, number)


def decode_line(line: bytes, path: str | Path, number: int) -> str:
    """Decode a line of UTF-8.

    Raises:
        CorpusError: It is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"not UTF-8 at byte {error.start + 1} of the line",
            path=path,
            line=number,
            remedy="convert the text, e.g. iconv -f latin1 -t utf-8",
        ) from None
