"""The whole examination of a system: everything is examined once, and no fault stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
        yield Place("no development set").note("its text was not compared with the system")
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


def work_dir_findings(ini: MosesIni, folder: str | Path) -> Iterator[Finding]:
    """Judge a working folder of mert-moses.pl, if there is one.

    mert-moses.pl asks Moses for the features once, filters the tables once, and finds both again in
    its working folder at the next start, whatever has changed since.
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
            "features of an earlier tuning, which mert-moses.pl takes, and which are not those of "
            f"{ini.path}: {wrong} has {found.get(wrong, 0)} values, now {expected.get(wrong, 0)}",
            _FRESH,
        )
    else:
        yield Place(cached).warning(
            "features and start weights of an earlier tuning; mert-moses.pl takes these, not those "
            f"of {ini.path}",
            _FRESH,
        )


def _filtered_findings(ini: MosesIni, filtered: Path) -> Iterator[Finding]:
    try:
        old = MosesIni.read(filtered)
    except PhrasescoreError as error:
        yield Finding.of(error, str(filtered))
        return
    features = {line.name: line for line in ini.features}
    for line in old.features:
        now = features.get(line.name)
        if now is None or line.options.get("num-features") != now.options.get("num-features"):
            yield Place(filtered).error(
                f"a filtered system of an earlier tuning, whose {line.name} is another; "
                "mert-moses.pl would use it",
                _FRESH,
            )
        elif any(_is_older(line.options[key], now.options.get(key, "")) for key in path_keys(line)):
            yield Place(filtered).error(
                f"the filtered table of {line.name} is older than {now.options['path']}; "
                "mert-moses.pl would use the old one",
                _FRESH,
            )


def _is_older(one: str, other: str) -> bool:
    """Whether both files exist, are not the same, and the first is older."""
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
        yield Finding.of(error, ini.path)
        return
    try:
        check_features(binary, ini, ini.path)
    except DecoderError as error:
        yield Finding.of(error, ini.path)
    except IniError:
        return  # said elsewhere
    else:
        yield Place(ini.path).note(
            f"Moses {version_of(binary)} reads it and has the features expected"
        )
