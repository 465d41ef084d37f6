"""A survey of a whole phrase table or reordering table, which goes on after bad lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.doctor.words import TableWords
from moses_integration.tables.score_survey import ScoreSurvey
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import InputError, PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, read_blocks
from phrasescore.table.byte_scanning import (
    BAR,
    BLANKS,
    DASH,
    LINE_FEED,
    Bytes,
    column_after,
    find_byte,
    is_bracketed,
    parse_integer,
    token_begin,
    token_end,
)
from phrasescore.table.phrase_table import GAP, PIPES, TableFormat, phrase_tokens
from phrasescore.table.scanning import (
    SCORES_END,
    SOURCE,
    SOURCE_END,
    TARGET,
    TARGET_END,
    compare_phrases,
)
from phrasescore.words.hashing import HASH_START, hash_byte, hash_bytes, murmur_mix

# flags of a line
SOURCE_BAR, SOURCE_LABEL, TARGET_BAR, TARGET_LABEL = 1, 2, 4, 8
NO_ALIGNMENT, BAD_ALIGNMENT = 16, 32
UNSORTED, REPEATED = 64, 128
_MAX_SAMPLED_PAIRS = 1 << 22
# parts of an error that differ between lines with the same fault
_PARTICULARS = re.compile(r"\(.*?\)|'.*?'|\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass
class Fault:
    """Lines that Moses refuses or misreads in the same way.

    Args:
        error: The error of the first line.
        count: The number of lines.
    """

    error: PhraseTableError
    count: int = 0


class PairSample:
    """A sample of pairs: those whose digest is divisible by 2^k, with k as small as room allows.

    Whether a pair is kept depends on the pair alone, so the samples of two tables are comparable.

    Args:
        max_pairs: The maximum number of digests to keep.
    """

    def __init__(self, max_pairs: int = _MAX_SAMPLED_PAIRS) -> None:
        self._max_pairs = max_pairs
        self._parts: list[NDArray[np.uint64]] = []
        self._kept = 0
        self.shift = 0

    def add(self, digests: NDArray[np.uint64]) -> None:
        """Add the digests of some pairs."""
        part = _divisible(digests, self.shift)
        self._parts.append(part)
        self._kept += len(part)
        while self._kept > self._max_pairs:
            self.shift += 1
            self._parts = [_divisible(np.concatenate(self._parts), self.shift)]
            self._kept = len(self._parts[0])

    def missing_in(self, other: PairSample) -> tuple[int, int]:
        """Return the number of pairs compared, and how many of them the other table lacks."""
        # the coarser sample is contained in the finer one
        shift = max(self.shift, other.shift)
        mine, theirs = self._digests(shift), other._digests(shift)
        return len(mine), int((~np.isin(mine, theirs)).sum())

    def _digests(self, shift: int) -> NDArray[np.uint64]:
        parts = self._parts or [np.zeros(0, np.uint64)]
        return np.unique(_divisible(np.concatenate(parts), shift))


def _divisible(digests: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    return digests[digests & np.uint64((1 << shift) - 1) == 0]


@dataclass
class TableSurvey:
    """The facts about a whole table.

    Attributes:
        path: The file.
        format: The format of its first lines; ``None`` if it is not a table.
        lines: The number of lines.
        faults: Bad lines by kind.
        odd: For each flag, the number of lines that have it, and the number of the first one.
        scores: Counts of odd scores.
        constant: For each score that is the same in every line, its text; ``None`` for others.
        pairs: A sample of the phrase pairs.
        ends_in_line_feed: Whether the last line is terminated.
        broken: The error that stopped the reading before the end, if any.
    """

    path: str
    format: TableFormat | None = None
    lines: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)
    odd: dict[int, tuple[int, int]] = field(default_factory=dict)
    scores: ScoreSurvey = field(default_factory=lambda: ScoreSurvey(0))
    constant: tuple[bytes | None, ...] = ()
    pairs: PairSample = field(default_factory=PairSample)
    ends_in_line_feed: bool = True
    broken: InputError | None = None
    _first_scores: NDArray[np.float64] | None = None
    _last_line: bytes = b""
    _last_pair: tuple[bytes, bytes] = (b"", b"")

    def add_fault(self, error: PhraseTableError) -> None:
        """Count a bad line with the others of its kind."""
        kind = _PARTICULARS.sub("#", error.problem)
        self.faults.setdefault(kind, Fault(error)).count += 1

    def add(self, block: TableBlock, words: TableWords | None = None) -> None:
        """Survey the next lines; the spans of bad lines are all 0.

        Args:
            block: The lines.
            words: Receives the good lines, too.
        """
        if self.format is None:
            self.format = block.format
            self.scores = ScoreSurvey(block.format.scores)
        good = block.spans[:, SOURCE_END] > block.spans[:, SOURCE]
        self._add_lines(block, good)
        pairs = block if good.all() else dataclasses.replace(block, spans=block.spans[good])
        if len(pairs):
            self.scores.add(pairs)
            self._find_constants(pairs)
            if words is not None:
                words.add(pairs)
        self.lines += len(block)

    def _add_lines(self, block: TableBlock, good: NDArray[np.bool_]) -> None:
        text = block.text
        flags, digests = np.zeros(len(block), np.uint8), np.empty(len(block), np.uint64)
        scan_lines(block.data, block.spans, block.format.hierarchical, flags, digests)
        # scan_lines compares lines within a block; compare the first with the block before here
        if self._last_line > text.partition(b"\n")[0]:
            flags[0] |= UNSORTED
        if _pair(block, 0) == self._last_pair != (b"", b""):
            flags[0] |= REPEATED
        self._last_line = text[text.rfind(b"\n", 0, -1) + 1 :].removesuffix(b"\n")
        self._last_pair = _pair(block, -1)
        for flag in (1 << bit for bit in range(8)):
            rows = np.flatnonzero(flags & flag)
            if len(rows):
                count, first = self.odd.get(flag, (0, block.first_line + int(rows[0])))
                self.odd[flag] = (count + len(rows), first)
        self.pairs.add(digests[good])
        self.ends_in_line_feed = text.endswith(b"\n")

    def _find_constants(self, pairs: TableBlock) -> None:
        values = pairs.score_values
        if self._first_scores is None:
            self._first_scores = values[0]
            self.constant = tuple(re.findall(rb"[^ \t\r]+", pairs.entry(0).scores))
        same = (values == self._first_scores).all(axis=0)
        self.constant = tuple(
            text if is_same else None for text, is_same in zip(self.constant, same, strict=True)
        )


def survey_table(
    path: str | Path,
    words: TableWords | None = None,
    scores: int | None = None,
    lines_per_block: int = LINES_PER_BLOCK,
) -> TableSurvey:
    """Read a whole table, and continue after bad lines.

    Args:
        path: Plain or gzip.
        words: Receives the good lines, to collect the words of the development set.
        scores: The number of scores of a reordering table; ``None`` reads a phrase table, whose
            first lines tell.
        lines_per_block: The number of lines to hold at a time.
    """

    def format_of(head: Sequence[bytes], path: str | Path) -> TableFormat:
        if not head:
            raise PhraseTableError("the file is empty", path=path)
        return _format(head, path) if scores is None else TableFormat(scores, hierarchical=False)

    survey = TableSurvey(str(path))
    with Progress(f"reading {Path(path).name}", unit="lines") as progress:
        try:
            for block in read_blocks(
                path, lines_per_block, format_of=format_of, on_fault=survey.add_fault
            ):
                survey.add(block, words)
                progress.advance(len(block))
        except InputError as error:
            survey.broken = error
    return survey


def _format(head: Sequence[bytes], path: str | Path) -> TableFormat:
    try:
        return TableFormat.from_lines(head, path)
    except PhraseTableError as error:
        if error.line is None:
            raise  # not a phrase table at all
    # the first line is bad: take the number of scores from the first line that has any
    for line in head:
        if len(columns := line.split(PIPES)) > 2 and (tokens := phrase_tokens(columns[2])):
            return TableFormat(len(tokens), hierarchical=False)
    raise PhraseTableError("no line has scores, so this is not a phrase table", path=path)


def _pair(block: TableBlock, row: int) -> tuple[bytes, bytes]:
    span = block.spans[row]
    return block.text[span[SOURCE] : span[SOURCE_END]], block.text[span[TARGET] : span[TARGET_END]]


@compiled
def scan_lines(
    data: Bytes,
    spans: NDArray[np.int64],
    hierarchical: bool,
    flags: NDArray[np.uint8],
    digests: NDArray[np.uint64],
) -> None:
    """Set the flags of each line, and digest its pair.

    Args:
        data: uint8, whole lines and then the gap token.
        spans: (lines, 6) from ``find_columns``; all 0 for a bad line.
        hierarchical: Whether the lines are rules, in which brackets and links are normal.
        flags: (lines,) filled with the sums of the flags above.
        digests: (lines,) filled for good lines.
    """
    data, spans, flags, digests = borrowed((data, spans, flags, digests))
    text_end = len(data) - len(GAP)
    begin, before, before_end = 0, -1, -1
    for line in range(len(spans)):
        end = find_byte(data, begin, text_end, LINE_FEED)
        row, found = spans[line], 0
        if before >= 0 and _compare(data, before, before_end, begin, end) > 0:
            found |= UNSORTED
        if row[SOURCE_END] > row[SOURCE]:
            if not hierarchical:
                sources, source_flags = _phrase(data, row[SOURCE], row[SOURCE_END])
                targets, target_flags = _phrase(data, row[TARGET], row[TARGET_END])
                found |= source_flags * SOURCE_BAR | target_flags * TARGET_BAR
                first, last = column_after(data, row[SCORES_END], end, 1)
                found |= _links(data, first, last, sources, targets)
            last = spans[line - 1]
            if line and (
                compare_phrases(data, last, data, row, SOURCE) == 0
                and compare_phrases(data, last, data, row, TARGET) == 0
            ):
                found |= REPEATED
            # a line feed ends each phrase, so that different pairs digest different bytes
            digest = hash_bytes(data, row[SOURCE], row[SOURCE_END], HASH_START)
            digest = hash_byte(digest, LINE_FEED)
            digest = hash_bytes(data, row[TARGET], row[TARGET_END], digest)
            digests[line] = murmur_mix(hash_byte(digest, LINE_FEED))
        flags[line] = found
        before, before_end, begin = begin, end, end + 1


@compiled
def _phrase(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Count the tokens of a trimmed phrase, and flag bars (1) and bracketed tokens (2) in it."""
    count = flags = 0
    if find_byte(data, at, end, BAR) < end:
        flags = 1
    while at < end:
        stop = token_end(data, at, end, BLANKS)
        if is_bracketed(data, at, stop):
            flags |= 2
        count += 1
        at = token_begin(data, stop, end, BLANKS)
    return count, flags


@compiled
def _links(data: Bytes, at: int, end: int, sources: int, targets: int) -> int:
    """Return the flag of an alignment column: missing, outside the phrases, or 0 if it is good."""
    at = token_begin(data, at, end, BLANKS)
    if at == end:
        return NO_ALIGNMENT
    while at < end:
        stop = token_end(data, at, end, BLANKS)
        middle = find_byte(data, at, stop, DASH)
        if middle == stop:
            return BAD_ALIGNMENT
        source, target = parse_integer(data, at, middle), parse_integer(data, middle + 1, stop)
        if not (0 <= source < sources and 0 <= target < targets):
            return BAD_ALIGNMENT
        at = token_begin(data, stop, end, BLANKS)
    return 0


@compiled
def _compare(data: Bytes, first: int, first_end: int, second: int, second_end: int) -> int:
    """Compare two runs of bytes as ``memcmp`` does: negative if the first is smaller."""
    for k in range(min(first_end - first, second_end - second)):
        if data[first + k] != data[second + k]:
            return np.int64(data[first + k]) - np.int64(data[second + k])
    return (first_end - first) - (second_end - second)
