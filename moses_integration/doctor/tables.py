"""Checks of phrase tables and reordering tables, by themselves and against the ini.

A text table is read to its end, even after bad lines. Lines are read and checked by the same code
as in every command (`read_blocks`). A `TableSurvey` also looks for valid lines that Moses misreads,
and for suspicious scores. Moses reads a score as float32, takes its natural logarithm and raises
lower logarithms to -100. This changes zero and every score below 3.715e-44. A few such scores are
normal, but a column full of them does not contain probabilities.

A binary table states how many scores an entry has. Moses compares this number with num-features
only for compact tables. With the other two binary forms Moses crashes if the numbers differ, so
these forms are checked here. Sources: PhraseDictionaryCompact.cpp, OnDiskWrapper.cpp and
probingpt/storing.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moses_integration.decoder.loading.table_loading import ALIGNMENT_PROBLEM, parse_entries
from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.doctor.texts import OF_REFERENCE, TextWords
from moses_integration.ini.feature_kinds import BINARISERS, TEXT_TABLE_KINDS, component_count
from moses_integration.ini.model_files import find_text_table
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.ini.problems import Severity
from moses_integration.tables.copying import PhraseFilter
from phrasescore.errors import IniError, InputError, PhraseTableError, visible
from phrasescore.runs.progress import with_progress
from phrasescore.table.block import (
    LINES_PER_BLOCK,
    TableBlock,
    TokenSpans,
    read_blocks,
    read_reordering_runs,
    read_source_runs,
)
from phrasescore.table.byte_scanning import BAR, CLOSE, OPEN
from phrasescore.table.input_files import HIDDEN_GZIP, is_hidden_gzip, read_lines
from phrasescore.table.phrase_table import FLOOR_LN, SEPARATOR, TableFormat, phrase_tokens
from phrasescore.table.scanning import SOURCE, SOURCE_END, TARGET, TARGET_END
from phrasescore.words.word_table import WordTable

_ESCAPE = "make the table again from escaped text (phrasescore preprocess, or Moses's tokenizer)"
_TOO_HIGH = "write probabilities, which are at most 1, into the scores"
# kind of odd line (valid, but a program of Moses misreads or refuses it) -> severity, fault, remedy
_ODD: dict[str, tuple[Severity, str, str]] = {
    "bar": ("error", "a '|' in a word; Moses keeps only the part of the word before it", _ESCAPE),
    "label": ("error", "a word in brackets, which Moses takes for the label of a rule", _ESCAPE),
    "unsorted": (
        "warning",
        "a line that sorts before the previous one; Moses reads text tables in any order, but "
        "processPhraseTableMin, CreateOnDiskPt and CreateProbingPT need sorted tables",
        "sort the table before making it binary: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz",
    ),
}
# binary form -> the file in the table's folder that states how many scores there are, and the key
# in this file
_STATED_SCORES = {
    "PhraseDictionaryOnDisk": ("Misc.dat", b"NumScores"),
    "ProbingPT": ("config", b"num_scores"),
}


@dataclass
class ScoreSurvey:
    """For each score, counts of zero, floored and infinite values, and the range.

    Args:
        scores: The number of scores of a phrase pair.

    Attributes:
        lines: The number of phrase pairs.
        zeros: (scores,) int64, in how many lines each score is zero.
        floored: (scores,) in how many lines the score's logarithm is floored, zeros included.
        infinite: (scores,) in how many lines the score exceeds the largest float32, so that it is
            infinite for Moses.
        lowest: (scores,) float64, the lowest value of each score.
        highest: (scores,) float64, the highest value of each score.
        repeated: (scores - 1,) bool, for each earlier score, whether the last one always equals it.
    """

    scores: int
    lines: int = 0

    def __post_init__(self) -> None:
        self.zeros, self.floored, self.infinite = np.zeros((3, self.scores), np.int64)
        self.lowest, self.highest = np.full((2, self.scores), [[np.inf], [-np.inf]])
        self.repeated = np.full(max(0, self.scores - 1), True)

    def add(self, block: TableBlock) -> None:
        """Count the scores of some lines."""
        values = block.score_values
        with np.errstate(over="ignore", divide="ignore"):
            singles = values.astype(np.float32)
            self.floored += (np.log(singles) <= FLOOR_LN).sum(axis=0)
        self.infinite += np.isinf(singles).sum(axis=0)
        self.zeros += (values == 0).sum(axis=0)
        self.lowest = np.minimum(self.lowest, values.min(axis=0))
        self.highest = np.maximum(self.highest, values.max(axis=0))
        self.repeated &= (values[:, :-1] == values[:, -1:]).all(axis=0)
        self.lines += len(block)

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each score that Moses floors somewhere, and for a repeated one."""
        for index in np.flatnonzero(self.floored).tolist():
            floored, zeros = int(self.floored[index]), int(self.zeros[index])
            yield f"score {index + 1} {floored_share(floored, zeros, self.lines)}"
        if repetition := self.repetition():
            yield repetition

    def repetition(self) -> str:
        """Return a sentence if the last score equals an earlier one in every line, else nothing."""
        if self.lines < 2 or not self.repeated.any():
            return ""
        return (
            f"score {self.scores} equals score {self.repeated.argmax() + 1} in every line; "
            "was the same model's score appended twice?"
        )


def floored_share(floored: int, zeros: int, lines: int) -> str:
    """Describe how often a score is floored."""
    share = f"is floored at -100 by Moses in {floored:,} of {lines:,} lines ({floored / lines:.1%})"
    return share + (f", {zeros:,} of them zero" if zeros else "")


def survey_scores(path: str | Path) -> ScoreSurvey:
    """Read a whole phrase table, check every line, and count zero and floored scores.

    Raises:
        InputError: The file cannot be read.
        PhraseTableError: A line violates the format or has another number of scores, or a score is
            negative or not a finite float32; the error names the line.
    """
    survey = ScoreSurvey(0)
    for block in with_progress("checking the table", read_blocks(path)):
        _refuse_infinite(block)
        if not survey.lines:
            survey = ScoreSurvey(block.format.scores)
        survey.add(block)
    return survey


def _refuse_infinite(block: TableBlock) -> None:
    """Refuse a score that is infinite for Moses."""
    with np.errstate(over="ignore"):
        infinite = np.isinf(block.score_values.astype(np.float32))
    for row, column in np.argwhere(infinite)[:1].tolist():
        text = block.entry(row).scores.split()[column].decode()
        problem = f"score {column + 1} is {text}, which is infinite for Moses"
        raise block.error(row, problem, _TOO_HIGH)


class TableSurvey:
    """The properties of a whole table.

    Args:
        path: The file, plain or gzip.
        scores: How many scores a line of a reordering table has; ``None`` for a phrase table, whose
            first lines determine this number.
        text: Tests which phrases occur in the text to translate.

    Attributes:
        format: The format of the first lines; ``None`` if the file is not a table.
        lines: The number of lines.
        fault: The error of the first bad line, if any.
        bad_lines: The number of bad lines.
        odd: For each kind of odd line, how many there are, and the line number of the first.
        scores: Counts of suspicious scores.
        sources: The words of source phrases.
        targets: The words of target phrases.
        usable: The words of sources and of targets of entries whose source occurs in the text.
        ends_in_line_feed: Whether the last line ends in a line feed.
        broken: The error that stopped reading before the end of the table, if any.
        unusable: The error of the first valid line that the embedded decoder refuses, if any.
    """

    def __init__(
        self, path: str | Path, scores: int | None = None, text: PhraseFilter | None = None
    ) -> None:
        self.path = str(path)
        self.format: TableFormat | None = None
        self.lines = self.bad_lines = 0
        self.fault: PhraseTableError | None = None
        self.odd: dict[str, tuple[int, int]] = {}
        self.scores = ScoreSurvey(0)
        self.sources, self.targets = WordTable(), WordTable()
        self.usable = WordTable(), WordTable()
        self.ends_in_line_feed = True
        self.broken: InputError | None = None
        self.unusable: PhraseTableError | None = None
        self._given_scores, self._text = scores, text
        self._last_line = b""

    def read(self) -> TableSurvey:
        """Read the whole table."""
        blocks = read_blocks(
            self.path, LINES_PER_BLOCK, format_of=self._format_of, on_fault=self._on_fault
        )
        try:
            for block in with_progress(f"reading {Path(self.path).name}", blocks):
                self._add(block)
        except InputError as error:
            self.broken = error
        return self

    def _format_of(self, head: Sequence[bytes], path: str | Path) -> TableFormat:
        if head and self._given_scores is not None:
            return TableFormat(self._given_scores, hierarchical=False)
        return TableFormat.from_lines(head, path)

    def _on_fault(self, error: PhraseTableError) -> None:
        self.fault = self.fault or error
        self.bad_lines += 1

    def _add(self, block: TableBlock) -> None:
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
            good = dataclasses.replace(block, spans=block.spans[rows])
            self._add_pairs(good, block.first_line + rows)
        is_phrase_table = self._given_scores is None and not block.format.hierarchical
        if is_phrase_table and self.unusable is None:
            try:
                parse_entries(block, rows, block.format.scores, WordTable())
            except PhraseTableError as error:
                self.unusable = error

    def _add_pairs(self, pairs: TableBlock, numbers: NDArray[np.int64]) -> None:
        """Survey valid lines, given with their line numbers."""
        self.scores.add(pairs)
        rules = pairs.format.hierarchical
        source, target = (
            TokenSpans.find(
                pairs.data, pairs.spans[:, side], pairs.spans[:, side + 1], hierarchical=rules
            )[0]
            for side in (SOURCE, TARGET)
        )
        if self._given_scores is None:
            self.sources.add_spans(source.data, source.begins, source.ends)
            self.targets.add_spans(target.data, target.begins, target.ends)
            if self._text is not None:
                # a word of longer phrases only, such as a subword, is translated in their contexts
                occurs = [self._text.occurs(pairs.source(row)) for row in range(len(pairs))]
                for words, side in zip(self.usable, (source, target), strict=True):
                    of_these = np.repeat(occurs, np.diff(side.offsets))
                    words.add_spans(side.data, side.begins[of_these], side.ends[of_these])
        if not rules:  # in rules, brackets mark nonterminals
            self._find_odd_tokens(pairs, (source, target), numbers)

    def _find_odd_tokens(
        self, pairs: TableBlock, sides: Sequence[TokenSpans], numbers: NDArray[np.int64]
    ) -> None:
        """Find bars and bracketed tokens, in which Moses sees factors and labels of rules."""
        data = pairs.data
        places = np.searchsorted(np.flatnonzero(data == BAR), pairs.spans[:, : TARGET_END + 1])
        self._count_odd("bar", numbers[(places[:, 1::2] > places[:, ::2]).any(axis=1)])
        has_label = np.zeros(len(pairs), np.bool_)
        for tokens in sides:
            # if a bar follows a token, the token is only the first factor of a longer word
            bracketed = (
                (data[tokens.begins] == OPEN)
                & (data[tokens.ends - 1] == CLOSE)
                & (tokens.ends - tokens.begins > 1)
                & (data[tokens.ends] != BAR)
            )
            has_label |= np.diff(np.searchsorted(np.flatnonzero(bracketed), tokens.offsets)) > 0
        self._count_odd("label", numbers[has_label])

    def _count_odd(self, kind: str, numbers: NDArray[np.int64]) -> None:
        if len(numbers):
            count, first = self.odd.get(kind, (0, int(numbers[0])))
            self.odd[kind] = (count + len(numbers), first)


def check_text_tables(
    found: Diagnosis,
    ini: MosesIni,
    lines: Sequence[bytes],
    source: TextWords,
    references: Sequence[TextWords],
) -> None:
    """Read every text table of an ini, phrase tables first; ``lines`` are those of the source."""
    phrases = PhraseFilter(lines) if lines else None
    surveys: list[TableSurvey] = []
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS and (path := find_text_table(line)) is not None:
            survey = TableSurvey(path, text=phrases).read()
            _check_lines(found, survey, line)
            if survey.format is not None and survey.format.hierarchical:
                by_rules = ini.values("search-algorithm")[:1] not in ((), ("0",), ("1",))
                severity: Severity = "embedded error" if by_rules else "error"
                what = "a table of hierarchical rules, which a search by phrases cannot use"
                remedy = "decode with moses_chart, and its [search-algorithm]"
                found.add(severity, path, what, remedy)
            _check_phrase_table(found, survey, declared_scores(line))
            if survey.broken is None:
                # only the first table has to cover the text
                if not surveys:
                    _check_words(found, survey, source, references)
                surveys.append(survey)
    for line in ini.features:
        if line.kind == "LexicalReordering" and (path := find_text_table(line)) is not None:
            survey = TableSurvey(path, declared_scores(line)).read()
            _check_lines(found, survey, line)
            if "default-scores" not in line.options:
                _check_reordering(found, survey, surveys)


def declared_scores(line: FeatureLine) -> int | None:
    """Return how many scores a line of the ini declares; ``None`` if the line is invalid."""
    with contextlib.suppress(IniError):  # `check_ini` reports the error
        return component_count(line.kind, line.options)
    return None


def _check_lines(found: Diagnosis, survey: TableSurvey, line: FeatureLine) -> None:
    """Report the bad and odd lines of the table of a feature."""
    if line.kind == "LexicalReordering" and is_hidden_gzip(survey.path):
        found.add("moses error", survey.path, HIDDEN_GZIP, "rename it, or unzip it")
    if survey.broken is not None:
        found.add_error(survey.broken, survey.path)
    if survey.fault is not None:
        what = survey.fault.problem
        if survey.bad_lines > 1:
            what += f" ({survey.bad_lines:,} lines are bad)"
        found.error(place_of(survey.path, survey.fault.line), what, survey.fault.remedy or "")
    if survey.unusable is not None:
        both = survey.unusable.problem == ALIGNMENT_PROBLEM
        severity: Severity = "error" if both else "embedded error"
        found.add_error(survey.unusable, survey.path, severity)
    factored = any("," in line.options.get(key, "") for key in ("input-factor", "output-factor"))
    for kind, (count, first) in survey.odd.items():
        severity, what, remedy = _ODD[kind]
        if kind != "bar" or not factored:
            what = f"{what} (in {count:,} of {survey.lines:,} lines)"
            found.add(severity, place_of(survey.path, first), what, remedy)
    if not survey.ends_in_line_feed:
        found.add(
            "error" if line.kind == "LexicalReordering" else "warning",
            place_of(survey.path, survey.lines),
            "the last line has no line feed, so the table may have been cut off, and Moses ignores "
            "such a line of a reordering table",
            "check that its last lines are complete, and end the last one with a line feed",
        )


def _check_phrase_table(found: Diagnosis, survey: TableSurvey, declared: int | None) -> None:
    """Check the scores of a phrase table; ``declared`` is how many the ini declares."""
    scores, path = survey.scores, survey.path
    for index in range(scores.scores):
        name = f"score {index + 1}"
        if count := int(scores.infinite[index]):
            found.error(path, f"Moses reads {name} as infinite in {count:,} lines", _TOO_HIGH)
        if count := int(scores.floored[index]):
            severity: Severity = "error" if count == survey.lines else "warning"
            what = f"{name} {floored_share(count, int(scores.zeros[index]), survey.lines)}"
            remedy = "a few are normal; many mean that the column does not contain probabilities"
            found.add(severity, path, what, remedy)
        if scores.lowest[index] == scores.highest[index] and survey.lines > 1:
            found.warning(
                path,
                f"{name} is {scores.lowest[index]:g} in every line, so its feature only counts "
                "phrases, and MERT may give it any weight",
                "leave the score out, or freeze it with tuneable-components",
            )
    if repetition := scores.repetition():
        found.warning(
            path,
            repetition,
            "use the table without this score, or replace the score with that of another model "
            "(score --replace-column)",
        )
    if survey.format is not None and declared not in (None, survey.format.scores):
        found.error(
            path,
            f"the table has {survey.format.scores} scores, but the ini says "
            f"num-features={declared}",
            "phrasescore ini add-column adapts the ini; or edit num-features and the weights",
        )


def _check_words(
    found: Diagnosis, survey: TableSurvey, source: TextWords, references: Sequence[TextWords]
) -> None:
    """Report how many words of the development set a phrase table knows."""
    tables = (*survey.usable, survey.sources, survey.targets)
    sources, targets, in_sources, in_targets = (set(each.words()).__contains__ for each in tables)
    fate = "Moses copies such words as they are"
    source.check(found, sources, "the phrase table", fate, in_sources, in_targets)
    for text in references[:1]:
        text.check(found, targets, *OF_REFERENCE, in_targets, in_sources)


def _check_reordering(
    found: Diagnosis, survey: TableSurvey, phrase_tables: Sequence[TableSurvey]
) -> None:
    """Look up the first pairs of each phrase table in a reordering table."""
    for table in phrase_tables:
        # other checks report faults, and unsorted tables cannot be compared
        with contextlib.suppress(InputError):
            first = next(read_source_runs(table.path))
            missing = _missing_pairs(first, read_reordering_runs(survey.path))
            if missing:
                share = missing / len(first)
                found.add(
                    "error" if share > 1 / 2 else "warning",
                    survey.path,
                    f"{missing:,} of the first {len(first):,} phrase pairs of {table.path} "
                    f"({share:.1%}) are not in the reordering table; their reordering scores are "
                    "0, better than all others",
                    "use two tables of the same training, or prune both in the same way (Moses's "
                    "remove-orphan-phrase-pairs-from-reordering-table.perl does not help: it only "
                    "removes pairs that the phrase table lacks)",
                )


def _missing_pairs(wanted: TableBlock, blocks: Iterable[TableBlock]) -> int:
    """Return how many pairs a sorted table lacks, with any blanks between words and columns."""

    def pairs(block: TableBlock) -> Iterator[tuple[list[bytes], ...]]:
        for entry in map(block.entry, range(len(block))):
            yield tuple(phrase_tokens(phrase) for phrase in (entry.source, entry.target))

    known: set[str] = set()
    last = wanted.source(len(wanted) - 1) + SEPARATOR
    for block in blocks:
        known.update(map(str, pairs(block)))
        if block.source(len(block) - 1) + SEPARATOR > last:
            break
    return sum(str(pair) not in known for pair in pairs(wanted))


def check_binary_tables(found: Diagnosis, ini: MosesIni) -> None:
    """Compare how many scores each binary phrase table has with the table's line in the ini."""
    for line in ini.features:
        declared = declared_scores(line) if line.kind in _STATED_SCORES else None
        if declared is None or "path" not in line.options:
            continue
        folder, (name, key) = line.options["path"], _STATED_SCORES[line.kind]
        with found.collecting(folder):
            words = map(bytes.split, read_lines(Path(folder, name)))
            stated = [each[1] for each in words if len(each) == 2 and each[0] == key]
            if stated != [b"%d" % declared]:
                scores = visible(b" ".join(stated), 20) or "an unknown number of"
                found.error(
                    place_of(ini.path, line.line),
                    f"the binary table {folder} has {scores} scores, but the ini says "
                    f"num-features={declared}; Moses would crash",
                    "make the binary table again from the text table with all columns: "
                    + BINARISERS[line.kind].format(declared),
                )
