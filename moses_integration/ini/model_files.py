"""Where the files are that a moses.ini names.

Relative paths resolve against the current directory, not against the ini: that is Moses's rule. A
file that is missing is looked for with ``.gz`` added to its name, with a note. (Moses itself does
that for reordering tables only; here it holds for all.)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from phrasescore.errors import InputError


@dataclass(frozen=True)
class ModelFile:
    """A file that exists.

    Args:
        path: Where it is, relative if it was given so.
        note: What to tell the user about how it was found; empty if it was simply there.
    """

    path: Path
    note: str = ""


# what follows the name in an ini where a binary form is read, by class
_BINARY_ENDINGS = {
    "PhraseDictionaryCompact": (".minphr",),
    "PhraseDictionaryBinary": (".binphr.idx",),
    "LexicalReordering": (".minlexr", ".binlexr.idx"),
}


def find_binary_file(named: str, kind: str) -> ModelFile | None:
    """Find the binary form of a model that a feature of class ``kind`` would read, if any."""
    for ending in _BINARY_ENDINGS.get(kind, ()):
        if _is_there(path := Path(named + ending)):
            return ModelFile(path, f"{path} is read")
    return None


def find_model_file(named: str, *, ini: str | Path | None = None) -> ModelFile:
    """Find the file that an ini names.

    Args:
        named: The path as the ini has it.
        ini: The ini itself, for a better error where the file is relative to it.

    Raises:
        InputError: There is no such file, with or without ``.gz``.
    """
    if not named:
        raise InputError(
            "an empty path of a table or model",
            path=ini or "moses.ini",
            remedy="correct the path in the moses.ini",
        )
    if (found := _existing(Path(named))) is not None:
        return found
    path = Path(named)
    remedy = "correct the path in the moses.ini"
    if not path.is_absolute():
        remedy = "relative paths resolve against the current directory, as in Moses"
        for folder in _folders_above(ini):
            if _existing(folder / path) is not None:
                remedy += f": run this in {folder}"
                break
        else:
            remedy += f", which is {Path.cwd()}"
    raise InputError("no such file, nor with .gz behind its name", path=named, remedy=remedy)


def _existing(path: Path) -> ModelFile | None:
    if _is_there(path):
        return ModelFile(path)
    zipped = path.with_name(f"{path.name}.gz") if path.name else path
    if _is_there(zipped):
        return ModelFile(zipped, f"{path} does not exist, so {zipped} is read")
    return None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long for one, among others
        return False


def _folders_above(ini: str | Path | None) -> list[Path]:
    """The folder of the ini and the one above: where its relative paths are usually meant."""
    if ini is None or str(ini) == "-":
        return []
    folder = Path(os.path.abspath(ini)).parent  # noqa: PTH100 - keeps links as they are
    return [folder, folder.parent]
