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
)
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import (
    check_features,
    tuned_sizes,
    weights_shown,
)
from phrasescore.errors import IniError


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
        references: The reference translations of the source text.
        models: Folders of phrase models.
        work_dir: The working folder of mert-moses.pl.
        moses: The binary of real Moses, to read the ini as well; ``None`` to skip this check.

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
    texts = [Text.read(path) for path in references]
    check_ini(found, system)
    words = TextWords([], "")
    reference_words = [TextWords(text.tokens(), text.path) for text in texts]
    if source is None:
        found.note("no development set", "its text was not compared with the system")
    else:
        text = Text.read(source)
        check_source(found, text, factored=len(system.values("input-factors")) > 1)
        check_references(found, text, texts)
        words = TextWords(text.tokens(), text.path)
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
    for path in filter(Path.is_file, (cached, filtered)):
        with found.collecting(path):
            now = tuned_sizes(ini)
            if path == cached:
                before = weights_shown(cached.read_text("utf-8", "surrogateescape"))
            else:
                before = tuned_sizes(MosesIni.read(filtered))
            wrong = [name for name, _ in sorted(set(now.items()) ^ set(before.items()))]
            differ = f", which has another {wrong[0]}" if wrong else ""
            found.add(
                "error" if wrong else "warning",
                path,
                f"mert-moses.pl would take the {'features' if path == cached else 'tables'} of an "
                f"earlier tuning from here{differ}, not those of {ini.path}",
                "name another --working-dir, or remove this one",
            )


def check_moses(found: Diagnosis, ini: MosesIni, binary: Path) -> None:
    """Let real Moses read the ini and its language models (it loads no phrase table for that)."""
    with found.collecting(ini.path):
        check_features(binary, ini, ini.path)
        found.note(ini.path, "Moses reads the file and has the expected features")
