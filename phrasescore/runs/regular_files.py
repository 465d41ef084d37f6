"""Regular files in folders that somebody else may have filled: work folders, results, models.

A named pipe in the place of such a file would be waited for without end, and a link to
``/dev/zero`` would fill any memory. Inputs and outputs that the user names may well be pipes, so
``byte_streams`` refuses pipes, or replaces them, only in the folders that a command declares here
as its work folders.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from phrasescore.errors import InputError

# the results of an experiment with hundreds of runs are a fourth of it
_MAX_BYTES = 128 << 20
# absolute, with a final separator; those of the command at work
_work_folders: list[str] = []


@contextlib.contextmanager
def only_regular_files(folder: str | Path) -> Iterator[None]:
    """Declare a folder as a work folder of this process while the block runs."""
    place = os.path.join(os.path.abspath(folder), "")  # noqa: PTH100, PTH118 - links stay
    _work_folders.append(place)
    try:
        yield
    finally:
        _work_folders.remove(place)


def is_work_file(path: str | Path) -> bool:
    """Tell whether a path lies in a work folder, where nothing but regular files belong."""
    return os.path.abspath(path).startswith(tuple(_work_folders))  # noqa: PTH100 - links stay


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading, at once; links to regular files are followed.

    Raises:
        InputError: The path names a pipe or a device.
        OSError: The file is missing, a folder or a socket, or not readable.
    """
    # `open` itself refuses a folder
    return open(path, "rb", opener=_opened)


def read_regular(path: str | Path, max_bytes: int = _MAX_BYTES) -> bytes:
    """Return the content of a file that is small in every honest case.

    Raises:
        InputError: The path names a pipe or a device, or the file is larger than ``max_bytes``.
        OSError: As ``open_regular``.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > max_bytes:
            raise InputError(
                f"a file of {size:,} bytes, where at most {max_bytes:,} were expected", path=path
            )
        return stream.read(size)


def refuse_irregular(descriptor: int, path: str | Path) -> None:
    """Close an opened file again if it is neither a regular file nor a folder.

    Raises:
        InputError: The path names a pipe or a device.
    """
    # the opened file is judged, not its name: somebody could replace the file in between
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        raise InputError(
            "a pipe or a device, where a file was expected", path=path, remedy="move it away"
        )


def _opened(path: str, flags: int) -> int:
    # without O_NONBLOCK opening a pipe waits for its writer; a terminal must not become ours
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    refuse_irregular(descriptor, path)
    return descriptor
