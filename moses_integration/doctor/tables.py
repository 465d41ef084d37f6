"""Faults of phrase tables and reordering tables, and between them and the ini."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from moses_integration.doctor import table_survey as flags
from moses_integration.doctor.findings import Finding, Place, Severity
from moses_integration.doctor.table_survey import TableSurvey
from moses_integration.tables.score_survey import floored_share
from phrasescore.errors import visible
from phrasescore.runs.final_names import is_gzip_name
from phrasescore.table.input_files import GZIP_MAGIC

_DEFAULT_SCORES = 4
_ESCAPE = "make the table again from escaped text (phrasescore preprocess, or Moses's tokenizer)"
_SCORES_JUDGED = 100
_BAR = "a '|' in the {} phrase, where Moses keeps only the word's part before it"
_LABEL = "a {} word in brackets, which Moses takes for the label of a rule"
# flag -> how bad it is, what it is, what to do
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
        "a line that is smaller than the one before; text tables may be in any order, but "
        "processPhraseTableMin, CreateOnDiskPt and CreateProbingPT need them sorted",
        "sort it before it is made binary: zcat TABLE.gz | LC_ALL=C sort | gzip > SORTED.gz",
    ),
    flags.REPEATED: (
        "warning",
        "the same phrase pair as the line before; Moses does not merge them",
        "keep one of them: the second takes a place among the table-limit best",
    ),
}
# a factored table has bars between factors
FACTOR_FLAGS = flags.SOURCE_BAR | flags.TARGET_BAR
# a reordering table has no alignment
ALIGNMENT_FLAGS = flags.NO_ALIGNMENT | flags.BAD_ALIGNMENT


def file_findings(path: str | Path) -> Iterator[Finding]:
    """Compare a table's name with its content: Moses goes by the name."""
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


def line_findings(survey: TableSurvey, ignored: int = 0) -> Iterator[Finding]:
    """Judge the lines of a table of either kind, except for some flags."""
    if survey.broken is not None:
        yield Finding.of(survey.broken, survey.path)
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


def score_findings(survey: TableSurvey) -> Iterator[Finding]:
    """Judge the scores of a phrase table."""
    if survey.format is None:
        return
    # of a table with more scores, report only the first ones
    for index in range(min(survey.format.scores, _SCORES_JUDGED)):
        name = f"score {index + 1}"
        if count := int(survey.infinite[index]):
            yield Place(survey.path).error(
                f"{name} is infinite for Moses in {count:,} lines",
                "write probabilities, which are at most 1, into the scores",
            )
        if count := int(survey.floored[index]):
            yield _floored(survey, name, count, int(survey.zeros[index]))
        constant = survey.constant[index] if survey.constant else None
        if constant is not None and survey.lines > 1:
            yield Place(survey.path).warning(
                f"{name} is {visible(constant)} in every line, so its feature only counts phrases, "
                "and MERT may give it any weight",
                "leave it out, or freeze it with tuneable-components",
            )
        elif count := int(survey.above_one[index]):
            yield Place(survey.path).note(
                f"{name} is above 1 in {count:,} of {survey.lines:,} lines: right for a count "
                "written as exp(count), wrong for a probability"
            )


def _floored(survey: TableSurvey, name: str, count: int, zeros: int) -> Finding:
    everywhere = count == survey.lines
    return Place(survey.path).finding(
        "error" if everywhere else "warning",
        f"{name} {floored_share(count, zeros, survey.lines)}",
        "write probabilities; a column without any information was written"
        if everywhere
        else "a few are normal; many mean that something else than probabilities was written",
    )


def phrase_table_findings(survey: TableSurvey, declared: int | None) -> Iterator[Finding]:
    """Judge a text phrase table as a whole.

    Args:
        survey: What it is like.
        declared: How many scores the ini says it has, where that is known.
    """
    yield from score_findings(survey)
    if survey.lines and not survey.ends_in_line_feed:
        yield Place(survey.path, survey.lines).warning(
            "the last line has no line feed, so the table may have been cut off",
            "see whether its last lines are whole; end them with a line feed",
        )
    if survey.format is None:
        return
    scores = survey.format.scores
    if declared is not None and declared != scores:
        yield Place(survey.path).error(
            f"the table has {scores} scores, but the ini says num-features={declared}",
            "let the ini follow the table: phrasescore ini add-column, or edit num-features and "
            "the weights",
        )
    if scores != _DEFAULT_SCORES:
        yield Place(survey.path).note(
            f"{scores} scores: tell this to what makes the table binary",
            f"processPhraseTableMin -nscores {scores}; CreateOnDiskPt 1 1 {scores} 20 2; "
            f"CreateProbingPT --num-scores {scores}; the latter two also in the -Binarizer of "
            "filter-model-given-input.pl",
        )


def reordering_findings(
    survey: TableSurvey, phrase_tables: list[TableSurvey], has_default: bool
) -> Iterator[Finding]:
    """Judge a reordering table, and whether it has the pairs of the phrase tables.

    Args:
        survey: What it is like.
        phrase_tables: Those that were read to their ends.
        has_default: Whether the ini gives scores for pairs that are not there.
    """
    if survey.lines and not survey.ends_in_line_feed:
        yield Place(survey.path, survey.lines).error(
            "the last line has no line feed, and Moses ignores it",
            "end it with a line feed; see whether the table was cut off",
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
            "table; their reordering scores are 0, better than those of all others",
            "use the two tables of one training; or prune the one like the other (Moses's "
            "remove-orphan-phrase-pairs-from-reordering-table.perl goes the other way)",
        )
