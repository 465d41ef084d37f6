"""Parsed tables and models on disk, so that a second start need not parse them again.

One ``.npz`` file for each, named by a digest of all it depends on: another table, other input
or another version of the format is another name, so nothing is ever out of date.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phrasescore.errors import InputError, SettingsError, StorageError
from phrasescore.runs.file_kinds import open_regular, private_folder, user_cache_folder
from phrasescore.runs.final_names import open_output

# of several types, as the files hold them
Arrays = Mapping[str, NDArray[Any]]

_FORMAT = 2  # raise it when the meaning of the arrays changes
_MOST_BYTES = 4 << 30  # the oldest files go when there are more


def cache_folder(named: str | None) -> Path | None:
    """Return the folder for parsed tables, or ``None`` if there is none to trust or to write.

    Args:
        named: The folder that the user named, if any.

    Raises:
        SettingsError: Others can write into the folder that the user named.
    """
    try:
        if named:
            return private_folder(named, "--cache-folder")
        return private_folder(user_cache_folder() / "tables", "the cache of parsed tables")
    except SettingsError:
        if named:
            raise
    except OSError:
        pass
    return None


class ParsedTables:
    """A folder of parsed tables.

    Args:
        folder: An existing folder; ``None`` keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, parts: tuple[str, ...], parse: Callable[[], Arrays]) -> Arrays:
        """Return the stored arrays, or those that ``parse`` makes, which are then stored.

        Args:
            parts: What the arrays depend on, digests above all.
            parse: Makes the arrays.
        """
        if self._folder is None:
            return parse()
        name = hashlib.sha256("\n".join((str(_FORMAT), *parts)).encode()).hexdigest()
        path = self._folder / f"{name}.npz"
        stored = _read(path)
        if stored is not None:
            return stored
        arrays = parse()
        with contextlib.suppress(OSError, SettingsError, StorageError):  # a full or read-only disk
            with open_output(path) as stream:
                save: Callable[..., None] = np.savez
                save(stream, **arrays)
            _remove_oldest(self._folder)
        return arrays


def _read(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of a stored file; nothing where it is not there, or damaged."""
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored.items())
        os.utime(path)
    except (OSError, InputError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return arrays


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for path in files:
        total += path.stat().st_size
        if total > _MOST_BYTES:
            path.unlink(missing_ok=True)
