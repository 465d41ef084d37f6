"""The examination of a complete system: every check, each of which reports and goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moses_integration.doctor.features import (
    check_ini,
    check_language_models,
    check_neural_models,
    check_phrase_models,
)
from moses_integration.doctor.findings import Diagnosis
from moses_integration.doctor.tables import check_binary_tables, check_text_tables
from moses_integration.doctor.texts import (
    Text,
    TextWords,
    check_references,
    check_source,
    find_references,
)
from moses_integration.ini.model_files import path_keys
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import (
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
    found = Diagnosis()
    try:
        system = MosesIni.read(ini)
        system.refuse_old_style()
    except IniError as error:
        found.add_error(error, ini)
        return found
    text = Text.read(source) if source is not None else None
    translations = [Text.read(path) for path in find_references(references)]
    check_ini(found, system)
    if text is not None:
        check_source(found, text, factored=len(system.values("input-factors")) > 1)
        check_references(found, text, translations)
        words = TextWords(text.tokens(), text.path)
    else:
        found.note("no development set", "its text was not compared with the system")
        words = TextWords([], "")
    reference_words = [TextWords(text.tokens(), text.path) for text in translations]
    check_text_tables(found, system, words, reference_words)
    check_binary_tables(found, system)
    check_language_models(found, system, reference_words)
    check_neural_models(found, system, reference_words)
    if models:
        check_phrase_models(found, models, words, reference_words)
    check_work_dir(found, system, Path(work_dir))
    if moses is not None:
        check_moses(found, system, moses)
    return found


def check_work_dir(found: Diagnosis, ini: MosesIni, folder: Path) -> None:
    """Check the working folder of mert-moses.pl, if there is one.

    mert-moses.pl keeps the list of features and the filtered tables in this folder, and takes them
    from there at its next start even if the system has changed since.
    """
    cached, filtered = folder / "features.list", folder / "filtered" / "moses.ini"
    if cached.is_file():
        _check_cached_features(found, ini, cached)
    if filtered.is_file():
        with found.collecting(filtered):
            _check_filtered_tables(found, ini, MosesIni.read(filtered))
    elif not cached.is_file() and any(folder.glob("run*.moses.ini")):
        found.warning(folder, "an earlier tuning is here", _FRESH)


def _check_cached_features(found: Diagnosis, ini: MosesIni, cached: Path) -> None:
    sizes = weights_shown(cached.read_text("utf-8", "surrogateescape"))
    try:
        expected = tuned_sizes(ini)
    except IniError:
        return  # reported with the ini
    if sizes == expected:
        found.warning(
            cached,
            "mert-moses.pl would take the features and start weights of an earlier tuning from "
            f"here, not those of {ini.path}",
            _FRESH,
        )
        return
    wrong = sorted(set(sizes.items()) ^ set(expected.items()))[0][0]
    found.error(
        cached,
        "mert-moses.pl would take the features of an earlier tuning from here, which differ "
        f"from those of {ini.path}: {wrong} has {sizes.get(wrong, 0)} values, now "
        f"{expected.get(wrong, 0)}",
        _FRESH,
    )


def _check_filtered_tables(found: Diagnosis, ini: MosesIni, filtered: MosesIni) -> None:
    features = {line.name: line for line in ini.features}
    for line in filtered.features:
        now = features.get(line.name)
        if now is None or line.options.get("num-features") != now.options.get("num-features"):
            found.error(
                filtered.path,
                f"the filtered system of an earlier tuning has another {line.name}; mert-moses.pl "
                "would use it",
                _FRESH,
            )
        elif any(_is_older(line.options[key], now.options.get(key, "")) for key in path_keys(line)):
            found.error(
                filtered.path,
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


def check_moses(found: Diagnosis, ini: MosesIni, binary: Path) -> None:
    """Let real Moses read the ini and its language models (it loads no phrase table for that)."""
    try:
        check_features(binary, ini, ini.path)
    except PhrasescoreError as error:
        found.add_error(error, ini.path)
    else:
        found.note(
            ini.path, f"Moses {version_of(binary)} reads the file and has the expected features"
        )
