"""A survey of a whole phrase table or reordering table, which goes on after bad lines.

Lines are read and checked as every command does it (`read_blocks`); the errors of bad lines are
counted. The survey also looks for good lines that Moses misreads or uses badly.
"""

from __future__ import annotations

import dataclasses
import operator
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.doctor.findings import Diagnosis
from moses_integration.doctor.texts import TextWords, check_language
from moses_integration.tables.score_survey import ScoreSurvey
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import InputError, PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, TokenSpans, read_blocks
from phrasescore.table.byte_scanning import (
    BAR,
    CLOSE,
    LINE_FEED,
    OPEN,
    Bytes,
)
from phrasescore.table.phrase_table import PIPES, TableFormat, phrase_tokens
from phrasescore.table.scanning import SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.hashing import HASH_START, hash_byte, hash_bytes, murmur_mix
from phrasescore.words.word_table import WordTable

_MAX_SAMPLED_PAIRS = 1 << 22
# parts of an error that differ between lines with the same fault
_PARTICULARS = re.compile(r"\(.*?\)|'.*?'|\d+(?:\.\d+)?(?:e[-+]?\d+)?")


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

    def add(self, source: TokenSpans, target: TokenSpans) -> None:
        """Look up the tokens of both sides of some lines."""
        # only a phrase of a single word can translate this word in any context
        alone = source.offsets[:-1][np.diff(source.offsets) == 1]
        for tokens, rows, table, found in zip(
            (source, target), (alone, slice(None)), self._tables, self._found, strict=True
        ):
            numbers = table.find_spans(tokens.data, tokens.begins[rows], tokens.ends[rows])
            found[numbers[numbers >= 0]] = True

    @property
    def known(self) -> tuple[set[bytes], set[bytes]]:
        """The source words with a phrase pair of their own, and the words of target phrases."""
        source, target = (
            {table.word(number) for number in np.flatnonzero(found).tolist()}
            for table, found in zip(self._tables, self._found, strict=True)
        )
        return source, target

    def check(self, found: Diagnosis, table: str) -> None:
        """Report how many words of both texts the table knows."""
        source, target = self._texts
        knows_source, knows_target = (words.__contains__ for words in self.known)
        check_language(found, source, knows_source, table)
        fate = "Moses copies such words as they are"
        source.check(found, knows_source, "the phrase table", fate)
        owner = "the target side of the phrase table"
        target.check(found, knows_target, owner, "no translation has them")


class TableSurvey:
    """The facts about a whole table.

    Args:
        path: The file.
        words: Looks up the words of the development set in the good lines.

    Attributes:
        format: The format of its first lines; ``None`` if it is not a table.
        lines: The number of lines.
        faults: For each kind of bad line, the error of the first one and the number of lines.
        odd: For each kind of odd line, the number of lines and the number of the first one.
        scores: Counts of odd scores.
        digests: The digests of a sample of the pairs: those divisible by 2^shift. A pair is in the
            samples of all tables or of none, so samples are comparable.
        ends_in_line_feed: Whether the last line is terminated.
        broken: The error that stopped the reading before the end, if any.
    """

    def __init__(self, path: str | Path, words: TableWords | None = None) -> None:
        self.path = str(path)
        self.format: TableFormat | None = None
        self.lines = 0
        self.faults: dict[str, tuple[PhraseTableError, int]] = {}
        self.odd: dict[str, tuple[int, int]] = {}
        self.scores = ScoreSurvey(0)
        # gzip makes a tenth of a table; a line has some 50 bytes
        self.shift = (10 * Path(path).stat().st_size // 50 // _MAX_SAMPLED_PAIRS).bit_length()
        self.digests = [np.zeros(0, np.uint64)]
        self.ends_in_line_feed = True
        self.broken: InputError | None = None
        self._words = words
        self._last_line = b""

    def add_fault(self, error: PhraseTableError) -> None:
        """Count a bad line with the others of its kind."""
        kind = _PARTICULARS.sub("#", error.problem)
        first, count = self.faults.get(kind, (error, 0))
        self.faults[kind] = first, count + 1

    def add(self, block: TableBlock) -> None:
        """Survey the next lines; the spans of bad lines are all 0."""
        if self.format is None:
            self.format = block.format
            self.scores = ScoreSurvey(block.format.scores)
        lines = block.text.removesuffix(b"\n").split(b"\n")
        unsorted = list(map(operator.gt, [self._last_line, *lines[:-1]], lines))
        self._count_odd("unsorted", block.first_line + np.flatnonzero(unsorted))
        self._last_line = lines[-1]
        self.ends_in_line_feed = block.text.endswith(b"\n")
        self.lines += len(block)
        rows = np.flatnonzero(block.spans[:, SOURCE_END] > block.spans[:, SOURCE])
        if len(rows):
            good = block
            if len(rows) < len(block):
                good = dataclasses.replace(block, spans=block.spans[rows])
            self._add_pairs(good, block.first_line + rows)

    def _add_pairs(self, pairs: TableBlock, numbers: NDArray[np.int64]) -> None:
        """Survey good lines, given with their numbers."""
        self.scores.add(pairs)
        rules = pairs.format.hierarchical
        sides = [
            TokenSpans.find(
                pairs.data, pairs.spans[:, side], pairs.spans[:, side + 1], hierarchical=rules
            )[0]
            for side in (SOURCE, TARGET)
        ]
        if self._words is not None:
            self._words.add(*sides)
        if not rules:  # in rules, brackets are something else
            self._find_odd_tokens(pairs, sides, numbers)
        digests = np.empty(len(pairs), np.uint64)
        digest_pairs(pairs.data, pairs.spans, digests)
        self.digests.append(_sampled(digests, self.shift))

    def _find_odd_tokens(
        self, pairs: TableBlock, sides: Sequence[TokenSpans], numbers: NDArray[np.int64]
    ) -> None:
        """Find bars and bracketed tokens, in which Moses sees factors and labels of rules."""
        data = pairs.data
        places = np.searchsorted(np.flatnonzero(data == BAR), pairs.spans[:, : TARGET_END + 1])
        has_bar = (places[:, 1::2] > places[:, ::2]).any(axis=1)
        self._count_odd("bar", numbers[has_bar])
        has_label = np.zeros(len(pairs), np.bool_)
        for tokens in sides:
            # a bar behind a token is part of the word, whose first factor the token is
            bracketed = (
                (data[tokens.begins] == OPEN)
                & (data[tokens.ends - 1] == CLOSE)
                & (tokens.ends - tokens.begins > 1)
                & (data[tokens.ends] != BAR)
            )
            per_line = np.diff(np.searchsorted(np.flatnonzero(bracketed), tokens.offsets))
            has_label |= per_line > 0
        self._count_odd("label", numbers[has_label])

    def missing_in(self, other: TableSurvey) -> tuple[int, int]:
        """Return the number of pairs compared, and how many of them the other table lacks."""
        shift = max(self.shift, other.shift)
        mine, theirs = (
            np.unique(_sampled(np.concatenate(each.digests), shift)) for each in (self, other)
        )
        return len(mine), int((~np.isin(mine, theirs)).sum())

    def _count_odd(self, kind: str, numbers: NDArray[np.int64]) -> None:
        if len(numbers):
            count, first = self.odd.get(kind, (0, int(numbers[0])))
            self.odd[kind] = (count + len(numbers), first)


def _sampled(digests: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    return digests[digests & np.uint64((1 << shift) - 1) == 0]


def survey_table(
    path: str | Path,
    words: TableWords | None = None,
    scores: int | None = None,
    lines_per_block: int = LINES_PER_BLOCK,
) -> TableSurvey:
    """Read a whole table, and continue after bad lines.

    Args:
        path: Plain or gzip.
        words: Looks up the words of the development set.
        scores: The number of scores of a reordering table; ``None`` reads a phrase table, whose
            first lines tell.
        lines_per_block: The number of lines to hold at a time.
    """

    def format_of(head: Sequence[bytes], path: str | Path) -> TableFormat:
        if not head:
            raise PhraseTableError("the file is empty", path=path)
        return _format(head, path) if scores is None else TableFormat(scores, hierarchical=False)

    survey = TableSurvey(path, words)
    with Progress(f"reading {Path(path).name}", unit="lines") as progress:
        try:
            for block in read_blocks(
                path, lines_per_block, format_of=format_of, on_fault=survey.add_fault
            ):
                survey.add(block)
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


@compiled
def digest_pairs(data: Bytes, spans: NDArray[np.int64], digests: NDArray[np.uint64]) -> None:
    """Digest the phrase pairs of good lines.

    Args:
        data: uint8, whole lines.
        spans: (lines, 6) from ``find_columns``.
        digests: (lines,) filled.
    """
    data, spans, digests = borrowed((data, spans, digests))
    for line in range(len(spans)):
        row = spans[line]
        # a line feed ends each phrase, so that different pairs digest different bytes
        digest = hash_bytes(data, row[SOURCE], row[SOURCE_END], HASH_START)
        digest = hash_byte(digest, LINE_FEED)
        digest = hash_bytes(data, row[TARGET], row[TARGET_END], digest)
        digests[line] = murmur_mix(hash_byte(digest, LINE_FEED))
