"""The whole examination of a system: everything is examined once, and no fault stops it."""

from __future__ import annotations

from collections.abc import Iterator
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
from moses_integration.doctor.tables import text_table_findings
from moses_integration.doctor.texts import (
    Text,
    find_references,
    reference_findings,
    source_findings,
)
from moses_integration.doctor.tuning_runs import moses_findings, work_dir_findings
from moses_integration.doctor.words import TextWords
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import IniError

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
    yield from text_table_findings(ini, words, reference_words)
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
