"""Preparation of a parallel corpus: read, preprocess, check and clean two files.

Lines end at a line feed and nowhere else, as in Moses. Text that would break a Moses system in a
later step is an error with its line; suspicious text is a note. Sentence pairs that cannot be
aligned well are left out by the rules of clean-corpus-n.perl.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moses_integration.system_building.build_settings import MAX_WORDS
from moses_integration.system_building.corpus.text_preparation import (
    Preprocessor,
    TextSettings,
    decode_line,
)
from phrasescore.errors import CorpusError, counted
from phrasescore.runs.final_names import open_output
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import open_input

# consecutive lines of source and target, without line feeds
Sides: TypeAlias = tuple[list[bytes], list[bytes]]

_EMPTY = "empty"
# the limits of clean-corpus-n.perl: words of one side per word of the other, characters of a word
_MAX_RATIO, _MAX_LETTERS = 9.0, 1000
LINES_AT_ONCE = 10_000
# (U+0085, U+00A0, U+1680, U+2000-200A, U+2028, U+2029, U+202F, U+205F, U+3000) in UTF-8
_OTHER_SPACES = re.compile(
    rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_SPECIAL_WORDS = (b"<s>", b"</s>", b"<unk>")
# text that Moses or a language model would misread
_HARMFUL = re.compile(rb"[|\[\]\0]|(?:^|(?<=[ \t]))(?:<s>|</s>|<unk>)(?=[ \t\r\n]|$)", re.MULTILINE)
_FULL_STOP_IN_WORD = re.compile(rb"[^ .][.?!]\r?$", re.MULTILINE)
_ENTITY = re.compile(rb"&(?:amp|apos|quot|lt|gt|#124|#91|#93);")
_ESCAPE = "tokenise and escape the text: --tokenize LANGUAGE LANGUAGE, or phrasescore preprocess"
OTHER_SPACES = (
    "a space other than U+0020 (such as U+00A0), which is an ordinary character to Moses and joins "
    "words; --tokenize removes it"
)
NOT_UTF8 = "not UTF-8, which every step takes as bytes but no tokeniser can read"
LOOKS_RAW = "looks untokenised, yet it is taken as it is; --tokenize would separate its punctuation"
LOOKS_ESCAPED = "looks tokenised and escaped already; --tokenize escapes it a second time"


@dataclass
class Notes:
    """Notes on suspicious text, each kind with a count and the first place.

    Args:
        counts: The number of lines of each kind.
        first: ``file:line`` of the first line of each kind.
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, path: str | Path, line: int, lines: int = 1) -> None:
        """Count lines."""
        self.counts[what] = self.counts.get(what, 0) + lines
        self.first.setdefault(what, f"{path}:{line}")

    def __iter__(self) -> Iterator[str]:
        for what, count in self.counts.items():
            yield f"{self.first[what]}: {what} ({counted(count, 'line')})"


def read_parallel_lines(source: str | Path, target: str | Path) -> Iterator[tuple[int, Sides]]:
    """Read two files in parallel blocks; yield the 1-based number of the first line, and the lines.

    Raises:
        CorpusError: One has more lines than the other, or both are empty.
    """
    blocks = _line_blocks(source), _line_blocks(target)
    line = 1
    nothing: list[bytes] = []
    for source_lines, target_lines in itertools.zip_longest(*blocks, fillvalue=nothing):
        if len(source_lines) != len(target_lines):
            paths = (source, target) if len(source_lines) > len(target_lines) else (target, source)
            number = line + min(len(source_lines), len(target_lines))
            raise CorpusError(
                f"line {number:,} has no counterpart: {paths[1]} ends before it",
                path=paths[0],
                line=number,
                remedy="give two files in which line i of one is the translation of line i of the "
                "other",
            )
        yield line, (source_lines, target_lines)
        line += len(source_lines)
    if line == 1:
        raise CorpusError("there is no sentence in it", path=source)


def _line_blocks(path: str | Path) -> Iterator[list[bytes]]:
    """Yield the lines of one file in blocks, without line feeds and byte order mark."""
    mark = codecs.BOM_UTF8
    with open_input(path) as stream:
        while block := list(itertools.islice(stream, LINES_AT_ONCE)):
            lines = [line.removesuffix(b"\n") for line in block]
            lines[0] = lines[0].removeprefix(mark)
            yield lines
            mark = b""


def check_taken_text(lines: Sequence[bytes], path: str | Path, first: int, notes: Notes) -> None:
    """Check text that is used without preprocessing: it must be tokenised and escaped already.

    Args:
        lines: Lines without line feeds.
        path: Their file.
        first: The 1-based number of the first line.
        notes: Counts suspicious lines.

    Raises:
        CorpusError: A line holds something that Moses or a language model would misread.
    """
    text = b"\n".join(lines)
    marks = (b"|", b"[", b"]", b"\0", *_SPECIAL_WORDS)
    suspected = any(mark in text for mark in marks)  # much faster than the regular expression
    if suspected and (found := _HARMFUL.search(text)) is not None:
        harm, remedy = found.group(), _ESCAPE
        problem = f"an unescaped {harm.decode()}, which Moses takes for markup"
        if harm == b"\0":
            problem, remedy = "a zero byte, so this is no text", "give plain text or gzip, in UTF-8"
        elif harm in _SPECIAL_WORDS:
            problem = f"the word {harm.decode()}, which has a meaning of its own in language models"
            remedy = "remove it, or escape its brackets as &lt; and &gt;"
        line = first + text.count(b"\n", 0, found.start())
        raise CorpusError(problem, path=path, line=line, remedy=remedy)
    if _OTHER_SPACES.search(text) is not None:
        for number, text_line in enumerate(lines, first):
            if _OTHER_SPACES.search(text_line) is not None:
                notes.add(OTHER_SPACES, path, number)
    if (glued := _FULL_STOP_IN_WORD.search(text)) is not None:
        number = first + text.count(b"\n", 0, glued.start())
        notes.add(LOOKS_RAW, path, number, len(_FULL_STOP_IN_WORD.findall(text)))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.add(NOT_UTF8, path, first + text.count(b"\n", 0, error.start))


def reason_to_leave_out(
    source: list[bytes], target: list[bytes], max_words: int | None
) -> str | None:
    """Return the reason to leave out a pair of sentences, given as words; ``None`` to keep it.

    Without a maximum of words, only a pair with an empty sentence is left out.
    """
    if not source or not target:
        return _EMPTY
    if max_words is None:
        return None
    lengths = len(source), len(target)
    if max(lengths) > max_words:
        return "too long"
    if max(lengths) / min(lengths) > _MAX_RATIO:
        return "of too uneven lengths"
    for word in (*source, *target):
        # a word has no more characters than bytes
        if len(word) > _MAX_LETTERS and len(word.decode("utf-8", "replace")) > _MAX_LETTERS:
            return "with a word that is too long"
    return None


@dataclass(frozen=True)
class TextSource:
    """One side of the corpus as the user gave it.

    Args:
        path: Its file, plain or gzip.
        settings: The preparation; without tokenising and lower-casing a sentence stays as it is.
    """

    path: str | Path
    settings: TextSettings

    @cached_property
    def preprocessor(self) -> Preprocessor | None:
        """The preprocessor of sentences; ``None`` if they stay as they are."""
        changes = self.settings.tokenize or self.settings.lowercase or self.settings.characters
        return Preprocessor(self.settings) if changes else None

    def words(self, lines: list[bytes], first: int, notes: Notes) -> list[list[bytes]]:
        """Prepare, check and split lines, of which the first has the 1-based number ``first``.

        Raises:
            CorpusError: A line cannot be used.
        """
        if (preprocess := self.preprocessor) is not None:
            prepared = []
            for number, line in enumerate(lines, first):
                if self.settings.tokenize and _ENTITY.search(line) is not None:
                    notes.add(LOOKS_ESCAPED, self.path, number)
                text = preprocess(decode_line(line, self.path, number))
                prepared.append(text.encode("utf-8"))
            lines = prepared
        if not self.settings.characters:  # characters are escaped, and any of them may be a space
            check_taken_text(lines, self.path, first, notes)
        # bytes.split() parts at ASCII blanks only; U+00A0 and its like stay in their words
        return [line.split() for line in lines]


def prepare_text(source: TextSource, output: Path) -> dict[str, Any]:
    """Write a text of one language: one sentence per line, words separated by single spaces.

    Returns:
        Counts and notes as JSON values.

    Raises:
        CorpusError: A line cannot be used, or there is no word in any.
    """
    notes = Notes()
    sentences = words = 0
    with open_output(output) as stream, Progress("reading the text", unit="lines") as progress:
        for lines in _line_blocks(source.path):
            good = [line for line in source.words(lines, sentences + 1, notes) if line]
            stream.write(b"".join(b" ".join(line) + b"\n" for line in good))
            sentences += len(lines)
            words += sum(map(len, good))
            progress.advance(len(lines))
        if not words:
            raise CorpusError(
                "there is no word in it",
                path=source.path,
                remedy="give text of the target language, or leave this file out",
            )
    notes.counts.pop(LOOKS_RAW, None)
    return {"lines": sentences, "words": words, "notes": list(notes)}


def prepare_corpus(
    sources: tuple[TextSource, TextSource],
    outputs: tuple[Path, Path],
    max_words: int | None,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Write the kept pairs: one sentence per line, words separated by single spaces.

    Args:
        sources: The source and the target side.
        outputs: The files to write.
        max_words: The maximum length of a sentence; pairs with longer ones, and uneven and empty
            pairs, are left out. With ``None`` no pair is, and an empty sentence is an error.

    Returns:
        (pairs,) int64, the 1-based line of each pair that was kept; and counts and notes as JSON
        values.

    Raises:
        CorpusError: The sides have unequal numbers of lines, a line cannot be used, or no pair is
            left.
    """
    notes = Notes()
    kept: list[int] = []
    left_out: dict[str, dict[str, int]] = {}
    words = [0, 0]
    line = 0
    with (
        ExitStack() as stack,
        Progress("reading the corpus", unit="pairs") as progress,
    ):
        streams = [stack.enter_context(open_output(output)) for output in outputs]
        for first, sides in read_parallel_lines(sources[0].path, sources[1].path):
            source_words, target_words = (
                side.words(lines, first, notes) for side, lines in zip(sources, sides, strict=True)
            )
            pairs = list(zip(source_words, target_words, strict=True))
            good = []
            for line, pair in enumerate(pairs, first):
                if max_words is None:
                    _check_lengths(pair, sources, line)
                if (reason := reason_to_leave_out(*pair, max_words)) is None:
                    good.append(pair)
                    kept.append(line)
                else:
                    left_out.setdefault(reason, {"pairs": 0, "first_line": line})["pairs"] += 1
            for side, stream in enumerate(streams):
                stream.write(b"".join(b" ".join(pair[side]) + b"\n" for pair in good))
                words[side] += sum(len(pair[side]) for pair in good)
            progress.advance(len(pairs))
        if not kept:
            raise _nothing_left(left_out, sources[0].path)
    # a few full stops without a blank before them are normal, and raw text has them everywhere
    is_rare = notes.counts.get(LOOKS_RAW, 0) <= len(kept) / 2
    if is_rare or any(source.settings.tokenize for source in sources):
        notes.counts.pop(LOOKS_RAW, None)
    for reason, entry in left_out.items():
        notes.add(f"left out: {reason}", sources[0].path, entry["first_line"], entry["pairs"])
    return np.array(kept, np.int64), {
        "pairs_read": line,
        "pairs_kept": len(kept),
        "left_out": left_out,
        "source_words": words[0],
        "target_words": words[1],
        "notes": list(notes),
    }


def _check_lengths(
    pair: tuple[list[bytes], list[bytes]], sources: tuple[TextSource, TextSource], line: int
) -> None:
    """Without cleaning, refuse sentences that no later step could use."""
    for words, source in zip(pair, sources, strict=True):
        if not words:
            problem = "the sentence is empty"
            remedy = (
                "remove the line from both files (and from the alignment), or do not give "
                "--no-cleaning, which would leave the pair out"
            )
        elif len(words) > MAX_WORDS:
            problem = f"a sentence of {len(words):,} words, more than {MAX_WORDS:,}"
            remedy = "break it up, or do not give --no-cleaning"
        else:
            continue
        raise CorpusError(problem, path=source.path, line=line, remedy=remedy)


def _nothing_left(left_out: Mapping[str, Mapping[str, int]], path: str | Path) -> CorpusError:
    counts = ", ".join(f"{entry['pairs']:,} {reason}" for reason, entry in left_out.items())
    remedy = "allow longer sentences with --max-sentence-length"
    if left_out.keys() == {_EMPTY}:
        remedy = "give two files with a sentence per line"
    return CorpusError(f"no sentence pair is left: {counts}", path=path, remedy=remedy)
