"""From two files to the text a system is built from: read, prepared, checked and cleaned.

Lines end at a line feed and nowhere else, as in Moses. What would break a Moses system later, far
from its cause, is an error here with its line; what is merely suspicious is a note. Sentence pairs
that cannot be aligned well are left out by the rules of clean-corpus-n.perl.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.build_settings import MOST_WORDS, CleaningSettings
from moses_integration.system_building.corpus.text_preparation import (
    Preprocessor,
    TextSettings,
    decode_line,
)
from phrasescore.errors import CorpusError
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
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
OTHER_SPACES = (
    "a space other than U+0020 (such as U+00A0), which is an ordinary character to Moses and joins "
    "words; --tokenize removes it"
)
NOT_UTF8 = "not UTF-8, which every step takes as bytes but no tokeniser can read"
LOOKS_RAW = "looks untokenised, yet it is taken as it is; --tokenize would separate its punctuation"
LOOKS_ESCAPED = "looks tokenised and escaped already; --tokenize escapes it a second time"


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


class Reason(Enum):
    """Why a pair is left out."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    UNEVEN = "of too uneven lengths"
    LONG_WORD = "with a word that is too long"


class Cleaner:
    """Decides about pairs, and counts.

    Args:
        settings: The limits; ``None`` leaves out empty pairs only.
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
            line: Its line, for the report.
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


@dataclass(frozen=True)
class TextSource:
    """One side of the text as the user gave it.

    Args:
        path: Its file, plain or gzip.
        settings: What to do to a sentence; without tokenising and lower-casing it is taken as it
            is.
    """

    path: str | Path
    settings: TextSettings

    @cached_property
    def preprocessor(self) -> Preprocessor | None:
        """What prepares a sentence, if anything is to be done."""
        changes = self.settings.tokenize or self.settings.lowercase
        return Preprocessor(self.settings) if changes else None


@dataclass(frozen=True)
class PreparedCorpus:
    """What came of it.

    Args:
        kept: (pairs,) int64, the 1-based line of each pair that was kept.
        lines: How many lines were read.
        notes: What was suspicious.
        report: Counts, as JSON values.
    """

    kept: NDArray[np.int64]
    lines: int
    notes: Notes
    report: dict[str, Any]


def prepare_corpus(
    sources: tuple[TextSource, TextSource],
    outputs: tuple[Path, Path],
    cleaning: CleaningSettings | None,
) -> PreparedCorpus:
    """Write the pairs that are kept: one sentence per line, words separated by single spaces.

    Args:
        sources: The source and the target side.
        outputs: Where to write them.
        cleaning: What to leave out; with ``None`` nothing, and an empty sentence is an error.

    Raises:
        CorpusError: The sides have unequal numbers of lines, a line cannot be used, or no pair is
            left.
    """
    cleaner, notes = Cleaner(cleaning), Notes()
    kept: list[int] = []
    words = [0, 0]
    with (
        ExitStack() as stack,
        Progress("reading the corpus", unit="pairs") as progress,
    ):
        streams = [stack.enter_context(open_output(output)) for output in outputs]
        for block in read_parallel_lines(sources[0].path, sources[1].path):
            pairs = _words_of(block, sources, notes)
            good = []
            for line, pair in enumerate(pairs, block.first):
                if cleaning is None:
                    _check_lengths(pair, sources, line)
                if cleaner.keeps(*pair, line):
                    good.append(pair)
                    kept.append(line)
            for side, stream in enumerate(streams):
                stream.write(b"".join(b" ".join(pair[side]) + b"\n" for pair in good))
                words[side] += sum(len(pair[side]) for pair in good)
            progress.advance(len(pairs))
        if not kept:
            raise _nothing_left(cleaner.report()["left_out"], sources[0].path)
    if any(source.settings.tokenize for source in sources):
        notes.counts.pop(LOOKS_RAW, None)
    notes.forget_if_rare(LOOKS_RAW, 2 * len(kept))
    report = cleaner.report() | {"source_words": words[0], "target_words": words[1]}
    for reason, entry in report["left_out"].items():
        notes.add(f"left out: {reason}", sources[0].path, entry["first_line"], entry["pairs"])
    return PreparedCorpus(np.array(kept, np.int64), report["pairs_read"], notes, report)


def _words_of(
    block: ParallelLines, sources: tuple[TextSource, TextSource], notes: Notes
) -> list[tuple[list[bytes], list[bytes]]]:
    """Prepare, check and split the lines of a block."""
    sides = []
    for source, lines in zip(sources, (block.source, block.target), strict=True):
        if (preprocess := source.preprocessor) is not None:
            if source.settings.tokenize:
                check_raw_text(lines, source.path, block.first, notes)
            numbered = enumerate(lines, block.first)
            texts = [decode_line(line, source.path, number) for number, line in numbered]
            prepared = [preprocess(text).encode("utf-8") for text in texts]
        else:
            prepared = lines
        check_taken_text(prepared, source.path, block.first, notes)
        # bytes.split() parts at ASCII blanks only; U+00A0 and its like stay in their words
        sides.append([line.split() for line in prepared])
    return list(zip(*sides, strict=True))


def _check_lengths(
    pair: tuple[list[bytes], list[bytes]], sources: tuple[TextSource, TextSource], line: int
) -> None:
    """Refuse a sentence that no later step could use, where cleaning does not leave it out."""
    for words, source in zip(pair, sources, strict=True):
        if not words:
            problem = "the sentence is empty"
            remedy = (
                "remove the line from both files (and from the alignment), or do not give "
                "--no-cleaning, which would leave the pair out"
            )
        elif len(words) > MOST_WORDS:
            problem = f"a sentence of {len(words):,} words, more than {MOST_WORDS:,}"
            remedy = "break it up, or do not give --no-cleaning"
        else:
            continue
        raise CorpusError(problem, path=source.path, line=line, remedy=remedy)


def _nothing_left(left_out: Mapping[str, Mapping[str, int]], path: str | Path) -> CorpusError:
    counts = ", ".join(f"{entry['pairs']:,} {reason}" for reason, entry in left_out.items())
    remedy = "allow longer sentences with --max-sentence-length"
    if left_out.keys() == {Reason.EMPTY.value}:
        remedy = "give two files with a sentence per line"
    return CorpusError(f"no sentence pair is left: {counts}", path=path, remedy=remedy)
