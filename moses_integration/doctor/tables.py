"""Checks of phrase tables and reordering tables: their lines, and how they fit the ini.

Lines are read as every command reads them (`read_blocks`), except that a bad line is counted and
the survey goes on. The other checks need no line to be bad: scores, order, repetitions, tokens that
Moses misreads, and word alignments.

Tables in Moses's binary forms are checked for truncation and for their number of scores, which is
fixed when a binary table is made. Moses compares it with num-features only for compact tables; with
the other two forms it crashes. Sources: PhraseDictionaryCompact.cpp, PhraseDecoder.cpp,
BlockHashIndex.cpp, OnDiskWrapper.cpp and probingpt/storing.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.doctor.texts import TextWords, check_language
from moses_integration.ini.feature_kinds import BINARISERS, TEXT_TABLE_KINDS, component_count
from moses_integration.ini.listing import Severity
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.tables.score_survey import ScoreSurvey, floored_share
from phrasescore.compiled import borrowed, compiled
from phrasescore.errors import IniError, InputError, PhraseTableError
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.runs.progress import Progress
from phrasescore.table.block import LINES_PER_BLOCK, TableBlock, TokenSpans, read_blocks
from phrasescore.table.byte_scanning import (
    BAR,
    BLANKS,
    CLOSE,
    DASH,
    LINE_FEED,
    OPEN,
    Bytes,
    column_after,
    find_byte,
    parse_integer,
    token_begin,
    token_end,
)
from phrasescore.table.input_files import GZIP_MAGIC, whole_number
from phrasescore.table.phrase_table import GAP, PIPES, TableFormat, phrase_tokens
from phrasescore.table.scanning import SCORES_END, SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.hashing import HASH_START, hash_byte, hash_bytes, murmur_mix
from phrasescore.words.word_table import WordTable

_DEFAULT_SCORES = 4
_SCORES_JUDGED = 100
_MAX_SAMPLED_PAIRS = 1 << 22
_ESCAPE = "make the table again from escaped text (phrasescore preprocess, or Moses's tokenizer)"
_BAR = "a '|' in the {} phrase, where Moses keeps only the word's part before it"
_LABEL = "a {} word in brackets, which Moses takes for the label of a rule"
# kind of odd line -> severity, fault, remedy
_ODD: dict[str, tuple[Severity, str, str]] = {
    "source bar": ("error", _BAR.format("source"), _ESCAPE),
    "target bar": ("error", _BAR.format("target"), _ESCAPE),
    "source label": ("error", _LABEL.format("source"), _ESCAPE),
    "target label": ("error", _LABEL.format("target"), _ESCAPE),
    "no alignment": (
        "note",
        "no word alignment, without which processPhraseTableMin needs -encoding None",
        "",
    ),
    "bad alignment": (
        "warning",
        "word alignment that points outside the phrases",
        "make the table again; columns 1, 2 and 4 do not belong together",
    ),
    "unsorted": (
        "warning",
        "a line that sorts before the previous one; text tables may be in any order, but "
        "processPhraseTableMin, CreateOnDiskPt and CreateProbingPT need them sorted",
        "sort it before making it binary: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz",
    ),
    "repeated": (
        "warning",
        "the same phrase pair as the line before; Moses does not merge them",
        "keep one of them: the second takes up one of the table-limit best places",
    ),
}
_NO_ALIGNMENT, _BAD_ALIGNMENT = 1, 2
# parts of an error that differ between lines with the same fault
_PARTICULARS = re.compile(r"\(.*?\)|'.*?'|\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_MAX_STATED = 1 << 40  # bytes or scores that a damaged binary table may state


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
        (source, target), (sources, targets) = self._texts, self.known
        check_language(found, source, sources.__contains__, table)
        source.check(
            found,
            sources.__contains__,
            "the phrase table",
            "Moses copies such words as they are",
        )
        target.check(
            found,
            targets.__contains__,
            "the target side of the phrase table",
            "no translation has them",
        )


class PairSample:
    """A sample of pairs: those whose digest is divisible by 2^k, with k as small as room allows.

    Whether a pair is kept depends on the pair alone, so the samples of two tables are comparable.

    Args:
        max_pairs: The maximum number of digests to keep.
    """

    def __init__(self, max_pairs: int = _MAX_SAMPLED_PAIRS) -> None:
        self._max_pairs = max_pairs
        self._parts = [np.zeros(0, np.uint64)]
        self._kept = 0
        self.shift = 0

    def add(self, digests: NDArray[np.uint64]) -> None:
        """Add the digests of some pairs."""
        self._parts.append(_divisible(digests, self.shift))
        self._kept += len(self._parts[-1])
        while self._kept > self._max_pairs:
            self.shift += 1
            self._parts = [_divisible(np.concatenate(self._parts), self.shift)]
            self._kept = len(self._parts[0])

    def missing_in(self, other: PairSample) -> tuple[int, int]:
        """Return the number of pairs compared, and how many of them the other table lacks."""
        # the coarser sample is contained in the finer one
        shift = max(self.shift, other.shift)
        mine, theirs = (
            np.unique(_divisible(np.concatenate(each._parts), shift)) for each in (self, other)
        )
        return len(mine), int((~np.isin(mine, theirs)).sum())


def _divisible(digests: NDArray[np.uint64], shift: int) -> NDArray[np.uint64]:
    return digests[digests & np.uint64((1 << shift) - 1) == 0]


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
        pairs: A sample of the phrase pairs.
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
        self.pairs = PairSample()
        self.ends_in_line_feed = True
        self.broken: InputError | None = None
        self._words = words
        # of the last line so far: its text; if it was good, its number and the digest of its pair
        self._last_line = b""
        self._last_good = np.array([-1], np.int64)
        self._last_digest = np.zeros(1, np.uint64)

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
        digests = np.empty(len(pairs), np.uint64)
        alignments = np.empty(len(pairs), np.int8)
        lengths = np.stack([np.diff(side.offsets) for side in sides], 1)
        scan_pairs(pairs.data, pairs.spans, lengths, digests, alignments)
        if not rules:  # in rules, brackets and links are something else
            self._find_odd_tokens(pairs, sides, numbers)
            self._count_odd("no alignment", numbers[alignments == _NO_ALIGNMENT])
            self._count_odd("bad alignment", numbers[alignments == _BAD_ALIGNMENT])
        before = np.concatenate([self._last_digest, digests[:-1]])
        follows = np.diff(numbers, prepend=self._last_good) == 1
        self._count_odd("repeated", numbers[(digests == before) & follows])
        self._last_good, self._last_digest = numbers[-1:], digests[-1:]
        self.pairs.add(digests)

    def _find_odd_tokens(
        self, pairs: TableBlock, sides: Sequence[TokenSpans], numbers: NDArray[np.int64]
    ) -> None:
        """Find bars and bracketed tokens, in which Moses sees factors and labels of rules."""
        data = pairs.data
        bars = np.flatnonzero(data == BAR)
        for name, column, tokens in zip(("source", "target"), (SOURCE, TARGET), sides, strict=True):
            begins, ends = (np.searchsorted(bars, pairs.spans[:, column + i]) for i in (0, 1))
            self._count_odd(f"{name} bar", numbers[ends > begins])
            # a bar behind a token is part of the word, whose first factor the token is
            bracketed = (
                (data[tokens.begins] == OPEN)
                & (data[tokens.ends - 1] == CLOSE)
                & (tokens.ends - tokens.begins > 1)
                & (data[tokens.ends] != BAR)
            )
            per_line = np.diff(np.searchsorted(np.flatnonzero(bracketed), tokens.offsets))
            self._count_odd(f"{name} label", numbers[per_line > 0])

    def _count_odd(self, kind: str, numbers: NDArray[np.int64]) -> None:
        if len(numbers):
            count, first = self.odd.get(kind, (0, int(numbers[0])))
            self.odd[kind] = (count + len(numbers), first)

    def check_lines(self, found: Diagnosis, ignored: Sequence[str] = ()) -> None:
        """Report the bad and odd lines of a table, except for ``ignored`` kinds of odd lines."""
        with Path(self.path).open("rb") as stream:
            zipped = stream.read(2) == GZIP_MAGIC
        # Moses unzips by the name alone
        if zipped and not is_gzip_name(self.path):
            found.error(
                self.path,
                "gzip data in a file whose name does not end in .gz; Moses would read it as text",
                "rename it",
            )
        if not zipped and is_gzip_name(self.path):
            found.error(
                self.path,
                "plain text in a file whose name ends in .gz; Moses would try to unzip it",
                "rename or compress it",
            )
        if self.broken is not None:
            found.add_error(self.broken, self.path)
        for error, count in self.faults.values():
            more = f"; {count - 1:,} more {'lines are' if count > 2 else 'line is'} like this"
            what = error.problem + (more if count > 1 else "")
            found.error(place_of(self.path, error.line), what, error.remedy or "")
        for kind, (severity, what, remedy) in _ODD.items():
            if kind in self.odd and kind not in ignored:
                count, first = self.odd[kind]
                counted = f"in {count:,} of {self.lines:,} lines"
                found.add(severity, place_of(self.path, first), f"{what} ({counted})", remedy)

    def check_scores(self, found: Diagnosis, scores: int) -> None:
        """Report the odd scores of a phrase table."""
        for index in range(min(scores, _SCORES_JUDGED)):
            name = f"score {index + 1}"
            if count := int(self.scores.infinite[index]):
                found.error(
                    self.path,
                    f"{name} is infinite for Moses in {count:,} lines",
                    "write probabilities, which are at most 1, into the scores",
                )
            if count := int(self.scores.floored[index]):
                everywhere = count == self.lines
                share = floored_share(count, int(self.scores.zeros[index]), self.lines)
                found.add(
                    "error" if everywhere else "warning",
                    self.path,
                    f"{name} {share}",
                    "write probabilities; this column carries no information"
                    if everywhere
                    else "a few are normal; many mean that the column does not hold probabilities",
                )
            lowest, highest = self.scores.lowest[index], self.scores.highest[index]
            if lowest == highest and self.lines > 1:
                found.warning(
                    self.path,
                    f"{name} is {lowest:g} in every line, so its feature only counts phrases, and "
                    "MERT may give it any weight",
                    "leave it out, or freeze it with tuneable-components",
                )
            elif count := int(self.scores.above_one[index]):
                found.note(
                    self.path,
                    f"{name} is above 1 in {count:,} of {self.lines:,} lines: correct for a count "
                    "written as exp(count), wrong for a probability",
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
def scan_pairs(
    data: Bytes,
    spans: NDArray[np.int64],
    lengths: NDArray[np.int64],
    digests: NDArray[np.uint64],
    alignments: NDArray[np.int8],
) -> None:
    """Digest the phrase pairs of good lines, and check their alignment columns.

    Args:
        data: uint8, whole lines and then the gap token.
        spans: (lines, 6) from ``find_columns``.
        lengths: (lines, 2), the tokens of source and target.
        digests: (lines,) filled.
        alignments: (lines,) filled with 0, ``_NO_ALIGNMENT`` or ``_BAD_ALIGNMENT``.
    """
    data, spans, lengths, digests, alignments = borrowed(
        (data, spans, lengths, digests, alignments)
    )
    text_end = len(data) - len(GAP)
    for line in range(len(spans)):
        row = spans[line]
        # a line feed ends each phrase, so that different pairs digest different bytes
        digest = hash_bytes(data, row[SOURCE], row[SOURCE_END], HASH_START)
        digest = hash_byte(digest, LINE_FEED)
        digest = hash_bytes(data, row[TARGET], row[TARGET_END], digest)
        digests[line] = murmur_mix(hash_byte(digest, LINE_FEED))
        line_end = find_byte(data, row[SCORES_END], text_end, LINE_FEED)
        at, end = column_after(data, row[SCORES_END], line_end, 1)
        at = token_begin(data, at, end, BLANKS)
        alignments[line] = _NO_ALIGNMENT if at == end else 0
        while at < end:
            stop = token_end(data, at, end, BLANKS)
            middle = find_byte(data, at, stop, DASH)
            source = parse_integer(data, at, middle)
            target = parse_integer(data, min(middle + 1, stop), stop)
            if not (0 <= source < lengths[line, 0] and 0 <= target < lengths[line, 1]):
                alignments[line] = _BAD_ALIGNMENT
            at = token_begin(data, stop, end, BLANKS)


def check_text_tables(
    found: Diagnosis, ini: MosesIni, source: TextWords, references: Sequence[TextWords]
) -> None:
    """Read every text table of an ini, phrase tables first."""
    surveys: list[TableSurvey] = []
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS and (path := _text_table(line)) is not None:
            words = TableWords(source, references[0] if references else TextWords([], ""))
            survey = survey_table(path, words)
            survey.check_lines(found, _ignored(line))
            _check_phrase_table(found, survey, declared_scores(line))
            if survey.broken is None:
                # only the first table has to cover the text
                if not surveys:
                    words.check(found, path)
                surveys.append(survey)
    for line in ini.features:
        if line.kind == "LexicalReordering" and (path := _text_table(line)) is not None:
            survey = survey_table(path, scores=declared_scores(line))
            survey.check_lines(found, ["no alignment", "bad alignment", *_ignored(line)])
            _check_reordering(found, survey, surveys, "default-scores" in line.options)


def _text_table(line: FeatureLine) -> str | None:
    """Find the text table that a feature reads; a missing one is a problem of the ini."""
    named = line.options.get("path", "")
    if find_binary_file(named, line.kind) is not None:
        return None
    try:
        path = find_model_file(named).path
    except InputError:
        return None
    return str(path) if path.is_file() else None


def _ignored(line: FeatureLine) -> list[str]:
    """Return the kinds of odd lines that are normal in a table: bars separate factors."""
    factored = any("," in line.options.get(key, "") for key in ("input-factor", "output-factor"))
    return ["source bar", "target bar"] if factored else []


def _check_phrase_table(found: Diagnosis, survey: TableSurvey, declared: int | None) -> None:
    """Check a text phrase table as a whole.

    Args:
        found: Receives the findings.
        survey: The survey of its lines.
        declared: Its number of scores according to the ini, if that is known.
    """
    if survey.format is None:
        return
    scores = survey.format.scores
    survey.check_scores(found, scores)
    if survey.lines and not survey.ends_in_line_feed:
        found.warning(
            place_of(survey.path, survey.lines),
            "the last line has no line feed, so the table may have been cut off",
            "check that its last lines are complete, and end the last one with a line feed",
        )
    if declared is not None and declared != scores:
        found.error(
            survey.path,
            f"the table has {scores} scores, but the ini says num-features={declared}",
            "adapt the ini to the table: phrasescore ini add-column, or edit num-features and "
            "the weights",
        )
    if scores != _DEFAULT_SCORES:
        found.note(
            survey.path,
            f"{scores} scores: tell the program that makes the table binary",
            "; ".join(command.format(scores) for command in BINARISERS.values())
            + "; the latter two also in the -Binarizer of filter-model-given-input.pl",
        )


def _check_reordering(
    found: Diagnosis, survey: TableSurvey, phrase_tables: Sequence[TableSurvey], has_default: bool
) -> None:
    """Check a reordering table, and whether it has the pairs of the phrase tables.

    Args:
        found: Receives the findings.
        survey: The survey of its lines.
        phrase_tables: The phrase tables that could be read to their ends.
        has_default: Whether the ini gives scores for missing pairs.
    """
    if survey.lines and not survey.ends_in_line_feed:
        found.error(
            place_of(survey.path, survey.lines),
            "the last line has no line feed, and Moses ignores it",
            "end it with a line feed; check whether the table was cut off",
        )
    for table in phrase_tables:
        compared, missing = table.pairs.missing_in(survey.pairs)
        if not missing or has_default:
            continue
        share = missing / compared
        counted = f"{missing:,} of {compared:,}" + (" sampled" if table.pairs.shift else "")
        found.add(
            "error" if share > 1 / 2 else "warning",
            survey.path,
            f"{counted} phrase pairs of {table.path} ({share:.1%}) are not in the reordering "
            "table; their reordering scores are 0, better than all others",
            "use the two tables of one training, or prune both in the same way (Moses's "
            "remove-orphan-phrase-pairs-from-reordering-table.perl does the opposite)",
        )


def declared_scores(line: FeatureLine) -> int | None:
    """Return the number of scores that an ini declares; ``None`` if the line is wrong."""
    try:
        return component_count(line.kind, line.options)
    except IniError:
        return None  # reported with the ini


def check_binary_tables(found: Diagnosis, ini: MosesIni) -> None:
    """Compare every binary phrase table of an ini with its line."""
    for line in ini.features:
        declared = declared_scores(line) if line.kind in BINARISERS else None
        if declared is None or "path" not in line.options:
            continue
        named, command = line.options["path"], BINARISERS[line.kind].format(declared)
        place, file = place_of(ini.path, line.line), _binary_file(named, line.kind)
        if not file.is_file():
            found.error(place, f"{line.kind} reads {file}, which does not exist", command)
            continue
        with found.collecting(file):
            scores = _binary_scores(file, line.kind)
            if scores != declared:
                found.error(
                    place,
                    f"the binary table {named} has {scores} scores, but the ini says "
                    f"num-features={declared}; Moses would crash or refuse it",
                    f"make it again from the text table with all columns: {command}",
                )
            else:
                found.note(
                    place, f"a binary table with {scores} scores, whose lines are not checked"
                )


def _binary_file(named: str, kind: str) -> Path:
    """Return the file of a binary table that states its number of scores."""
    if kind == "PhraseDictionaryCompact":
        return Path(named if named.endswith(".minphr") else f"{named}.minphr")
    return Path(named, "Misc.dat" if kind == "PhraseDictionaryOnDisk" else "config")


def _binary_scores(file: Path, kind: str) -> int:
    if kind == "PhraseDictionaryCompact":
        return compact_scores(file)
    return _named_number(file, "NumScores" if kind == "PhraseDictionaryOnDisk" else "num_scores")


def compact_scores(path: Path) -> int:
    """Read the number of scores of a compact table (.minphr), which follows its index.

    Raises:
        PhraseTableError: The file ends before that.
    """
    with path.open("rb") as stream:
        stream.seek(16)
        (index,) = _unpacked(stream, "<Q")
        stream.seek(16 + min(index, _MAX_STATED))
        # the landmarks: two flags, two numbers, then four arrays of elements of these sizes
        stream.seek(1 + 1 + 8 + 8, 1)
        for size in (4, 4, 1, 8):
            (elements,) = _unpacked(stream, "<Q")
            # bounded, because a file that is not a table may state any size
            stream.seek(min(elements * size, _MAX_STATED), 1)
        stream.seek(8, 1)
        coding, scores = _unpacked(stream, "<iQ")
    if not 0 <= coding <= 2 or not 0 < scores < 1 << 16:
        raise PhraseTableError("not a compact phrase table", path=path)
    return scores


def _unpacked(stream: BinaryIO, form: str) -> tuple[int, ...]:
    data = stream.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise PhraseTableError(
            "the file ends too early", path=stream.name, remedy="make the binary table again"
        )
    return struct.unpack(form, data)


def _named_number(path: Path, name: str) -> int:
    """Read a number from a file of lines ``name number``."""
    for line in path.read_bytes().split(b"\n"):
        words = line.split()
        if len(words) == 2 and words[0] == name.encode():
            number = whole_number(words[1], _MAX_STATED)
            if number is not None:
                return number
    raise PhraseTableError(
        f"the line {name} is missing", path=path, remedy="make the binary table again"
    )
