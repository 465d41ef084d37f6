"""One pass over a phrase table or reordering table that does not stop at the first bad line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moses_integration.doctor.table_scanning import (
    REPEATED,
    UNSORTED,
    PairSample,
    pair_digests,
    scan_lines,
    scan_scores,
)
from moses_integration.doctor.words import TableWords
from moses_integration.tables.score_survey import Extremes
from phrasescore.errors import InputError, PhraseTableError
from phrasescore.runs.progress import Progress
from phrasescore.table.input_files import line_blocks, open_input, truncation_named
from phrasescore.table.phrase_table import (
    GAP,
    INSPECTED_LINES,
    PIPES,
    TableFormat,
    check_line,
    phrase_tokens,
)
from phrasescore.table.scanning import (
    SCORES,
    SCORES_END,
    SOURCE,
    SOURCE_END,
    TARGET,
    TARGET_END,
    find_columns,
    find_tokens,
)

_BLOCK = 1 << 23
_LINE_FEED = ord("\n")
# what differs between lines with the same fault
_PARTICULARS = re.compile(r"\(.*?\)|'.*?'|\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass
class Fault:
    """Lines that Moses refuses or misreads in the same way.

    Args:
        error: What is wrong with the first.
        line: The number of the first.
        count: How many there are.
    """

    error: PhraseTableError
    line: int
    count: int = 0


@dataclass
class TableSurvey:
    """What a whole table is like.

    Attributes:
        path: Its file.
        format: What its first line says; ``None`` if it is not a table.
        lines: How many lines it has.
        faults: Bad lines by kind.
        odd: By flag of ``table_scanning``: how many lines have it, and the first of them.
        zeros, floored, infinite, above_one: For each score, in how many lines it is so.
        constant: For each score, whether it is the same in every line.
        longest: The most tokens of a source and of a target phrase.
        pairs: A sample of its phrase pairs.
        ends_in_line_feed: Whether its last line ends as it should.
        broken: Why it could not be read to its end, if so.
    """

    path: str
    format: TableFormat | None = None
    lines: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)
    odd: dict[int, tuple[int, int]] = field(default_factory=dict)
    zeros: Any = 0
    floored: Any = 0
    infinite: Any = 0
    above_one: Any = 0
    constant: tuple[bytes | None, ...] = ()
    longest: tuple[int, int] = (0, 0)
    pairs: PairSample = field(default_factory=PairSample)
    ends_in_line_feed: bool = True
    broken: InputError | None = None


def survey_table(
    path: str | Path, words: TableWords | None = None, scores: int | None = None
) -> TableSurvey:
    """Read a whole table, and continue after bad lines.

    Args:
        path: Plain or gzip.
        words: Filled on the way: which words of the development set it knows.
        scores: How many scores a line has, for a reordering table; ``None`` finds it out, and
            whether the file is a phrase table at all.
    """
    survey = TableSurvey(str(path))
    with Progress(f"reading {Path(path).name}", unit="lines") as progress:
        try:
            with open_input(path) as stream, truncation_named(path):
                for text in line_blocks(stream, _BLOCK):
                    if survey.format is None:
                        survey.format = _format(text, path, scores)
                        reader = _Reader(survey, survey.format, text, words)
                    progress.advance(reader.read(text))
        except InputError as error:
            survey.broken = error
    if survey.format is None and survey.broken is None:
        survey.broken = PhraseTableError("the file is empty", path=path)
    return survey


def _format(text: bytes, path: str | Path, scores: int | None) -> TableFormat:
    if scores is not None:
        return TableFormat(scores, hierarchical=False)
    head = text.split(b"\n", INSPECTED_LINES)[:INSPECTED_LINES]
    try:
        return TableFormat.of(head, path)
    except PhraseTableError as error:
        if error.line is None:
            raise  # not a phrase table at all
    # the first line is bad: take the number of scores from the first that has any
    for line in head:
        if len(columns := line.split(PIPES)) > 2 and (tokens := phrase_tokens(columns[2])):
            return TableFormat(len(tokens), hierarchical=False)
    raise PhraseTableError("no line has scores, so this is not a phrase table", path=path)


class _Reader:
    """Adds block after block of lines to a survey."""

    def __init__(
        self, survey: TableSurvey, form: TableFormat, text: bytes, words: TableWords | None
    ) -> None:
        self._survey, self._format, self._words = survey, form, words
        survey.zeros, survey.floored, survey.infinite, survey.above_one = (
            np.zeros(form.scores, np.int64) for _ in range(4)
        )
        self._varies = np.zeros(form.scores, np.bool_)
        self._pattern: NDArray[np.uint8] | None = None
        self._bounds = np.zeros((form.scores, 2), np.int64)
        self._last_line, self._last_pair = b"", (b"", b"")

    def read(self, text: bytes) -> int:
        """Look at whole lines; return how many they are."""
        data = np.frombuffer(text, np.uint8)
        lines = int(np.count_nonzero(data == _LINE_FEED)) + (not text.endswith(b"\n"))
        spans, doubtful = np.zeros((lines, 6), np.int64), np.zeros(lines, np.bool_)
        find_columns(data, self._format.scores, self._format.hierarchical, spans, doubtful)
        self._check(text, data, spans, np.flatnonzero(doubtful))
        self._scan(text, data, spans)
        self._scan_scores(data, spans)
        self._survey.ends_in_line_feed = text.endswith(b"\n")
        self._survey.lines += lines
        return lines

    def _check(self, text: bytes, data: Any, spans: Any, doubtful: Any) -> None:
        """Look closely at the lines that compiled code doubts; forget the bad ones."""
        if not len(doubtful):
            return
        ends = np.flatnonzero(data == _LINE_FEED)
        for row in doubtful.tolist():
            begin = ends[row - 1] + 1 if row else 0
            line = text[begin : ends[row]] if row < len(ends) else text[begin:]
            try:
                check_line(line, self._format)
            except PhraseTableError as error:
                spans[row] = 0
                kind = _PARTICULARS.sub("#", error.problem)
                number = self._survey.lines + row + 1
                self._survey.faults.setdefault(kind, Fault(error, number)).count += 1

    def _scan(self, text: bytes, data: Any, spans: Any) -> None:
        survey = self._survey
        flags, lengths = np.zeros(len(spans), np.uint8), np.zeros((len(spans), 2), np.int64)
        scan_lines(data, spans, self._format.hierarchical, flags, lengths)
        end = text.find(b"\n")
        if self._last_line > (text if end < 0 else text[:end]):
            flags[0] |= UNSORTED
        self._last_line = text[text.rfind(b"\n", 0, -1) + 1 :].removesuffix(b"\n")
        if _pair(text, spans[0]) == self._last_pair != (b"", b""):
            flags[0] |= REPEATED
        self._last_pair = _pair(text, spans[-1])
        for bit in range(8):
            rows = np.flatnonzero(flags & (1 << bit))
            if len(rows):
                count, first = survey.odd.get(1 << bit, (0, survey.lines + int(rows[0]) + 1))
                survey.odd[1 << bit] = (count + len(rows), first)
        longest = np.maximum(survey.longest, lengths.max(axis=0, initial=0))
        survey.longest = (int(longest[0]), int(longest[1]))
        digests = np.empty(len(spans), np.uint64)
        pair_digests(data, spans, digests)
        survey.pairs.add(digests[digests != 0])
        if self._words is not None:
            self._look_at_words(text, data, spans, self._words)

    def _look_at_words(self, text: bytes, data: Any, spans: Any, words: TableWords) -> None:
        if self._format.hierarchical:
            data = np.frombuffer(text + GAP, np.uint8)
        columns = spans.T.copy()
        hierarchical = self._format.hierarchical
        sources, offsets = _tokens(data, columns[SOURCE], columns[SOURCE_END], hierarchical)
        targets, _ = _tokens(data, columns[TARGET], columns[TARGET_END], hierarchical)
        # a word is translated by itself if it is a phrase by itself
        alone = offsets[:-1][np.diff(offsets) == 1]
        words.look(data, sources[:, alone].copy(), targets)

    def _scan_scores(self, data: Any, spans: Any) -> None:
        survey = self._survey
        good = spans[spans[:, SOURCE_END] > spans[:, SOURCE]]
        if not len(good):
            return
        if self._pattern is None:
            self._take_pattern(data, good[0])
        assert self._pattern is not None
        scan_scores(data, good, self._pattern, self._bounds, self._varies, survey.above_one)
        survey.constant = tuple(
            None if varies else self._pattern[begin:end].tobytes()
            for varies, (begin, end) in zip(self._varies, self._bounds, strict=True)
        )
        extremes = Extremes.of(data, good, self._format.scores)
        survey.floored += extremes.count(extremes.floored)
        survey.zeros += extremes.count(extremes.zero)
        survey.infinite += extremes.count(extremes.infinite)

    def _take_pattern(self, data: Any, row: Any) -> None:
        """Remember the scores of the first line."""
        column = data[row[SCORES] : row[SCORES_END]].tobytes()
        self._pattern = np.frombuffer(bytearray(column), np.uint8)
        for number, score in enumerate(re.finditer(rb"[^ \t\r]+", column)):
            self._bounds[number] = score.span()


def _pair(text: bytes, span: Any) -> tuple[bytes, bytes]:
    return text[span[SOURCE] : span[SOURCE_END]], text[span[TARGET] : span[TARGET_END]]


def _tokens(data: Any, begins: Any, ends: Any, hierarchical: bool) -> tuple[Any, Any]:
    """Find begin and end of every token (factor 0), (2, tokens), and (lines + 1,) offsets."""
    most = int((ends - begins + 1).sum()) // 2 + len(begins)
    places = np.empty((2, most), np.int64)
    offsets, doubtful = np.zeros(len(begins) + 1, np.int64), np.zeros(len(begins), np.bool_)
    count = find_tokens(data, begins, ends, 0, hierarchical, places, offsets, doubtful)
    return places[:, :count], offsets
