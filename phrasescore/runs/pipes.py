"""What is no file: pipes can be read once, and some devices never end.

Who would need a pipe again is told so, and does not wait for ever: a named pipe that is opened a
second time waits for a second writer, and the shell's ``<(...)`` is empty then. Every reader of
inputs goes through here.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from phrasescore.errors import InputError

STANDARD_STREAM = "-"
# Linux's zero, full, random and urandom
_ENDLESS = frozenset(os.makedev(1, minor) for minor in (5, 7, 8, 9))
# of the command at work, if any: device, inode and name of the pipes that it has read (the numbers
# of inodes are given again)
_readings: list[set[tuple[int, int, str]]] = []


@contextlib.contextmanager
def pipes_read_once() -> Iterator[None]:
    """Refuse to open a pipe again while the block runs; a program of your own may do it."""
    _readings.append(set())
    try:
        yield
    finally:
        _readings.pop()


def can_be_read_again(path: str | Path) -> bool:
    """Tell a file from a pipe: standard input, a named pipe or the shell's ``<(...)``."""
    return str(path) != STANDARD_STREAM and Path(path).is_file()


def refuse_second_reading(path: str | Path) -> None:
    """Note that a path is about to be read.

    Raises:
        InputError: It is a pipe that was read before, or a device that never ends.
        OSError: There is nothing of that name.
    """
    found = _finite(path)
    if _readings and stat.S_ISFIFO(found.st_mode):
        pipe = (found.st_dev, found.st_ino, os.path.abspath(path))  # noqa: PTH100 - links stay
        if pipe in _readings[-1]:
            raise _read_twice(path)
        _readings[-1].add(pipe)


def refuse_pipe(path: str | Path) -> None:
    """Refuse a pipe where a file is read more than once, before anything of it is taken.

    Raises:
        InputError: It is a pipe, or a device that never ends.
        OSError: There is nothing of that name.
    """
    if str(path) == STANDARD_STREAM or stat.S_ISFIFO(_finite(path).st_mode):
        raise _read_twice(path)


def _finite(path: str | Path) -> os.stat_result:
    """Return what there is to read, unless that would fill any memory."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode) and found.st_rdev in _ENDLESS:
        raise InputError("a device that never ends", path=path, remedy="name a file")
    return found


def _read_twice(path: str | Path) -> InputError:
    return InputError(
        "a pipe, and it is read more than once", path=path, remedy="write it to a file first"
    )
