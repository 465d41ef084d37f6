"""The complete check of a system: a fault is recorded, and the check goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from moses_integration.doctor.features import ini_findings
from moses_integration.doctor.findings import Diagnosis, Finding, Place
from moses_integration.doctor.models import (
    language_model_findings,
    neural_model_findings,
    phrase_model_findings,
)
from moses_integration.doctor.tables import binary_table_findings, text_table_findings
from moses_integration.doctor.texts import (
    Text,
    find_references,
    reference_findings,
    source_findings,
)
from moses_integration.doctor.words import TextWords
from moses_integration.ini.edits import refuse_in_moses
from moses_integration.ini.model_files import path_keys
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import (
    DecoderError,
    check_features,
    tuned_sizes,
    version_of,
    weights_shown,
)
from phrasescore.errors import IniError, PhrasescoreError

_FRESH = "name another --working-dir, or remove this one"


def examine(
    ini: str,
    source: str | None = None,
    references: Sequence[str] = (),
    models: Sequence[str] = (),
    *,
    work_dir: str = "mert-work",
    moses: Path | None = None,
) -> Diagnosis:
    """Check a system with everything that belongs to it.

    Args:
        ini: The path of the system's moses.ini.
        source: The text to translate.
        references: Its reference translations: files, or prefixes of numbered files.
        models: Folders of phrase models.
        work_dir: The working folder of mert-moses.pl.
        moses: A real Moses that is to read the ini, too.

    Raises:
        InputError: The ini or a text of the development set does not exist or cannot be read.
    """
    try:
        system = MosesIni.read(ini)
        system.refuse_old_style()
    except IniError as error:
        return Diagnosis.from_findings([Finding.from_error(error, ini)])
    text = Text.read(source) if source is not None else None
    translations = [Text.read(path) for path in find_references(references)]
    findings = [*ini_findings(system), *_text_findings(system, text, translations, models)]
    findings += work_dir_findings(system, work_dir)
    if moses is not None:
        findings += moses_findings(system, moses)
    return Diagnosis.from_findings(findings)


def _text_findings(
    ini: MosesIni, source: Text | None, references: Sequence[Text], models: Sequence[str]
) -> Iterator[Finding]:
    """Check the development set, and the tables and models with its words."""
    if source is not None:
        factored = len(ini.values("input-factors")) > 1
        yield from source_findings(source, factored=factored)
        yield from reference_findings(source, references)
    else:
        yield Place("no development set").note("its text was not compared with the system")
    words = TextWords([], "") if source is None else TextWords(source.tokens(), source.path)
    reference_words = [TextWords(text.tokens(), text.path) for text in references]
    yield from text_table_findings(ini, words, reference_words)
    yield from binary_table_findings(ini)
    yield from language_model_findings(ini, reference_words)
    yield from neural_model_findings(ini, reference_words)
    if models:
        yield from phrase_model_findings(models, words, reference_words)


def work_dir_findings(ini: MosesIni, folder: str | Path) -> Iterator[Finding]:
    """Check the working folder of mert-moses.pl, if there is one.

    mert-moses.pl keeps the list of features and the filtered tables in this folder, and takes them
    from there at its next start even if the system has changed since.
    """
    folder = Path(folder)
    cached, filtered = folder / "features.list", folder / "filtered" / "moses.ini"
    if cached.is_file():
        yield from _cached_findings(ini, cached)
    if filtered.is_file():
        yield from _filtered_findings(ini, filtered)
    elif not cached.is_file() and any(folder.glob("run*.moses.ini")):
        yield Place(folder).warning("an earlier tuning is here", _FRESH)


def _cached_findings(ini: MosesIni, cached: Path) -> Iterator[Finding]:
    found = weights_shown(cached.read_text("utf-8", "surrogateescape"))
    try:
        expected = tuned_sizes(ini)
    except IniError:
        return  # reported with the ini
    if found != expected:
        wrong = sorted(set(found.items()) ^ set(expected.items()))[0][0]
        yield Place(cached).error(
            "mert-moses.pl would take the features of an earlier tuning from here, which differ "
            f"from those of {ini.path}: {wrong} has {found.get(wrong, 0)} values, now "
            f"{expected.get(wrong, 0)}",
            _FRESH,
        )
    else:
        yield Place(cached).warning(
            "mert-moses.pl would take the features and start weights of an earlier tuning from "
            f"here, not those of {ini.path}",
            _FRESH,
        )


def _filtered_findings(ini: MosesIni, filtered: Path) -> Iterator[Finding]:
    try:
        old = MosesIni.read(filtered)
    except PhrasescoreError as error:
        yield Finding.from_error(error, str(filtered))
        return
    features = {line.name: line for line in ini.features}
    for line in old.features:
        now = features.get(line.name)
        if now is None or line.options.get("num-features") != now.options.get("num-features"):
            yield Place(filtered).error(
                f"the filtered system of an earlier tuning has another {line.name}; mert-moses.pl "
                "would use it",
                _FRESH,
            )
        elif any(_is_older(line.options[key], now.options.get(key, "")) for key in path_keys(line)):
            yield Place(filtered).error(
                f"the filtered table of {line.name} is older than {now.options['path']}; "
                "mert-moses.pl would use the old one",
                _FRESH,
            )


def _is_older(one: str, other: str) -> bool:
    """Return whether two different files exist and the first one is older."""
    try:
        first, second = Path(one).stat(), Path(other).stat()
    except OSError:
        return False
    return first.st_ino != second.st_ino and first.st_mtime < second.st_mtime


def moses_findings(ini: MosesIni, binary: Path) -> Iterator[Finding]:
    """Let real Moses read the ini and its language models (it loads no phrase table for that)."""
    try:
        refuse_in_moses(ini)
    except IniError as error:
        yield Finding.from_error(error, ini.path)
        return
    try:
        check_features(binary, ini, ini.path)
    except DecoderError as error:
        yield Finding.from_error(error, ini.path)
    except IniError:
        return  # reported with the ini
    else:
        yield Place(ini.path).note(
            f"Moses {version_of(binary)} reads the file and has the expected features"
        )
