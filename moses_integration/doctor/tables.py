"""Checks of phrase tables and reordering tables, by themselves and against the ini.

The number of scores of a table in one of Moses's binary forms is fixed when it is made. Moses
compares it with num-features only for compact tables; with the other two forms it crashes, so these
are checked here. Sources: PhraseDictionaryCompact.cpp, OnDiskWrapper.cpp and probingpt/storing.cpp
of mosesdecoder 34452895f.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moses_integration.doctor.findings import Diagnosis, place_of
from moses_integration.doctor.table_survey import TableSurvey, TableWords, survey_table
from moses_integration.doctor.texts import TextWords
from moses_integration.ini.feature_kinds import BINARISERS, TEXT_TABLE_KINDS, component_count
from moses_integration.ini.listing import Severity
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from moses_integration.tables.score_survey import floored_share
from phrasescore.errors import IniError, InputError, visible
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.table.input_files import GZIP_MAGIC, read_lines

_SCORES_JUDGED = 100
_ESCAPE = "make the table again from escaped text (phrasescore preprocess, or Moses's tokenizer)"
# kind of odd line -> severity, fault, remedy
_ODD: dict[str, tuple[Severity, str, str]] = {
    "bar": ("error", "a '|' in a word, of which Moses keeps only the part before it", _ESCAPE),
    "label": ("error", "a word in brackets, which Moses takes for the label of a rule", _ESCAPE),
    "unsorted": (
        "warning",
        "a line that sorts before the previous one; text tables may be in any order, but "
        "processPhraseTableMin, CreateOnDiskPt and CreateProbingPT need them sorted",
        "sort it before making it binary: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz",
    ),
}
# binary form -> the file in its folder that states the number of scores, and the name in that file
_STATED_SCORES = {
    "PhraseDictionaryOnDisk": ("Misc.dat", b"NumScores"),
    "ProbingPT": ("config", b"num_scores"),
}


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
            _check_lines(found, survey, _ignored(line))
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


def _check_scores(found: Diagnosis, survey: TableSurvey) -> None:
    """Report the odd scores of a phrase table."""
    scores, path = survey.scores, survey.path
    for index in range(min(scores.scores, _SCORES_JUDGED)):
        name = f"score {index + 1}"
        if count := int(scores.infinite[index]):
            found.error(
                path,
                f"{name} is infinite for Moses in {count:,} lines",
                "write probabilities, which are at most 1, into the scores",
            )
        if count := int(scores.floored[index]):
            found.add(
                "error" if count == survey.lines else "warning",
                path,
                f"{name} {floored_share(count, int(scores.zeros[index]), survey.lines)}",
                "a few are normal; many mean that the column does not hold probabilities",
            )
        lowest, highest = scores.lowest[index], scores.highest[index]
        if lowest == highest and survey.lines > 1:
            found.warning(
                path,
                f"{name} is {lowest:g} in every line, so its feature only counts phrases, and "
                "MERT may give it any weight",
                "leave it out, or freeze it with tuneable-components",
            )
        elif count := int(scores.above_one[index]):
            found.note(
                path,
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
    """Return the kinds of odd lines that are normal in a factored table."""
    factored = any("," in line.options.get(key, "") for key in ("input-factor", "output-factor"))
    return ["bar"] if factored else []


def _check_phrase_table(found: Diagnosis, survey: TableSurvey, declared: int | None) -> None:
    """Check a text phrase table as a whole; ``declared`` is its number of scores by the ini."""
    if survey.format is None:
        return
    _check_scores(found, survey)
    if not survey.ends_in_line_feed:
        found.warning(
            place_of(survey.path, survey.lines),
            "the last line has no line feed, so the table may have been cut off",
            "check that its last lines are complete, and end the last one with a line feed",
        )
    if declared is not None and declared != survey.format.scores:
        found.error(
            survey.path,
            f"the table has {survey.format.scores} scores, but the ini says "
            f"num-features={declared}",
            "adapt the ini to the table: phrasescore ini add-column, or edit num-features and "
            "the weights",
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
    if not survey.ends_in_line_feed:
        found.error(
            place_of(survey.path, survey.lines),
            "the last line has no line feed, and Moses ignores it",
            "end it with a line feed; check whether the table was cut off",
        )
    for table in phrase_tables:
        compared, missing = table.missing_in(survey)
        if not missing or has_default:
            continue
        share = missing / compared
        counted = f"{missing:,} of {compared:,}" + (" sampled" if table.shift else "")
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
    """Compare the binary phrase tables of an ini, whose lines are not checked, with their lines."""
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
                    "make it again from the text table with all columns: "
                    + BINARISERS[line.kind].format(declared),
                )
