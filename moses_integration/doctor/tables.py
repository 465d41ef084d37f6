"""Faults of phrase tables and reordering tables, and disagreements between them and the ini.

Tables in Moses's binary forms are checked for truncation and for their number of scores, which is
fixed when a binary table is made. Moses compares it with num-features only for compact tables; with
the other two forms it crashes. Sources: PhraseDictionaryCompact.cpp, PhraseDecoder.cpp,
BlockHashIndex.cpp, OnDiskWrapper.cpp and probingpt/storing.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from moses_integration.doctor import table_survey as flags
from moses_integration.doctor.findings import Finding, Place, Severity
from moses_integration.doctor.table_survey import TableSurvey, survey_table
from moses_integration.doctor.words import TableWords, TextWords
from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS, component_count
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.tables.score_survey import floored_share
from phrasescore.errors import IniError, InputError, PhraseTableError, visible
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.table.input_files import GZIP_MAGIC, whole_number

_REORDERING = "LexicalReordering"
_DEFAULT_SCORES = 4
_ESCAPE = "make the table again from escaped text (phrasescore preprocess, or Moses's tokenizer)"
_SCORES_JUDGED = 100
_BAR = "a '|' in the {} phrase, where Moses keeps only the word's part before it"
_LABEL = "a {} word in brackets, which Moses takes for the label of a rule"
# flag -> severity, fault, remedy
_ODD: dict[int, tuple[Severity, str, str]] = {
    flags.SOURCE_BAR: ("error", _BAR.format("source"), _ESCAPE),
    flags.TARGET_BAR: ("error", _BAR.format("target"), _ESCAPE),
    flags.SOURCE_LABEL: ("error", _LABEL.format("source"), _ESCAPE),
    flags.TARGET_LABEL: ("error", _LABEL.format("target"), _ESCAPE),
    flags.NO_ALIGNMENT: (
        "note",
        "no word alignment, without which processPhraseTableMin needs -encoding None",
        "",
    ),
    flags.BAD_ALIGNMENT: (
        "warning",
        "word alignment that points outside the phrases",
        "make the table again; columns 1, 2 and 4 do not belong together",
    ),
    flags.UNSORTED: (
        "warning",
        "a line that sorts before the previous one; text tables may be in any order, but "
        "processPhraseTableMin, CreateOnDiskPt and CreateProbingPT need them sorted",
        "sort it before making it binary: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz",
    ),
    flags.REPEATED: (
        "warning",
        "the same phrase pair as the line before; Moses does not merge them",
        "keep one of them: the second takes up one of the table-limit best places",
    ),
}
# a factored table has bars between factors
_FACTOR_FLAGS = flags.SOURCE_BAR | flags.TARGET_BAR
# a reordering table has no alignment
_ALIGNMENT_FLAGS = flags.NO_ALIGNMENT | flags.BAD_ALIGNMENT
_LONG = struct.Struct("<Q")
_LARGEST = 1 << 40
_INT = struct.Struct("<i")


def text_table_findings(
    ini: MosesIni, source: TextWords, references: Sequence[TextWords]
) -> Iterator[Finding]:
    """Read every text table of an ini, phrase tables first."""
    surveys: list[TableSurvey] = []
    first_reference = references[0] if references else TextWords([], "")
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS and (path := _table_path(line)) is not None:
            yield from _file_findings(path)
            words = TableWords(source, first_reference)
            survey = survey_table(path, words)
            yield from _line_findings(survey, _factor_flags(line))
            yield from _phrase_table_findings(survey, declared_scores(line))
            if survey.broken is None:
                surveys.append(survey)
                # only the first table has to cover the text
                if not surveys[1:]:
                    yield from words.findings(path)
    for line in ini.features:
        if line.kind == _REORDERING and (path := _table_path(line)) is not None:
            yield from _file_findings(path)
            survey = survey_table(path, scores=declared_scores(line))
            yield from _line_findings(survey, _ALIGNMENT_FLAGS | _factor_flags(line))
            default = "default-scores" in line.options
            yield from _reordering_findings(survey, surveys, default)


def _table_path(line: FeatureLine) -> str | None:
    """Find the text table that a feature reads; `features` reports a missing one."""
    named = line.options.get("path", "")
    if find_binary_file(named, line.kind) is not None:
        return None
    try:
        path = find_model_file(named).path
    except InputError:
        return None
    return str(path) if path.is_file() else None


def _factor_flags(line: FeatureLine) -> int:
    """Return the flags to ignore for a table: bars are normal between factors."""
    factored = any("," in line.options.get(key, "") for key in ("input-factor", "output-factor"))
    return _FACTOR_FLAGS if factored else 0


def _file_findings(path: str | Path) -> Iterator[Finding]:
    """Compare a table's name with its content: Moses unzips by the name alone."""
    with Path(path).open("rb") as stream:
        zipped = stream.read(2) == GZIP_MAGIC
    if zipped and not is_gzip_name(path):
        yield Place(path).error(
            "gzip data in a file whose name does not end in .gz; Moses would read it as text",
            "rename it",
        )
    if not zipped and is_gzip_name(path):
        yield Place(path).error(
            "plain text in a file whose name ends in .gz; Moses would try to unzip it",
            "rename or compress it",
        )


def _line_findings(survey: TableSurvey, ignored: int = 0) -> Iterator[Finding]:
    """Report the bad lines of a table of either kind, without the ``ignored`` flags."""
    if survey.broken is not None:
        yield Finding.from_error(survey.broken, survey.path)
    for fault in survey.faults.values():
        error, more = fault.error, fault.count - 1
        others = f"; {more:,} more {'lines are' if more > 1 else 'line is'} like this"
        yield Place(survey.path, error.line).error(
            error.problem + (others if more else ""), error.remedy or ""
        )
    for flag, (severity, what, remedy) in _ODD.items():
        count, first = survey.odd.get(flag, (0, 0))
        if count and not flag & ignored:
            counted = f"in {count:,} of {survey.lines:,} lines"
            yield Place(survey.path, first).finding(severity, f"{what} ({counted})", remedy)


def _score_findings(survey: TableSurvey) -> Iterator[Finding]:
    """Check the scores of a phrase table."""
    if survey.format is None:
        return
    # report only the first _SCORES_JUDGED columns
    for index in range(min(survey.format.scores, _SCORES_JUDGED)):
        name = f"score {index + 1}"
        if count := int(survey.scores.infinite[index]):
            yield Place(survey.path).error(
                f"{name} is infinite for Moses in {count:,} lines",
                "write probabilities, which are at most 1, into the scores",
            )
        if count := int(survey.scores.floored[index]):
            yield _floored(survey, name, count, int(survey.scores.zeros[index]))
        constant = survey.constant[index] if survey.constant else None
        if constant is not None and survey.lines > 1:
            yield Place(survey.path).warning(
                f"{name} is {visible(constant)} in every line, so its feature only counts phrases, "
                "and MERT may give it any weight",
                "leave it out, or freeze it with tuneable-components",
            )
        elif count := int(survey.scores.above_one[index]):
            yield Place(survey.path).note(
                f"{name} is above 1 in {count:,} of {survey.lines:,} lines: correct for a count "
                "written as exp(count), wrong for a probability"
            )


def _floored(survey: TableSurvey, name: str, count: int, zeros: int) -> Finding:
    everywhere = count == survey.lines
    return Place(survey.path).finding(
        "error" if everywhere else "warning",
        f"{name} {floored_share(count, zeros, survey.lines)}",
        "write probabilities; this column carries no information"
        if everywhere
        else "a few are normal; many mean that the column does not hold probabilities",
    )


def _phrase_table_findings(survey: TableSurvey, declared: int | None) -> Iterator[Finding]:
    """Check a text phrase table as a whole.

    Args:
        survey: The survey of its lines.
        declared: Its number of scores according to the ini, if that is known.
    """
    yield from _score_findings(survey)
    if survey.lines and not survey.ends_in_line_feed:
        yield Place(survey.path, survey.lines).warning(
            "the last line has no line feed, so the table may have been cut off",
            "check that its last lines are complete, and end the last one with a line feed",
        )
    if survey.format is None:
        return
    scores = survey.format.scores
    if declared is not None and declared != scores:
        yield Place(survey.path).error(
            f"the table has {scores} scores, but the ini says num-features={declared}",
            "adapt the ini to the table: phrasescore ini add-column, or edit num-features and "
            "the weights",
        )
    if scores != _DEFAULT_SCORES:
        yield Place(survey.path).note(
            f"{scores} scores: tell the program that makes the table binary",
            f"processPhraseTableMin -nscores {scores}; CreateOnDiskPt 1 1 {scores} 20 2; "
            f"CreateProbingPT --num-scores {scores}; the latter two also in the -Binarizer of "
            "filter-model-given-input.pl",
        )


def _reordering_findings(
    survey: TableSurvey, phrase_tables: list[TableSurvey], has_default: bool
) -> Iterator[Finding]:
    """Check a reordering table, and whether it has the pairs of the phrase tables.

    Args:
        survey: The survey of its lines.
        phrase_tables: The phrase tables that could be read to their ends.
        has_default: Whether the ini gives scores for missing pairs.
    """
    if survey.lines and not survey.ends_in_line_feed:
        yield Place(survey.path, survey.lines).error(
            "the last line has no line feed, and Moses ignores it",
            "end it with a line feed; check whether the table was cut off",
        )
    for table in phrase_tables:
        compared, missing = table.pairs.missing_in(survey.pairs)
        if not missing or has_default:
            continue
        share = missing / compared
        counted = f"{missing:,} of {compared:,}" + (" sampled" if table.pairs.shift else "")
        yield Place(survey.path).finding(
            "error" if share > 1 / 2 else "warning",
            f"{counted} phrase pairs of {table.path} ({share:.1%}) are not in the reordering "
            "table; their reordering scores are 0, better than all others",
            "use the two tables of one training, or prune both in the same way (Moses's "
            "remove-orphan-phrase-pairs-from-reordering-table.perl does the opposite)",
        )


@dataclass(frozen=True)
class _Form:
    """A binary form: the file with the number of scores, its reader, and the command to make it."""

    file: Callable[[str], Path]
    scores: Callable[[Path], int]
    command: str


def compact_scores(path: Path) -> int:
    """Read the number of scores of a compact table (.minphr), which follows its index.

    Raises:
        PhraseTableError: The file ends before that.
    """
    with path.open("rb") as stream:
        _skip(stream, 16)
        index = _long(stream)
        stream.seek(16 + min(index, _LARGEST))
        # the landmarks: two flags, two numbers, then four arrays of elements of these sizes
        _skip(stream, 1 + 1 + 8 + 8)
        for size in (4, 4, 1, 8):
            _skip(stream, _long(stream) * size)
        _skip(stream, 8)
        coding, scores = _INT.unpack(_read(stream, 4))[0], _long(stream)
    if not 0 <= coding <= 2 or not 0 < scores < 1 << 16:
        raise PhraseTableError("not a compact phrase table", path=path)
    return scores


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise PhraseTableError(
            "the file ends too early", path=stream.name, remedy="make the binary table again"
        )
    return data


def _long(stream: BinaryIO) -> int:
    number: int = _LONG.unpack(_read(stream, 8))[0]
    return number


def _skip(stream: BinaryIO, size: int) -> None:
    # bounded, because a file that is not a table may state any size
    stream.seek(min(size, _LARGEST), 1)


def _named_number(path: Path, name: str) -> int:
    """Read a number from a file of lines ``name number``."""
    for line in path.read_bytes().split(b"\n"):
        words = line.split()
        if len(words) == 2 and words[0] == name.encode():
            number = whole_number(words[1], _LARGEST)
            if number is not None:
                return number
    raise PhraseTableError(
        f"the line {name} is missing", path=path, remedy="make the binary table again"
    )


_FORMS = {
    "PhraseDictionaryCompact": _Form(
        lambda path: Path(path if path.endswith(".minphr") else f"{path}.minphr"),
        compact_scores,
        "processPhraseTableMin -in TABLE.gz -out NAME -nscores {}",
    ),
    "PhraseDictionaryOnDisk": _Form(
        lambda path: Path(path) / "Misc.dat",
        lambda path: _named_number(path, "NumScores"),
        "CreateOnDiskPt 1 1 {} 20 2 TABLE.gz FOLDER",
    ),
    "ProbingPT": _Form(
        lambda path: Path(path) / "config",
        lambda path: _named_number(path, "num_scores"),
        "CreateProbingPT --num-scores {} --input-pt TABLE.gz --output-dir FOLDER",
    ),
}


def declared_scores(line: FeatureLine) -> int | None:
    """Return the number of scores that an ini declares; ``None`` if the line is wrong."""
    try:
        return component_count(line.kind, line.options)
    except IniError:
        return None  # reported with the ini


def binary_table_findings(ini: MosesIni) -> Iterator[Finding]:
    """Compare every binary phrase table of an ini with its line."""
    for line in ini.features:
        if line.kind in _FORMS and "path" in line.options:
            yield from _table_findings(ini, line, _FORMS[line.kind])


def _table_findings(ini: MosesIni, line: FeatureLine, form: _Form) -> Iterator[Finding]:
    place, declared = Place(ini.path, line.line), declared_scores(line)
    if declared is None:
        return
    command = form.command.format(declared)
    file = form.file(line.options["path"])
    if not file.is_file():
        yield place.error(f"{line.kind} reads {file}, which does not exist", command)
        return
    try:
        scores = form.scores(file)
    except InputError as error:
        yield Finding.from_error(error, str(file))
        return
    if scores != declared:
        yield place.error(
            f"the binary table {line.options['path']} has {scores} scores, but the ini says "
            f"num-features={declared}; Moses would crash or refuse it",
            f"make it again from the text table with all columns: {command}",
        )
    else:
        yield place.note(f"a binary table with {scores} scores, whose lines are not checked")
