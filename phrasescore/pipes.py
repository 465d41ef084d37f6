"""Pipes can be read once: who would need them again is told so, and does not wait for ever.

A named pipe that is opened a second time waits for a second writer, and the shell's ``<(...)`` is
empty then. Every reader of inputs goes through here.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from phrasescore.errors import InputError

STANDARD_STREAM = "-"
# device, inode and name of the pipes that were read; numbers of inodes are given again
_read: set[tuple[int, int, str]] = set()


def can_be_read_again(path: str | Path) -> bool:
    """Tell a file from a pipe: standard input, a named pipe or the shell's ``<(...)``."""
    return str(path) != STANDARD_STREAM and Path(path).is_file()


def refuse_second_reading(path: str | Path) -> None:
    """Note that a path is about to be read.

    Raises:
        InputError: It is a pipe that was read before.
        OSError: There is nothing of that name.
    """
    found = Path(path).stat()
    if stat.S_ISFIFO(found.st_mode):
        pipe = (found.st_dev, found.st_ino, os.path.abspath(path))  # noqa: PTH100 - links stay
        if pipe in _read:
            raise _read_twice(path)
        _read.add(pipe)


def refuse_pipe(path: str | Path) -> None:
    """Refuse a pipe where a file is read more than once, before anything of it is taken.

    Raises:
        InputError: It is a pipe.
        OSError: There is nothing of that name.
    """
    if stat.S_ISFIFO(Path(path).stat().st_mode):
        raise _read_twice(path)


def _read_twice(path: str | Path) -> InputError:
    return InputError(
        "a pipe, and it is read more than once", path=path, remedy="write it to a file first"
    )
