"""The whole examination of a system: everything is examined once, and no fault stops it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moses_integration.doctor.binary_tables import binary_table_findings
from moses_integration.doctor.features import ini_findings
from moses_integration.doctor.findings import Diagnosis, Finding, Place
from moses_integration.doctor.models import (
    language_model_findings,
    neural_model_findings,
    phrase_model_findings,
)
from moses_integration.doctor.table_survey import TableSurvey, survey_table
from moses_integration.doctor.tables import (
    ALIGNMENT_FLAGS,
    FACTOR_FLAGS,
    file_findings,
    line_findings,
    phrase_table_findings,
    reordering_findings,
)
from moses_integration.doctor.texts import (
    Text,
    find_references,
    reference_findings,
    source_findings,
)
from moses_integration.doctor.tuning_runs import moses_findings, work_dir_findings
from moses_integration.doctor.words import TableWords, TextWords
from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS, component_count
from moses_integration.ini.model_files import find_binary_file, find_model_file
from moses_integration.ini.moses_ini import FeatureLine, MosesIni
from phrasescore.errors import IniError, InputError

_REORDERING = "LexicalReordering"
_NO_WORDS = "no development set"


@dataclass(frozen=True)
class Examined:
    """What is examined.

    Args:
        ini: The system's file.
        source: The text to translate, if given.
        references: Its reference translations: files, or prefixes of numbered files.
        models: Folders of phrase models.
        work_dir: The working folder of mert-moses.pl.
        moses: A real Moses that is asked, too.
    """

    ini: str
    source: str | None = None
    references: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    work_dir: str = "mert-work"
    moses: Path | None = None


def examine(examined: Examined) -> Diagnosis:
    """Examine a system.

    Raises:
        InputError: The ini or a text of the development set does not exist or cannot be read.
    """
    return Diagnosis.of(_findings(examined))


def _findings(examined: Examined) -> Iterator[Finding]:
    try:
        ini = MosesIni.read(examined.ini)
        ini.refuse_old_style()
    except IniError as error:
        yield Finding.of(error, examined.ini)
        return
    yield from ini_findings(ini)
    source = Text.read(examined.source) if examined.source is not None else None
    references = [Text.read(path) for path in find_references(examined.references)]
    if source is not None:
        factored = len(ini.values("input-factors")) > 1
        yield from source_findings(source, factored=factored)
        yield from reference_findings(source, references)
    else:
        yield Place(_NO_WORDS).note("its text was not compared with the system")
    words = _words(source)
    reference_words = [_words(text) for text in references]
    yield from _table_findings(ini, words, reference_words)
    yield from binary_table_findings(ini)
    yield from language_model_findings(ini, reference_words)
    yield from neural_model_findings(ini, reference_words)
    if examined.models:
        yield from phrase_model_findings(examined.models, words, reference_words)
    yield from work_dir_findings(ini, examined.work_dir)
    if examined.moses is not None:
        yield from moses_findings(ini, examined.moses)


def _words(text: Text | None) -> TextWords:
    return TextWords([], "") if text is None else TextWords(text.tokens(), text.path)


def _table_findings(
    ini: MosesIni, source: TextWords, references: Sequence[TextWords]
) -> Iterator[Finding]:
    """Read every text table, phrase tables first."""
    surveys: list[TableSurvey] = []
    first_reference = references[0] if references else TextWords([], "")
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS and (path := _table_path(line)) is not None:
            yield from file_findings(path)
            words = TableWords(source, first_reference)
            survey = survey_table(path, words)
            yield from line_findings(survey, FACTOR_FLAGS if _is_factored(line) else 0)
            yield from phrase_table_findings(survey, _declared(line))
            if survey.broken is None:
                surveys.append(survey)
                # words are compared with the first table, which is the one that covers the text
                if not surveys[1:]:
                    yield from words.findings(path)
    for line in ini.features:
        if line.kind == _REORDERING and (path := _table_path(line)) is not None:
            yield from file_findings(path)
            survey = survey_table(path, scores=_declared(line))
            factor_flags = FACTOR_FLAGS if _is_factored(line) else 0
            yield from line_findings(survey, ALIGNMENT_FLAGS | factor_flags)
            default = "default-scores" in line.options
            yield from reordering_findings(survey, surveys, default)


def _table_path(line: FeatureLine) -> str | None:
    """Find the text table that a feature reads; one that is missing is reported elsewhere."""
    named = line.options.get("path", "")
    if find_binary_file(named, line.kind) is not None:
        return None
    try:
        path = find_model_file(named).path
    except InputError:
        return None
    return str(path) if path.is_file() else None


def _is_factored(line: FeatureLine) -> bool:
    """Whether a table has several factors of a word."""
    return any("," in line.options.get(key, "") for key in ("input-factor", "output-factor"))


def _declared(line: FeatureLine) -> int | None:
    try:
        return component_count(line.kind, line.options)
    except IniError:
        return None  # reported with the ini
