"""Regular files in folders that somebody else may have filled: work folders, results, models.

A named pipe in the place of such a file would be waited for without end, and a link to
``/dev/zero`` would fill any memory. Files that the user names as inputs go through ``open_input``
instead, because the user may well name a pipe.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from phrasescore.errors import InputError

# the results of an experiment with hundreds of runs are a fourth of it
_MAX_BYTES = 128 << 20


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading, at once; links to regular files are followed.

    Raises:
        InputError: The path names a pipe or a device.
        OSError: The file is missing, a folder or a socket, or not readable.
    """
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


def _opened(path: str, flags: int) -> int:
    # without O_NONBLOCK opening a pipe waits for its writer; a terminal must not become ours
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    # the opened file is judged, not the name: somebody could replace the file in between
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # `open` itself refuses a folder
        return descriptor
    os.close(descriptor)
    raise InputError("a pipe or a device, where a file was expected", path=path)
