"""Checks of phrase tables and reordering tables, and of how they fit the ini.

Tables in Moses's binary forms are checked for truncation and for their number of scores, which is
fixed when a binary table is made. Moses compares it with num-features only for compact tables; with
the other two forms it crashes. Sources: PhraseDictionaryCompact.cpp, PhraseDecoder.cpp,
BlockHashIndex.cpp, OnDiskWrapper.cpp and probingpt/storing.cpp of mosesdecoder 34452895f.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.doctor.table_survey import TableSurvey, TableWords, survey_table
from moses_integration.doctor.texts import TextWords
from moses_integration.ini.feature_kinds import BINARISERS, TEXT_TABLE_KINDS, component_count
from moses_integration.ini.listing import Severity
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.tables.score_survey import floored_share
from phrasescore.errors import IniError, InputError, PhraseTableError
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.table.input_files import GZIP_MAGIC, whole_number

_DEFAULT_SCORES = 4
_SCORES_JUDGED = 100
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
# binary form -> the ending of the path or the file in the folder, and the line with the scores
_STATED_SCORES = {
    "PhraseDictionaryCompact": (".minphr", ""),
    "PhraseDictionaryOnDisk": ("Misc.dat", "NumScores"),
    "ProbingPT": ("config", "num_scores"),
}
_MAX_STATED = 1 << 40  # bytes or scores that a damaged binary table may state


def check_text_tables(
    found: Diagnosis, ini: MosesIni, source: TextWords, references: Sequence[TextWords]
) -> None:
    """Read every text table of an ini, phrase tables first."""
    surveys: list[TableSurvey] = []
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS and (path := _text_table(line)) is not None:
            words = TableWords(source, references[0] if references else TextWords([], ""))
            survey = survey_table(path, words)
            _check_lines(found, survey, _ignored(line))
            _check_phrase_table(found, survey, declared_scores(line))
            if survey.broken is None:
                # only the first table has to cover the text
                if not surveys:
                    words.check(found, path)
                surveys.append(survey)
    for line in ini.features:
        if line.kind == "LexicalReordering" and (path := _text_table(line)) is not None:
            survey = survey_table(path, scores=declared_scores(line))
            _check_lines(found, survey, ["no alignment", "bad alignment", *_ignored(line)])
            _check_reordering(found, survey, surveys, "default-scores" in line.options)


def _check_lines(found: Diagnosis, survey: TableSurvey, ignored: Sequence[str] = ()) -> None:
    """Report the bad and odd lines of a table, except for ``ignored`` kinds of odd lines."""
    with Path(survey.path).open("rb") as stream:
        zipped = stream.read(2) == GZIP_MAGIC
    if zipped != is_gzip_name(survey.path):  # Moses unzips by the name alone
        what = "plain text in a file whose name ends in .gz; Moses would try to unzip it"
        if zipped:
            what = "gzip data in a file whose name does not end in .gz; Moses would not unzip it"
        found.error(survey.path, what, "rename it, or change its compression")
    if survey.broken is not None:
        found.add_error(survey.broken, survey.path)
    for error, count in survey.faults.values():
        more = f"; {count - 1:,} more {'lines are' if count > 2 else 'line is'} like this"
        what = error.problem + (more if count > 1 else "")
        found.error(place_of(survey.path, error.line), what, error.remedy or "")
    for kind, (severity, what, remedy) in _ODD.items():
        if kind in survey.odd and kind not in ignored:
            count, first = survey.odd[kind]
            counted = f"in {count:,} of {survey.lines:,} lines"
            found.add(severity, place_of(survey.path, first), f"{what} ({counted})", remedy)


def _check_scores(found: Diagnosis, survey: TableSurvey, scores: int) -> None:
    """Report the odd scores of a phrase table."""
    for index in range(min(scores, _SCORES_JUDGED)):
        name = f"score {index + 1}"
        if count := int(survey.scores.infinite[index]):
            found.error(
                survey.path,
                f"{name} is infinite for Moses in {count:,} lines",
                "write probabilities, which are at most 1, into the scores",
            )
        if count := int(survey.scores.floored[index]):
            share = floored_share(count, int(survey.scores.zeros[index]), survey.lines)
            severity: Severity = "warning"
            remedy = "a few are normal; many mean that the column does not hold probabilities"
            if count == survey.lines:
                severity = "error"
                remedy = "write probabilities; this column carries no information"
            found.add(severity, survey.path, f"{name} {share}", remedy)
        lowest, highest = survey.scores.lowest[index], survey.scores.highest[index]
        if lowest == highest and survey.lines > 1:
            found.warning(
                survey.path,
                f"{name} is {lowest:g} in every line, so its feature only counts phrases, and "
                "MERT may give it any weight",
                "leave it out, or freeze it with tuneable-components",
            )
        elif count := int(survey.scores.above_one[index]):
            found.note(
                survey.path,
                f"{name} is above 1 in {count:,} of {survey.lines:,} lines: correct for a count "
                "written as exp(count), wrong for a probability",
            )


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
    _check_scores(found, survey, scores)
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
        name, key = _STATED_SCORES[line.kind]
        file = Path(named, name) if key else Path(named.removesuffix(name) + name)
        place = place_of(ini.path, line.line)
        if not file.is_file():
            found.error(place, f"{line.kind} reads {file}, which does not exist", command)
            continue
        with found.collecting(file):
            scores = _named_number(file, key) if key else compact_scores(file)
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
