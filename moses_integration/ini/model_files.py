"""The files that a moses.ini names: finding them, and making their paths absolute.

Relative paths resolve against the current directory, not against the ini: that is Moses's rule.
Only if a system is named by its folder, they resolve against this folder (`MosesIni.base`). If a
file is missing, the same name with ``.gz`` is tried. (Moses itself tries this name for reordering
tables only; this project tries it for all files.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from moses_integration.ini.feature_kinds import PHRASE_TABLE_KINDS, TEXT_TABLE_KINDS
from moses_integration.ini.moses_ini import FeatureLine, MosesIni, is_path, is_readable
from phrasescore.errors import InputError

# class -> the endings that Moses adds to the path in the ini to find a binary form
_BINARY_ENDINGS = {
    "PhraseDictionaryCompact": (".minphr",),
    "PhraseDictionaryBinary": (".binphr.idx",),
    "LexicalReordering": (".minlexr", ".binlexr.idx"),
}
# the file beside filtered tables that has the words of the text that they were filtered to
FILTER_WORDS = "filtered-to.words"
# the classes of phrase tables that read nothing but such a form
BINARY_TABLE_KINDS = PHRASE_TABLE_KINDS & _BINARY_ENDINGS.keys()
_is_there = os.path.exists  # Path.exists would fail at a name that is too long


def find_binary_file(named: str, kind: str) -> Path | None:
    """Find the binary file that a feature of class ``kind`` reads for a path, if it exists."""
    paths = [Path(named + ending) for ending in _BINARY_ENDINGS.get(kind, ())]
    if kind == "PhraseDictionaryCompact" and named.endswith(".minphr"):
        paths = [Path(named)]
    return next(filter(_is_there, paths), None)


def find_model_file(named: str, kind: str = "") -> Path:
    """Find the file that an ini names; the path stays relative.

    Args:
        named: The path in the ini.
        kind: The class of the feature, whose binary form is tried first; if empty, no binary form
            is tried.

    Raises:
        InputError: The file does not exist, with or without ``.gz``.
    """
    if (binary := find_binary_file(named, kind)) is not None:
        return binary
    path = Path(named)
    if named and _is_there(path):
        return path
    zipped = path.with_name(f"{path.name}.gz") if path.name else path
    if named and _is_there(zipped):
        return zipped
    remedy = "correct the path in the moses.ini"
    if not path.is_absolute():
        remedy = (
            "relative paths start in the folder of the system if this folder is named, but if the "
            f"ini is named, in the current directory, which is {Path.cwd()}"
        )
    raise InputError("no such file, with or without .gz", path=named, remedy=remedy)


def find_text_table(line: FeatureLine) -> Path | None:
    """Find the existing text table that a feature reads, if any."""
    named = line.options.get("path", "")
    if find_binary_file(named, line.kind) is None:
        with contextlib.suppress(InputError):
            path = find_model_file(named)
            return path if path.is_file() else None
    return None


def text_tables(ini: MosesIni) -> list[Path]:
    """Return the phrase tables in text form, except pipes, which cannot be read again."""
    lines = (line for line in ini.features if line.kind in TEXT_TABLE_KINDS)
    return [path for line in lines if (path := find_text_table(line)) is not None]


def named_paths(ini: MosesIni) -> Iterator[tuple[FeatureLine, str, str]]:
    """Yield each path in a feature line: the feature, the name of the option, and the path."""
    for line in ini.features:
        for key, value in line.options.items():
            if value and is_path(key):
                yield line, key, value


def files_read(ini: MosesIni) -> Iterator[tuple[str, Path]]:
    """Yield pairs of a feature's name and a file that the feature reads, without missing files."""
    for line, _, path in named_paths(ini):
        with contextlib.suppress(InputError):
            yield line.name, find_model_file(path, line.kind)


def relative_paths(ini: MosesIni) -> list[tuple[FeatureLine, str]]:
    """Return (feature, path) for each relative path, valid only in the current directory."""
    return [(line, path) for line, _, path in named_paths(ini) if not Path(path).is_absolute()]


def absolute(path: str | Path) -> str:
    """Return the absolute path of a file; a relative path starts at the current directory."""
    # Path.resolve() would replace symbolic links
    return os.path.abspath(path)  # noqa: PTH100


def absolute_if_possible(path: str | Path) -> str:
    """Return ``absolute(path)``, or the relative path if no ini can express the absolute path."""
    found = absolute(path)
    return found if is_readable(found) else os.path.relpath(found)


def with_absolute_paths(ini: MosesIni, change: Callable[[str], str] = absolute) -> MosesIni:
    """Return the file with every path of a feature, and of ``[weight-file]``, made absolute.

    Afterwards, no path depends on the folder of the ini any more.

    Args:
        ini: The file.
        change: ``absolute``, `absolute_if_possible`, or ``str`` for paths by Moses's rule.
    """
    for line, key, path in named_paths(ini):
        ini = ini.with_feature_option(line.name, key, change(path))
    for index, path in enumerate(ini.values("weight-file")):
        ini = ini.with_value("weight-file", index, change(ini.resolved(path)))
    return dataclasses.replace(ini, base="")
