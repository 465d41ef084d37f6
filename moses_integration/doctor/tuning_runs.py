"""What an earlier mert-moses.pl left in its working folder, and what Moses itself says of an ini.

mert-moses.pl asks Moses for the features once, filters the tables once, and finds both again in
its working folder at the next start, whatever has changed since.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from moses_integration.doctor.findings import Finding, Place
from moses_integration.ini.edits import refuse_in_moses
from moses_integration.ini.model_files import path_keys
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import DecoderError
from moses_integration.real_moses.shown_weights import (
    check_features,
    tuned_sizes,
    version_of,
    weights_shown,
)
from phrasescore.errors import IniError, PhrasescoreError

_FRESH = "name another --working-dir, or remove this one"


def work_dir_findings(ini: MosesIni, folder: str | Path) -> Iterator[Finding]:
    """Judge a working folder of mert-moses.pl, if there is one."""
    folder = Path(folder)
    cached, filtered = folder / "features.list", folder / "filtered" / "moses.ini"
    if cached.is_file():
        yield from _cached_findings(ini, cached)
    if filtered.is_file():
        yield from _filtered_findings(ini, filtered)
    elif not cached.is_file() and any(folder.glob("run*.moses.ini")):
        yield Place(folder).warning("an earlier tuning is here", _FRESH)


def _cached_findings(ini: MosesIni, cached: Path) -> Iterator[Finding]:
    expected = _sizes(ini)
    found = weights_shown(cached.read_text("utf-8", "surrogateescape"))
    if expected is None:
        return
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


def _sizes(ini: MosesIni) -> dict[str, int] | None:
    try:
        return tuned_sizes(ini)
    except IniError:
        return None  # said elsewhere


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
